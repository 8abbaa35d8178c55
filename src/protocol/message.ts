/**
 * One event of a chat as every reader gets it: the specification's eight fields, and on demand `details`,
 * which holds whatever more the kind has. A message is encoded once, when it is stored; from then on only
 * its encoded form moves through the service.
 */

export type MessageType =
  | "chat"
  | "superchat"
  | "supersticker"
  | "membership"
  | "milestone"
  | "gift"
  | "gift_received"
  | "jewels"
  | "donation"
  | "poll"
  | "poll_result"
  | "banner"
  | "banner_removed"
  | "raid"
  | "summary"
  | "notice"
  | "mode"
  | "product"
  | "deleted"
  | "author_deleted"
  | "replaced";

export type Part =
  | { kind: "text"; text: string }
  | { kind: "link"; text: string; url: string }
  | { kind: "emoji"; text: string; url?: string; custom: boolean };

export interface Badge {
  kind: "owner" | "moderator" | "verified" | "member";
  label: string;
  url?: string;
}

/** Colours as `#rrggbb`. */
export interface Colors {
  header?: string;
  headerText?: string;
  body?: string;
  bodyText?: string;
  author?: string;
  timestamp?: string;
}

/** What a kind has beyond the eight fields; a key that the kind lacks is absent. */
export interface Details {
  authorId?: string;
  authorPhoto?: string;
  badges?: Badge[];
  /** ISO 8601 in UTC with the upstream's microseconds. */
  publishedAt?: string;
  /** Replay: milliseconds since the stream began; negative before it. */
  offsetMs?: number;
  header?: string;
  /** `value` is null where it cannot be read without guessing, `currency` (ISO 4217) where the text does not tell it. */
  amount?: { value: number | null; currency: string | null };
  /** 1 (blue) to 7 (red), by the header's colour. */
  tier?: number;
  colors?: Colors;
  sticker?: { label: string; url?: string };
  gift?: { count: number };
  level?: string;
  target?: { messageId?: string; authorId?: string };
  poll?: {
    question: string;
    choices: { text: string; ratio?: number; percent?: number }[];
    votes?: number;
    state: "open" | "updated" | "closed";
  };
  banner?: { kind: string; header?: string };
  raid?: { direction: "in" | "out"; videoId?: string; url?: string };
  /** The upstream's own name of the kind: its renderer or action key. */
  upstreamKind?: string;
}

export interface Message {
  type: MessageType;
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
  details: Details;
}

/**
 * A message as it is stored and sent: the eight fields as JSON, and the details as JSON of their own, so that
 * either form of a frame is put together without parsing anything.
 */
export interface EncodedMessage {
  id: string;
  /** JSON object text of the eight fields. */
  body: string;
  /** JSON object text of the details. */
  details: string;
}

/** A stored message with its place in the room. */
export interface StoredMessage extends EncodedMessage {
  cursor: number;
}

export function encodeMessage(message: Message): EncodedMessage {
  const { details, ...eightFields } = message;
  return { id: message.id, body: JSON.stringify(eightFields), details: JSON.stringify(details) };
}

/** The message as a reader gets it: with its details only when it asked for them. */
export function messageFor(message: Message, withDetails: boolean): Message | Omit<Message, "details"> {
  const { details, ...eightFields } = message;
  return withDetails ? message : eightFields;
}

/** The JSON text that a reader gets: the eight fields, with `details` as a ninth when it asked for them. */
export function messageJson(message: EncodedMessage, withDetails: boolean): string {
  return withDetails ? `${message.body.slice(0, -1)},"details":${message.details}}` : message.body;
}
