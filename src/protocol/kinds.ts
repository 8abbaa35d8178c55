/**
 * Every kind of message in one table: its group, its type, and what its `details` hold. The union of messages, the
 * groups, the API's schema and the checks of docs and simulator follow from it, so a new kind is one row.
 */

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

/** What messages can have beyond the eight fields; a key that a message lacks is absent. */
export interface Details {
  authorId?: string;
  authorPhoto?: string;
  badges?: Badge[];
  /** ISO 8601 in UTC with the upstream's microseconds. */
  publishedAt?: string;
  /** Replay: milliseconds since the stream began; negative before it. */
  offsetMs?: number;
  header?: string;
  /** `value` is null where it cannot be read without guessing, `currency` (ISO 4217) where the text does not say it. */
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

type EventDetails = Pick<Details, "publishedAt" | "offsetMs" | "upstreamKind">;
type ItemDetails = EventDetails & Pick<Details, "authorId" | "authorPhoto" | "badges">;
type PaidDetails = ItemDetails & Pick<Details, "amount" | "tier" | "colors">;
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
    jewels: kind<ItemDetails & Pick<Details, "sticker" | "gift">>(),
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

type Table = typeof KINDS;
export type Group = keyof Table;
type TypesByGroup = { [G in Group]: keyof Table[G] };
export type MessageType = TypesByGroup[Group];

/** The details of a message of type `T`. */
export type DetailsOf<T extends MessageType> = {
  [G in Group]: T extends keyof Table[G] ? (Table[G][T] extends Kind<infer D> ? D : never) : never;
}[Group];

/** The types of each group. */
export const GROUPS = Object.fromEntries(
  Object.entries(KINDS).map(([group, kinds]) => [group, Object.keys(kinds)]),
) as { [G in Group]: TypesByGroup[G][] };

export const MESSAGE_TYPES: readonly MessageType[] = Object.values(GROUPS).flat();
