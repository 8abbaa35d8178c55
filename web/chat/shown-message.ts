/** A message as the pages draw it. It tolerates types and fields that this version does not know. */
import type { Details } from "../../src/protocol/kinds.ts";
import type { EightFields } from "../../src/protocol/message.ts";
import { learnZone } from "./zone.ts";

export interface ShownMessage extends EightFields {
  type: string;
  details: Details;
  cursor: number;
  /** With several chats in one list: which one it is of. */
  source?: SourceMark;
}

/** How the messages of one of several chats are marked. */
export interface SourceMark {
  videoId: string;
  /** Its place among the chats, from 1. */
  place: number;
  /** Empty: its colour alone marks it. */
  label: string;
}

/** Fills in empty values for fields that are absent or of another form in another version of the service. */
export function completed(message: { type: string; cursor: number } & object): ShownMessage {
  const given: Partial<Record<keyof ShownMessage, unknown>> = message;
  const text = (value: unknown, otherwise = ""): string => (typeof value === "string" ? value : otherwise);
  const { parts, details } = given;
  const shown: ShownMessage = {
    type: text(message.type),
    id: text(given.id, `${message.cursor}`),
    timestamp: text(given.timestamp),
    author: text(given.author),
    message: text(given.message),
    amount: text(given.amount),
    color: text(given.color),
    parts: Array.isArray(parts) ? parts : [],
    details: typeof details === "object" && details !== null ? details : {},
    cursor: message.cursor,
  };
  learnZone(shown.timestamp, shown.details);
  return shown;
}

/** Later changes to a message: its deletion, its replacement. */
export interface Fate {
  deleted?: "message" | "author";
  replaced?: true;
  /** The message that a deletion is about, as it was. */
  about?: ShownMessage;
}

/** Display settings of messages. */
export interface Display {
  images: boolean;
  avatars: boolean;
  badges: boolean;
  timestamps: boolean;
  /** Whether times of a live chat are in the reader's time zone, not in the service's. */
  localTimes?: boolean;
  deleted: "hide" | "strike" | "remove";
  /** Whether the names of authors are buttons. */
  opensAuthors?: boolean;
  /** Called at the end of each drawing. */
  finish?: (row: object, message: ShownMessage, fate: Fate) => void;
  /** Case-folded words to mark in rows; empty: none. */
  sought?: string;
  /** Marks them in a row; absent until it is loaded. */
  markFound?(row: object, sought: string): void;
  /** Which messages get `data-marked`. */
  isMarked?: (message: ShownMessage) => boolean;
}
