/**
 * The chat in a popout page, a watch page or an answer of `next`: its kind, the continuation to read on from,
 * and the actions that the page shows; or the reason that there is none. Pure functions whose cost is bounded
 * for any page.
 */

import { asArray, asObject, type JsonObject } from "../../base/json.ts";
import type { ChatType, ChatView } from "../../protocol/chat.ts";
import type { VideoFacts } from "../../protocol/video-facts.ts";
import { BOUNDS, lastWithin } from "../bounds.ts";
import { namesVideo, tokenIn } from "../continuation.ts";
import { shownView, tokenOfView } from "../view-menu.ts";
import { videoData } from "./initial-data.ts";
import { type NoChat, videoIn, whyNoChat } from "./no-chat.ts";
import { toldVideo } from "./told-video.ts";

export type ChatPage = (
  | {
      chat: {
        chatType: ChatType;
        continuation: string;
        /** What the continuation reads. */
        view: ChatView;
        /** What the page shows. */
        shown: ChatView;
        actions: readonly unknown[];
      };
      /** Whether the page, or the chat's token, names the video. */
      isOfVideo: boolean;
    }
  | ({ chat: undefined } & NoChat)
) & {
  /** What the page says of the video; undefined if it says nothing. */
  video?: VideoFacts | undefined;
};

/** `liveChatContinuation` is the name in a page that was loaded by a continuation. */
const CHAT_KEYS = new Set(["liveChatRenderer", "liveChatReplayRenderer", "liveChatContinuation"]);

/** Reads the page of a video. `view`: all messages, or the upstream's selection of them. Never throws. */
export function readChatPage(html: string, videoId: string, view: ChatView): ChatPage {
  const { content, player } = videoData(html);
  const found = content && chatIn(content, videoId, view);
  const video = toldVideo(content, player, videoId);
  return { ...(found ?? { chat: undefined, ...whyNoChat(html, videoId, content, player()) }), video };
}

/** Reads the initial data of a `next` answer; undefined means an unknown video. Never throws. */
export function readNextPage(data: JsonObject | undefined, videoId: string, view: ChatView): ChatPage {
  if (!data) return { chat: undefined, is: "untold", why: "the video is not known" };
  const found = chatIn(data, videoId, view) ?? {
    chat: undefined,
    ...whyNoChat("", videoId, data, undefined),
  };
  return { ...found, video: toldVideo(data, () => undefined, videoId) };
}

/** The first chat that has a continuation; none if the page is of another video. */
function chatIn(data: JsonObject, videoId: string, view: ChatView): ChatPage | undefined {
  const named = videoIn(data);
  if (named !== undefined && named !== videoId) return undefined;
  for (const [key, renderer] of objectsNamed(data, CHAT_KEYS)) {
    const first = firstContinuation(renderer);
    if (!first) continue;
    const isReplay =
      key === "liveChatReplayRenderer" ||
      renderer.isReplay === true ||
      first.kind === "liveChatReplayContinuationData";
    const shown = shownView(renderer.header);
    // The first token continues after the page's actions; the menu's begin again.
    const other = view === "all" || shown === "all" ? tokenOfView(renderer.header, videoId, view) : undefined;
    return {
      chat: {
        chatType: isReplay ? "liveChatReplayRenderer" : "liveChatRenderer",
        continuation: other ?? first.token,
        view: other === undefined ? shown : view,
        shown,
        actions: lastWithin(asArray(renderer.actions) ?? [], BOUNDS.actions),
      },
      isOfVideo: named === videoId || namesVideo(first.token, videoId),
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
