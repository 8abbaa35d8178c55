/**
 * One event of a chat as every reader gets it: the specification's eight fields, and on demand `details`, which
 * holds whatever more the kind has.
 */
import type { DetailsOf, MessageType } from "./kinds.ts";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "link"; text: string; url: string }
  | { kind: "emoji"; text: string; url?: string; custom: boolean };

interface EightFields {
  /** The upstream's own id where it has one; unique within a room. Not the cursor. */
  id: string;
  /** Display text of the time. */
  timestamp: string;
  author: string;
  /** The parts' texts joined. */
  message: string;
  amount: string;
  /** `#rrggbb`, or empty. */
  color: string;
  parts: Part[];
}

/** A message of type `T`, with its details; of several types, the union of their messages. */
export type MessageOf<T extends MessageType> = {
  [Each in T]: EightFields & { type: Each; details: DetailsOf<Each> };
}[T];

/** Discriminated on `type`. */
export type Message = MessageOf<MessageType>;

/** The message as a reader gets it: with its details only when it asked for them. */
export function messageFor(message: Message, withDetails: boolean): Message | Omit<Message, "details"> {
  const { details, ...eightFields } = message;
  return withDetails ? message : eightFields;
}
