/**
 * Every kind of message in one table: its group, its type, and what its `details` hold. The union of messages, the
 * groups, the API's schema and the checks of docs and simulator follow from it, so a new kind is one row.
 */

export interface Badge {
  kind: "owner" | "moderator" | "verified" | "member";
  label: string;
  url?: string;
}

/** Why nobody read a chat where messages may be missing. */
export const GAP_REASONS = ["unwatched", "down", "unreachable", "throttled"] as const;

/** Colours as `#rrggbb`. */
export interface Colors {
  header?: string;
  headerText?: string;
  body?: string;
  bodyText?: string;
  author?: string;
  timestamp?: string;
}

/** What messages can have beyond the eight fields; a key that a message lacks is absent. */
export interface Details {
  authorId?: string;
  authorPhoto?: string;
  badges?: Badge[];
  /** The author's place on the leaderboard, 1 to 3. */
  rank?: number;
  /** ISO 8601 in UTC with the upstream's microseconds. */
  publishedAt?: string;
  /** Replay: milliseconds since the stream began; negative before it. */
  offsetMs?: number;
  header?: string;
  /** `value` is null where it cannot be read without guessing, `currency` (ISO 4217) where the text does not say it. */
  amount?: { value: number | null; currency: string | null };
  /** 1 (blue) to 7 (red), by the header's colour. */
  tier?: number;
  likes?: number;
  replies?: number;
  colors?: Colors;
  sticker?: { label: string; url?: string };
  gift?: { count: number };
  /** The gift's name, "" where none is shown; its price in jewels; how many in a row. */
  jewels?: { gift: string; count?: number; combo?: number };
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
  /** `since`: when the room was last read, ISO 8601 in UTC. */
  gap?: { since: string; reason: (typeof GAP_REASONS)[number] };
  /** The upstream's own name of the kind: its renderer or action key. */
  upstreamKind?: string;
}

type EventDetails = Pick<Details, "publishedAt" | "offsetMs" | "upstreamKind">;
type ItemDetails = EventDetails & Pick<Details, "authorId" | "authorPhoto" | "badges" | "rank">;
type PaidDetails = ItemDetails & Pick<Details, "amount" | "tier" | "likes" | "replies" | "colors">;
type BannerDetails = EventDetails & Pick<Details, "banner">;

/** A row of the table: only its type says what the details hold. */
interface Kind<D extends Details> {
  readonly details?: D;
}

const kind = <D extends Details>(): Kind<D> => ({});

const KINDS = {
  chat: { chat: kind<ItemDetails>() },
  paid: {
    superchat: kind<PaidDetails>(),
    supersticker: kind<PaidDetails & Required<Pick<Details, "sticker">>>(),
    jewels: kind<ItemDetails & Required<Pick<Details, "jewels">> & Pick<Details, "sticker" | "target">>(),
    donation: kind<ItemDetails & Pick<Details, "amount">>(),
  },
  members: {
    membership: kind<ItemDetails & Pick<Details, "level">>(),
    milestone: kind<ItemDetails & Pick<Details, "header" | "level">>(),
    gift: kind<ItemDetails & Pick<Details, "gift">>(),
    gift_received: kind<ItemDetails>(),
  },
  polls: {
    poll: kind<BannerDetails & Required<Pick<Details, "poll">>>(),
    poll_result: kind<ItemDetails>(),
  },
  pinned: {
    banner: kind<Details>(), // those of the pinned message come with it
    banner_removed: kind<EventDetails>(),
  },
  moderation: {
    deleted: kind<EventDetails & { target: { messageId: string } }>(),
    author_deleted: kind<EventDetails & { target: { authorId: string } }>(),
    replaced: kind<Details & { target: { messageId: string } }>(), // and those of the new content
  },
  notices: {
    raid: kind<BannerDetails & Pick<Details, "raid">>(),
    summary: kind<BannerDetails>(),
    notice: kind<ItemDetails>(),
    mode: kind<ItemDetails>(),
    product: kind<ItemDetails & BannerDetails>(),
  },
};

/** Of no group: whoever chooses types is sent it all the same. A room writes it; nothing of the upstream is read as it. */
const UNGROUPED = {
  gap: kind<EventDetails & Required<Pick<Details, "gap">>>(),
};

export type Group = keyof typeof KINDS;
type Table = typeof KINDS & { none: typeof UNGROUPED };
type TypesByGroup = { [G in keyof Table]: keyof Table[G] };
export type MessageType = TypesByGroup[keyof Table];

/** The details of a message of type `T`. */
export type DetailsOf<T extends MessageType> = {
  [G in keyof Table]: T extends keyof Table[G] ? (Table[G][T] extends Kind<infer D> ? D : never) : never;
}[keyof Table];

/** The types of each group. */
export const GROUPS = Object.fromEntries(
  Object.entries(KINDS).map(([group, kinds]) => [group, Object.keys(kinds)]),
) as { [G in Group]: TypesByGroup[G][] };

export const MESSAGE_TYPES: readonly MessageType[] = [
  ...Object.values(GROUPS).flat(),
  ...(Object.keys(UNGROUPED) as TypesByGroup["none"][]),
];
