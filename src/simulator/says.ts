/** What an action says, as its writer knows it: judges hold readers to it without reading the action again. */
import type { Origin } from "./author.ts";
import { dig, type JsonObject } from "./json.ts";

/** The message that viewers must be sent of an action; hashes at the end of its id are left out. */
export interface Says {
  type: string;
  id: string;
  author: string;
  /** The channel of whoever said it, where the action names one. */
  authorId?: string;
  message: string;
  amount: string;
  /** What a gift costs in jewels; each message of a combo is another gift. */
  jewels?: number;
  /** The rank of whoever said it; its likes and replies as the answer counts them that brings it. */
  extras?: { rank?: number; likes?: number; replies?: number };
  /** Tells apart versions of what has one id but for its hash. */
  version?: string;
  /** The id of the message in whose place it comes. */
  replaces?: string;
}

export function says(type: string, id: string, author: string, message: string, amount = ""): Says {
  return { type, id, author, message, amount };
}

/** Says it as an author whose channel the action names. */
export function saysAs({ author, id }: Origin, type: string, message: string, amount = ""): Says {
  return { ...says(type, id, author.name, message, amount), authorId: author.channelId };
}

/** Runs as they are read aloud: of a custom emoji its first shortcut. */
export function wordsOf(runs: readonly JsonObject[]): string {
  const spoken = ({ text, emoji }: JsonObject) =>
    emoji ? dig(emoji, ...(dig(emoji, "isCustomEmoji") ? ["shortcuts", 0] : ["emojiId"])) : text;
  return runs.map(spoken).join("");
}
