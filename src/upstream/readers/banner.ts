/**
 * Banners above a chat: a pinned message, a raid, a summary, a call for questions. A banner is removed by its
 * own id, and has no time.
 */

import { asObject, asString, dig, omitUndefined } from "../../base/json.ts";
import type { Details, MessageType } from "../../protocol/kinds.ts";
import type { Message } from "../../protocol/message.ts";
import { VIDEO_ID } from "../../protocol/video-id.ts";
import { event, usableId } from "./event.ts";
import { closing } from "./poll.ts";
import type { ActionTime, Context, Reader } from "./reader.ts";
import { partsOf, wordsOf } from "./text.ts";
import { linkUrl } from "./url.ts";

/** The types of contents that are banners themselves. Any other type is a pinned item of the chat. */
const NOT_PINNED: ReadonlySet<MessageType> = new Set(["raid", "summary", "banner", "product", "poll"]);

export const banner: Reader = (action, context) => {
  const renderer = dig(action, "bannerRenderer", "liveChatBannerRenderer");
  const actionId = usableId(dig(renderer, "actionId"));
  const outcome = context.read(dig(renderer, "contents"), { id: actionId });
  if (typeof outcome.item === "string") return outcome;
  const { message: content, thread } = outcome.item;
  const kind = kindOf(dig(renderer, "bannerType"));
  const header = wordsOf(dig(renderer, "header", "liveChatBannerHeaderRenderer", "text"));
  const shown = header === "" ? { kind } : { kind, header };
  if (NOT_PINNED.has(content.type))
    return { item: { message: inBanner(content, shown) }, panels: outcome.panels };
  const message = pinned(actionId, content, shown, context);
  return thread?.isReply ? { item: { message, thread } } : message;
};

function inBanner<M extends Message>(message: M, shown: Details["banner"] & {}): M {
  return { ...message, details: { ...message.details, banner: shown } };
}

/** Old banners have no type; they all held a pinned message. */
function kindOf(bannerType: unknown): string {
  const [, name] = /^LIVE_CHAT_BANNER_TYPE_(\w{1,100})$/.exec(asString(bannerType) ?? "") ?? [];
  return name?.toLowerCase() ?? "pinned_message";
}

/** The text and author of the pinned message, at the time of the pinning. */
function pinned(actionId: string, message: Message, shown: Details["banner"], context: Context): Message {
  const { publishedAt: _, ...details }: Details = message.details;
  const target = message.id === actionId ? undefined : { messageId: message.id };
  return event(`banner:${actionId}`, context, {
    ...message,
    type: "banner",
    details: { ...details, banner: shown, target },
  });
}

/** A poll in the banner closes with it. */
export const bannerRemoved: Reader = (action, context) => {
  const actionId = usableId(dig(action, "targetActionId"));
  return { item: { message: removedBanner(actionId, context) }, before: closing(actionId, context) };
};

export function removedBanner(actionId: string, moment: ActionTime): Message {
  return event(`banner_removed:${actionId}`, moment, { type: "banner_removed", parts: [] });
}

/** A button that leads to a video sends viewers there. With another button, they came from elsewhere. */
export const raid: Reader = (redirect, context) => {
  const command = dig(redirect, "inlineActionButton", "buttonRenderer", "command");
  const watch = asObject(dig(command, "watchEndpoint"));
  const videoId = asString(dig(watch, "videoId"));
  return event(`raid:${usableId(context.around.id)}`, context, {
    type: "raid",
    parts: partsOf(dig(redirect, "bannerMessage")),
    details: {
      raid: asObject(command) && {
        direction: watch ? "out" : "in",
        ...omitUndefined({
          videoId: videoId && VIDEO_ID.test(videoId) ? videoId : undefined,
          url: linkUrl(command),
        }),
      },
    },
  });
};

export const summary: Reader = (renderer, context) =>
  event(`summary:${usableId(context.around.id)}`, context, {
    type: "summary",
    parts: partsOf(dig(renderer, "chatSummary")),
  });

/** A call for questions by the channel, which is the author. */
export const questions: Reader = (renderer, context) =>
  event(`banner:${usableId(context.around.id)}`, context, {
    type: "banner",
    author: wordsOf(dig(renderer, "creatorAuthorName")).trim(),
    parts: partsOf(dig(renderer, "questionMessage")),
  });
