/** A message as the pages draw it. Types and fields that this version does not know must not matter, so little is assumed. */
import type { Details } from "../../src/protocol/kinds.ts";
import type { Part } from "../../src/protocol/message.ts";

export interface ShownMessage {
  type: string;
  id: string;
  timestamp: string;
  author: string;
  message: string;
  amount: string;
  color: string;
  parts: Part[];
  details: Details;
  cursor: number;
}

/** With nothing where another version of the service leaves a field out. */
export function completed(message: Partial<ShownMessage> & { type: string; cursor: number }): ShownMessage {
  const empty = { id: `${message.cursor}`, timestamp: "", author: "", message: "", amount: "", color: "" };
  return { ...empty, parts: [], details: {}, ...message };
}

/** What became of a message after it was said. */
export interface Fate {
  deleted?: "message" | "author";
  replaced?: true;
}

/** What the user wants to see of messages. */
export interface Look {
  images: boolean;
  avatars: boolean;
  badges: boolean;
  timestamps: boolean;
  deleted: "hide" | "strike" | "remove";
}
