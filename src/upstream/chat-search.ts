/**
 * Looks for a video's chat wherever the upstream may show it: on the popout page, on the watch page, and in
 * the answer of `next`. There are three outcomes: the chat; "over", if a page of this very video says so and
 * no other load failed; and a wall, which may hide a chat.
 */
import { usableCredentials } from "./credential-sources.ts";
import { type ChatPage, readChatPage, readNextPage } from "./page/chat-page.ts";
import { type Credentials, credentialsInPage, type FoundCredentials } from "./page/credentials.ts";
import type { NoChat } from "./page/no-chat.ts";
import type { PageLoads } from "./page-loads.ts";
import { UpstreamError, type WallOf } from "./upstream-error.ts";

interface SearchFor {
  videoId: string;
  view: "all" | "top";
  loads: PageLoads;
  /**
   * Known credentials. Those on the pages take precedence over `older`, and `better` takes precedence over
   * those on the pages.
   */
  credentials: { older: FoundCredentials | undefined; better: FoundCredentials };
}

export type Search = { credentials: Credentials } & (
  | (Extract<ChatPage, { isOfVideo: boolean }> & {
      /** Whether the page names the video, and no earlier load failed or was a wall. */
      isCertain: boolean;
      /** Whether it is the popout page, which alone shows the chat's messages and what stands above them. */
      isPopout: boolean;
    })
  | {
      chat: undefined;
      isOver: boolean;
      /** The reason that it is over, or the kind of wall; without a full stop. */
      why: string;
      /** What the wall concerns. */
      wallOf: WallOf;
      /** Set if neither page could be loaded. */
      failure: UpstreamError | undefined;
    }
);

export function popoutPath(videoId: string): string {
  return `/live_chat?is_popout=1&v=${videoId}&hl=en`;
}

/**
 * Rejects with `RelayError` SW_JS_FAILED if no client version is known, and with `UpstreamError` "throttled",
 * or "unusable" if the host cannot be connected to.
 */
export async function searchChat({ videoId, view, loads, credentials }: SearchFor): Promise<Search> {
  const failures: UpstreamError[] = [];
  const empty: NoChat[] = [];
  let onPages: FoundCredentials = {};

  const look = async (load: () => Promise<ChatPage>) => {
    try {
      const page = await load();
      if (page.chat) return page;
      empty.push(page);
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
      if (error.unreachable === "no connection") throw error;
      failures.push(error);
    }
    return undefined;
  };
  const lookAt = (path: string) =>
    look(async () => {
      const html = await loads.page(path);
      onPages = { ...onPages, ...credentialsInPage(html) };
      return readChatPage(html, videoId, view);
    });

  const popout = await lookAt(popoutPath(videoId));
  let found = popout ?? (await lookAt(`/watch?v=${videoId}&hl=en`));
  const failure = failures.at(-1);
  const usable = usableCredentials(
    { ...credentials.older, ...onPages, ...credentials.better },
    failure ?? empty.filter(isWall).map(toError).at(-1),
  );
  const isUnloaded = !found && empty.length === 0;
  found ??= await look(async () => readNextPage(await loads.next(videoId, usable), videoId, view));

  const walls = [...empty.filter(isWall), ...failures.map(toNoChat)];
  if (found) {
    const isCertain = found.isOfVideo && walls.length === 0;
    return { ...found, isCertain, isPopout: found === popout, credentials: usable };
  }
  const over = walls.length === 0 ? empty.find(({ means }) => means === "over") : undefined;
  const reasons = over ? [over] : walls.length > 0 ? walls : empty;
  return {
    chat: undefined,
    isOver: over !== undefined,
    why: [...new Set(reasons.map(({ why }) => why))].join("; "),
    wallOf: reasons.some(({ wallOf }) => wallOf === "address") ? "address" : "video",
    failure: isUnloaded ? failure : undefined,
    credentials: usable,
  };
}

function isWall({ means }: NoChat): boolean {
  return means === "wall";
}

function toNoChat({ message, wallOf }: UpstreamError): NoChat {
  return { why: message, means: "wall", wallOf };
}

function toError({ why, wallOf = "video" }: NoChat): UpstreamError {
  return new UpstreamError("unusable", why, { wallOf });
}
