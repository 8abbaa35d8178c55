/**
 * The message that an action stands for, recorded by its generator, so that judges can check readers without
 * parsing the action.
 */
import type { Origin } from "./author.ts";
import { dig, type JsonObject } from "./plain-json.ts";

/** The message that viewers must receive for an action, without the hashes at the end of its id. */
export interface Says {
  type: string;
  id: string;
  author: string;
  /** The author's channel, if the action names one. */
  authorId?: string;
  message: string;
  amount: string;
  /** A gift's price in jewels; each message of a combo is another gift. */
  jewels?: number;
  /**
   * Other details of the message: the author's rank; the likes and replies in the answer that contains the
   * action; of members, the months, the level, the giver, and the number of memberships given.
   */
  extras?: {
    rank?: number;
    likes?: number;
    replies?: number;
    months?: number;
    level?: string;
    giver?: string;
    gift?: { count: number };
    /** The paid message to which it replies, if the reader has that. */
    replyTo?: { author: string; messageId: string };
  };
  /** Distinguishes versions whose ids differ only in their hash. */
  version?: string;
  /** Another message of the same action, just before it. */
  before?: Says;
  /** The id of the message that it replaces. */
  replaces?: string;
}

export function says(type: string, id: string, author: string, message: string, amount = ""): Says {
  return { type, id, author, message, amount };
}

/** A message whose author's channel the action names. */
export function saysAs({ author, id }: Origin, type: string, message: string, amount = ""): Says {
  return { ...says(type, id, author.name, message, amount), authorId: author.channelId };
}

/** The text of runs; a custom emoji becomes its first shortcut. */
export function wordsOf(runs: readonly JsonObject[]): string {
  const spoken = ({ text, emoji }: JsonObject) =>
    emoji ? dig(emoji, ...(dig(emoji, "isCustomEmoji") ? ["shortcuts", 0] : ["emojiId"])) : text;
  return runs.map(spoken).join("");
}
