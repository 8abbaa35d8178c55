/**
 * The view menu in the header of a chat: one entry for Top chat, the upstream's selection, and then one for
 * all messages. Its titles are translated. A popout page holds it with whole tokens, and so does the first
 * answer to a page's token; watch pages and `next` hold dead ones, which are short and name no video.
 */
import { asArray, asObject, dig } from "../base/json.ts";
import type { ChatView } from "../protocol/chat.ts";
import { namesVideo, tokenIn } from "./continuation.ts";

function entriesIn(header: unknown): Record<ChatView, unknown> {
  const menu = dig(header, "liveChatHeaderRenderer", "viewSelector", "sortFilterSubMenuRenderer");
  const [top, all] = asArray(dig(menu, "subMenuItems")) ?? [];
  return { top, all };
}

/** The view of a page or of an answer with this header. Without a menu it is Top chat. */
export function shownView(header: unknown): ChatView {
  return dig(entriesIn(header).all, "selected") === true ? "all" : "top";
}

/** The whole token of a view; undefined if the menu holds none. */
export function tokenOfView(header: unknown, videoId: string, view: ChatView): string | undefined {
  const continuation = asObject(dig(entriesIn(header)[view], "continuation"));
  const token = Object.values(continuation ?? {})
    .map(tokenIn)
    .find((found) => found !== undefined);
  return token !== undefined && namesVideo(token, videoId) ? token : undefined;
}
