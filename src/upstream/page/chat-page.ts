/**
 * The chat in a popout page, a watch page or an answer of `next`: its kind, the continuation to read on from,
 * and the actions that the page shows; or the reason that there is none. Pure functions whose cost is bounded
 * for any page.
 */

import { asArray, asObject, asString, dig, type JsonObject } from "../../base/json.ts";
import type { ChatType } from "../../protocol/chat.ts";
import { isToken } from "../answer.ts";
import { BOUNDS } from "../bounds.ts";
import { videoData } from "./initial-data.ts";
import { type NoChat, videoIn, whyNoChat } from "./no-chat.ts";

export type ChatPage =
  | {
      chat: { chatType: ChatType; continuation: string; actions: readonly unknown[] };
      /** Whether the page, or the chat's token, names the video. */
      isOfVideo: boolean;
    }
  | ({ chat: undefined } & NoChat);

type View = "all" | "top";

/** `liveChatContinuation` is the name in a page that was loaded by a continuation. */
const CHAT_KEYS = new Set(["liveChatRenderer", "liveChatReplayRenderer", "liveChatContinuation"]);

/** Reads the page of a video. `view`: all messages, or the upstream's selection of them. Never throws. */
export function readChatPage(html: string, videoId: string, view: View): ChatPage {
  const { content, player } = videoData(html);
  const found = content && chatIn(content, videoId, view);
  return found ?? { chat: undefined, ...whyNoChat(html, videoId, content, player()) };
}

/** Reads the initial data of a `next` answer; undefined means an unknown video. Never throws. */
export function readNextPage(data: JsonObject | undefined, videoId: string, view: View): ChatPage {
  if (!data) return { chat: undefined, is: "untold", why: "the video is not known" };
  return chatIn(data, videoId, view) ?? { chat: undefined, ...whyNoChat("", videoId, data, undefined) };
}

/** The first chat that has a continuation; none if the page is of another video. */
function chatIn(data: JsonObject, videoId: string, view: View): ChatPage | undefined {
  const shown = videoIn(data);
  if (shown !== undefined && shown !== videoId) return undefined;
  for (const [key, renderer] of objectsNamed(data, CHAT_KEYS)) {
    const first = firstContinuation(renderer);
    if (!first) continue;
    const isReplay =
      key === "liveChatReplayRenderer" ||
      renderer.isReplay === true ||
      first.kind === "liveChatReplayContinuationData";
    return {
      chat: {
        chatType: isReplay ? "liveChatReplayRenderer" : "liveChatRenderer",
        continuation: otherView(renderer, videoId, view) ?? first.token,
        actions: (asArray(renderer.actions) ?? []).slice(-BOUNDS.actions),
      },
      isOfVideo: shown === videoId || namesVideo(first.token, videoId),
    };
  }
  return undefined;
}

/** The first continuation of any kind but `playerSeek…`, which is for seeking. */
function firstContinuation(renderer: JsonObject): { kind: string; token: string } | undefined {
  for (const offered of asArray(renderer.continuations) ?? []) {
    for (const [kind, data] of Object.entries(asObject(offered) ?? {})) {
      const token = tokenIn(data);
      if (token !== undefined && kind !== "playerSeekContinuationData") return { kind, token };
    }
  }
  return undefined;
}

/**
 * The token of the wanted view if the page shows the other view. It is in the page's view menu, whose titles
 * are translated: the first entry is for the upstream's selection, the second for all messages. Undefined for
 * the dead tokens that watch pages hold there, which are short and do not name the video.
 */
function otherView(renderer: JsonObject, videoId: string, view: View): string | undefined {
  const menu = dig(renderer, "header", "liveChatHeaderRenderer", "viewSelector", "sortFilterSubMenuRenderer");
  const [top, all] = asArray(dig(menu, "subMenuItems")) ?? [];
  if (view === "top" && dig(all, "selected") !== true) return undefined;
  const continuation = asObject(dig(view === "all" ? all : top, "continuation"));
  const token = Object.values(continuation ?? {})
    .map(tokenIn)
    .find((found) => found !== undefined);
  return token !== undefined && namesVideo(token, videoId) ? token : undefined;
}

function tokenIn(data: unknown): string | undefined {
  const token = asString(dig(data, "continuation"));
  return token !== undefined && isToken(token) ? token : undefined;
}

/**
 * Levels of base64 in base64 to decode. Today's tokens hold the id two levels down; those of popout pages in
 * 2020 held it three levels down.
 */
const TOKEN_LEVELS = 3;

/**
 * Whether a continuation token contains the id of this video: it is base64 of binary fields, some of which
 * are base64 again. A field's length byte can look like a base64 digit, so each run of digits is
 * decoded from four offsets.
 */
export function namesVideo(token: string, videoId: string): boolean {
  let texts = [token];
  for (let level = 0; level < TOKEN_LEVELS; level++) {
    if (texts.some((text) => text.includes(videoId))) return true;
    texts = texts.flatMap(decodedRuns);
  }
  return texts.some((text) => text.includes(videoId));
}

/** Padding (`=` or `%3D`) ends a run, and decoding does not need it. */
function decodedRuns(text: string): string[] {
  const runs = text.match(/[\w+/-]{16,}/g) ?? [];
  return runs.flatMap((run) =>
    [0, 1, 2, 3].map((skipped) => Buffer.from(run.slice(skipped), "base64url").toString("latin1")),
  );
}

/** The objects under one of these names anywhere in the data, the outermost first. */
function* objectsNamed(
  data: JsonObject,
  names: ReadonlySet<string>,
): Generator<[name: string, found: JsonObject]> {
  let level: object[] = [data];
  while (level.length > 0) {
    const below: object[] = [];
    for (const holder of level) {
      for (const [name, held] of Object.entries(holder)) {
        if (typeof held !== "object" || held === null) continue;
        below.push(held);
        const object = asObject(held);
        if (object && names.has(name)) yield [name, object];
      }
    }
    level = below;
  }
}
