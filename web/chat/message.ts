/** A message as the pages draw it. It tolerates types and fields that this version does not know. */
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

/** Fills in empty values for fields that another version of the service leaves out. */
export function completed(message: Partial<ShownMessage> & { type: string; cursor: number }): ShownMessage {
  const empty = { id: `${message.cursor}`, timestamp: "", author: "", message: "", amount: "", color: "" };
  return { ...empty, parts: [], details: {}, ...message };
}

/** Later changes to a message: its deletion, its replacement. */
export interface Fate {
  deleted?: "message" | "author";
  replaced?: true;
}

/** Display settings of messages. */
export interface Look {
  images: boolean;
  avatars: boolean;
  badges: boolean;
  timestamps: boolean;
  deleted: "hide" | "strike" | "remove";
}
