/** Actions that a simulated chat says, each with a text by which tests recognise it. */
import type { JsonObject } from "../../simulator/plain-json.ts";
import { adding, COMMON, PAID } from "./chat-items.ts";

interface Said {
  text?: string;
  /** In place of `text`. */
  runs?: JsonObject[];
  author?: string;
  channel?: string;
  /** When it is sent, in milliseconds since 1970; now by default. */
  at?: number;
}

const commonOf = (id: string, { author = "@somebody", channel = "UCsomebody", at = Date.now() }: Said) => ({
  ...COMMON,
  id,
  timestampUsec: String(at * 1000),
  authorName: { simpleText: author },
  authorExternalChannelId: channel,
  authorBadges: [],
});

export const textItem = (id: string, said: Said = {}) => ({
  liveChatTextMessageRenderer: {
    ...commonOf(id, said),
    message: { runs: said.runs ?? [{ text: said.text ?? `words of ${id}` }] },
  },
});

/** A run that is a link. `text`: what the upstream shows of it. */
export const linkRun = (text: string, url: string): JsonObject => ({
  text,
  navigationEndpoint: {
    urlEndpoint: { url: `https://www.youtube.com/redirect?q=${encodeURIComponent(url)}`, nofollow: true },
  },
});

export const textAction = (id: string, said: Said = {}): JsonObject => adding(textItem(id, said));

export const paidAction = (id: string, amount: string, said: Said = {}): JsonObject =>
  adding({
    liveChatPaidMessageRenderer: {
      ...PAID.liveChatPaidMessageRenderer,
      ...commonOf(id, said),
      message: { runs: [{ text: said.text ?? `words of ${id}` }] },
      purchaseAmountText: { simpleText: amount },
    },
  });

export const deletionOf = (id: string): JsonObject => ({
  markChatItemAsDeletedAction: { targetItemId: id, deletedStateMessage: { runs: [{ text: "[deleted]" }] } },
});

export const authorDeletionOf = (channel: string): JsonObject => ({
  markChatItemsByAuthorAsDeletedAction: {
    externalChannelId: channel,
    deletedStateMessage: { runs: [{ text: "[deleted]" }] },
  },
});

export const replacementOf = (id: string, text: string): JsonObject => ({
  replaceChatItemAction: { targetItemId: id, replacementItem: textItem(id, { text }) },
});

/** Texts of one moment: if a page shows one of them, those that Top chat leaves out are history, too. */
export function texts(prefix: string, count: number): JsonObject[] {
  const at = Date.now();
  return Array.from({ length: count }, (_, index) => textAction(`${prefix}-${index}`, { at }));
}
