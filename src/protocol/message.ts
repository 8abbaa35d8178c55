/**
 * One event of a chat, as viewers receive it: the specification's eight fields and, on request, `details`
 * with the fields that only its kind has.
 */
import type { DetailsOf, MessageType } from "./kinds.ts";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "link"; text: string; url: string }
  | { kind: "emoji"; text: string; url?: string; custom: boolean };

export interface EightFields {
  /** The upstream's id if there is one; unique within a room. It differs from the cursor. */
  id: string;
  /** The time as display text. */
  timestamp: string;
  /** The author's display name; empty if nobody said it. */
  author: string;
  /** The texts of all parts, joined. */
  message: string;
  /** The payment in the upstream's own words (`€5.00`); empty if there was none. */
  amount: string;
  /** The colour of the payment: `#rrggbb`, or empty. */
  color: string;
  /** The message in pieces: texts, links and emojis. */
  parts: Part[];
}

/** A message of type `T`, with its details. For several types, the union of their messages. */
export type MessageOf<T extends MessageType> = {
  [Each in T]: EightFields & { type: Each; details: DetailsOf<Each> };
}[T];

/** Discriminated on `type`. */
export type Message = MessageOf<MessageType>;

/** The message for a viewer: with details only if the viewer requested them. */
export function messageFor(message: Message, withDetails: boolean): Message | Omit<Message, "details"> {
  const { details, ...eightFields } = message;
  return withDetails ? message : eightFields;
}
