/**
 * Looks for a video's chat wherever the upstream may show it: on the popout page, on the watch page, and in
 * the answer of `next`. Returns the standing of the chat, by a page of this very video; `unknown` if another
 * page was a wall or failed, because it may have shown the chat.
 */
import type { ChatView } from "../protocol/chat.ts";
import type { Absence, Standing } from "../protocol/chat-standing.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import { usableCredentials } from "./credential-sources.ts";
import { type ChatPage, readChatPage, readNextPage } from "./page/chat-page.ts";
import { type Credentials, credentialsInPage, type FoundCredentials } from "./page/credentials.ts";
import type { NoChat } from "./page/no-chat.ts";
import { mergedFacts } from "./page/told-video.ts";
import type { PageLoads } from "./page-loads.ts";
import { UpstreamError } from "./upstream-error.ts";

interface SearchFor {
  videoId: string;
  view: ChatView;
  loads: PageLoads;
  /**
   * Known credentials. Those on the pages take precedence over `older`, and `better` takes precedence over
   * those on the pages.
   */
  credentials: { older: FoundCredentials | undefined; better: FoundCredentials };
}

export interface Search {
  credentials: Credentials;
  standing: Standing<{
    chat: Extract<ChatPage, { isOfVideo: boolean }>["chat"];
    /** Whether the page or its token names the video, and no earlier load failed or was a wall. */
    isCertain: boolean;
    /** Whether it is the popout page, which alone shows messages, banners and polls. */
    isPopout: boolean;
    /** What pages have said of the video. */
    video: VideoFacts | undefined;
  }>;
}

export function popoutPath(videoId: string): string {
  return `/live_chat?is_popout=1&v=${videoId}&hl=en`;
}

/**
 * Rejects with `RelayError` SW_JS_FAILED if no client version is known, and with `UpstreamError` "throttled",
 * or "unusable" if the host cannot be connected to, or if neither page loads and `next` shows no chat.
 */
export async function searchChat({ videoId, view, loads, credentials }: SearchFor): Promise<Search> {
  const failures: UpstreamError[] = [];
  const empty: NoChat[] = [];
  let onPages: FoundCredentials = {};
  let video: VideoFacts | undefined;

  const tryPage = async (load: () => Promise<ChatPage>) => {
    try {
      const page = await load();
      if (page.video) video = mergedFacts(video ?? {}, page.video);
      if (page.chat) return page;
      empty.push(page);
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
      if (error.unreachable === "no connection") throw error;
      failures.push(error);
    }
    return undefined;
  };
  const tryPath = (path: string) =>
    tryPage(async () => {
      const html = await loads.page(path);
      onPages = { ...onPages, ...credentialsInPage(html) };
      return readChatPage(html, videoId, view);
    });

  const popout = await tryPath(popoutPath(videoId));
  let found = popout ?? (await tryPath(`/watch?v=${videoId}&hl=en`));
  const failure = failures.at(-1);
  const usable = usableCredentials(
    { ...credentials.older, ...onPages, ...credentials.better },
    failure ?? empty.filter(isWall).map(toError).at(-1),
  );
  const isUnloaded = !found && empty.length === 0;
  found ??= await tryPage(async () => readNextPage(await loads.next(videoId, usable), videoId, view));

  const walls = [...empty.filter(isWall), ...failures.map(toWall)];
  if (found) {
    const isCertain = found.isOfVideo && walls.length === 0;
    const isPopout = found === popout;
    return { credentials: usable, standing: { is: "there", chat: found.chat, isCertain, isPopout, video } };
  }
  if (isUnloaded && failure) throw loads.silence ?? failure;
  return { credentials: usable, standing: { ...absenceOn(walls.length > 0 ? walls : empty), video } };
}

/** What the pages without a chat say together. */
function absenceOn(pages: readonly NoChat[]): Absence {
  for (const { is, ...page } of pages) if (is !== "untold" && is !== "unknown") return { is, ...page };
  return {
    is: "unknown",
    why: [...new Set(pages.map(({ why }) => why))].join("; "),
    wallOf: pages.some(({ wallOf }) => wallOf === "address") ? "address" : "video",
  };
}

function isWall({ is }: NoChat): boolean {
  return is === "unknown";
}

function toWall({ message, wallOf }: UpstreamError): NoChat {
  return { is: "unknown", why: message, wallOf };
}

function toError({ why, wallOf = "video" }: NoChat): UpstreamError {
  return new UpstreamError("unusable", why, { wallOf });
}
