/**
 * Every kind of message: its group, its type and its `details`. The union of messages, the groups, and the
 * checks of docs and simulator derive from this table. After a new row, the compiler and the tests name the
 * other places to change.
 */

/** The kinds of badges. */
export const BADGES = ["owner", "moderator", "verified", "member"] as const;

export interface Badge {
  kind: (typeof BADGES)[number];
  label: string;
  url?: string;
}

/** The reasons why a chat was not read, so that messages may be missing. */
export const GAP_REASONS = ["unwatched", "down", "unreachable", "throttled", "hidden"] as const;

/** What the upstream last said about a poll. */
export const POLL_STATES = ["open", "updated", "closed"] as const;

/** Whether a raid brings viewers or takes them to another stream. */
export const RAID_DIRECTIONS = ["in", "out"] as const;

/** Colours as `#rrggbb`. */
export interface Colors {
  header?: string;
  headerText?: string;
  body?: string;
  bodyText?: string;
  author?: string;
  timestamp?: string;
}

/** The details of every event. A key without a value is absent, here and below. */
export interface EventDetails {
  /**
   * When the message was made durable, but never before it was said or before the message before it: ISO 8601
   * in UTC with milliseconds. Absent in `poll` and `session`, which store nothing.
   */
  storedAt?: string;
  /** ISO 8601 in UTC with the upstream's microseconds. */
  publishedAt?: string;
  /** Replay: milliseconds since the stream began; negative before it. */
  offsetMs?: number;
  /** The upstream's name of the kind: its renderer or action key. */
  upstreamKind?: string;
}

/** The details of what an author said or did. */
export interface ItemDetails extends EventDetails {
  /** The author's channel id. */
  authorId?: string;
  /** The URL of the author's picture. */
  authorPhoto?: string;
  /** What the author is in this chat: owner, moderator, verified, member. */
  badges?: Badge[];
  /** The author's place on the leaderboard, 1 to 3. */
  rank?: number;
}

export interface AmountDetails {
  /**
   * The payment as a number. `value` is null if the text has no clear one, and so is `currency`
   * (ISO 4217).
   */
  amount?: { value: number | null; currency: string | null };
}

/** The details of Super Chats and Super Stickers. */
export interface PaidDetails extends ItemDetails, AmountDetails {
  /** 1 (blue) to 7 (red), derived from the header's colour. */
  tier?: number;
  likes?: number;
  replies?: number;
  colors?: Colors;
}

/** The fields of a message beyond the eight standard ones. */
export interface Details extends PaidDetails {
  header?: string;
  /** A milestone's number of months. */
  months?: number;
  /** The paid message to which it replies: its author, and its id if the room held it then. */
  replyTo?: { author: string; messageId?: string };
  sticker?: { label: string; url?: string };
  gift?: { count: number };
  /** The display name of the giver of a membership that was received. */
  giver?: string;
  /** The gift's name, "" if the upstream shows none; its price in jewels; its number in a combo. */
  jewels?: { gift: string; count?: number; combo?: number };
  level?: string;
  target?: { messageId?: string; authorId?: string };
  poll?: {
    question: string;
    choices: { text: string; ratio?: number; percent?: number }[];
    votes?: number;
    state: (typeof POLL_STATES)[number];
  };
  banner?: { kind: string; header?: string };
  raid?: { direction: (typeof RAID_DIRECTIONS)[number]; videoId?: string; url?: string };
  /**
   * `since`: the last good answer before it, `until`: the first one after it; both ISO 8601 in UTC. Earlier
   * versions stored no `until`.
   */
  gap?: { since: string; until: string; reason: (typeof GAP_REASONS)[number] };
}

type BannerDetails = EventDetails & Pick<Details, "banner">;

/** The details of each type of message. */
export type DetailsByType = {
  chat: ItemDetails & Pick<Details, "replyTo">;
  superchat: PaidDetails;
  supersticker: PaidDetails & Required<Pick<Details, "sticker">>;
  jewels: ItemDetails & Required<Pick<Details, "jewels">> & Pick<Details, "sticker" | "target">;
  donation: ItemDetails & AmountDetails;
  membership: ItemDetails & Pick<Details, "level">;
  milestone: ItemDetails & Pick<Details, "header" | "months" | "level">;
  gift: ItemDetails & Pick<Details, "gift">;
  gift_received: ItemDetails & Pick<Details, "giver">;
  poll: BannerDetails & Required<Pick<Details, "poll">>;
  poll_result: ItemDetails;
  /** Including those of the pinned message. */
  banner: Details;
  banner_removed: EventDetails;
  deleted: EventDetails & { target: { messageId: string } };
  author_deleted: EventDetails & { target: { authorId: string } };
  /** Including those of the new content. */
  replaced: Omit<Details, "target"> & { target: { messageId: string } };
  raid: BannerDetails & Pick<Details, "raid">;
  summary: BannerDetails;
  notice: ItemDetails;
  mode: ItemDetails;
  product: ItemDetails & BannerDetails;
  /** Made by the service: the upstream has no such type. */
  gap: EventDetails & Required<Pick<Details, "gap">>;
};

/** Written so that a compiler shows this name, not the table. */
export type MessageType = { [T in keyof DetailsByType]: T }[keyof DetailsByType];

/**
 * The details of a message of type `T`. The author and the payment can be read from those of every type; they
 * are undefined if a type has none.
 */
export type DetailsOf<T extends MessageType> = {
  [Each in T]: DetailsByType[Each] & { [K in Exclude<keyof PaidDetails, keyof DetailsByType[Each]>]?: never };
}[T];

/** The types of each group. `gap` has none: every viewer receives it, whatever types it chooses. */
export const GROUPS = {
  chat: ["chat"],
  paid: ["superchat", "supersticker", "jewels", "donation"],
  members: ["membership", "milestone", "gift", "gift_received"],
  polls: ["poll", "poll_result"],
  pinned: ["banner", "banner_removed"],
  moderation: ["deleted", "author_deleted", "replaced"],
  notices: ["raid", "summary", "notice", "mode", "product"],
} satisfies Record<string, MessageType[]>;

export type Group = keyof typeof GROUPS;
type Forgotten = Exclude<MessageType, (typeof GROUPS)[Group][number] | "gap">;

export const MESSAGE_TYPES: readonly MessageType[] = [
  ...Object.values(GROUPS).flat(),
  "gap" satisfies [Forgotten] extends [never] ? MessageType : Forgotten,
];

/** The names that choose types: the groups, and the types themselves. */
export const typeNames = (): string[] => [...new Set([...Object.keys(GROUPS), ...MESSAGE_TYPES])];

/** The types of a group, or the type itself; none if the name is neither. */
export function typesOf(name: string): readonly MessageType[] {
  if (Object.hasOwn(GROUPS, name)) return GROUPS[name as Group];
  return MESSAGE_TYPES.filter((type) => type === name);
}
