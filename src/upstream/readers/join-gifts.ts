/**
 * Joins the two forms of one gift in jewels, an item of the list and a widget, into one message of a room:
 * the form that came first. Neither has the other's id, and outside of replays neither has a time, so the
 * recent gifts of a room are remembered. After a pause of any length, the next answer may have the other
 * form. Test: "waits ten seconds for its other form, or for the first answer after that".
 */
import { asArray, asObject, asString, dig, textPairs } from "../../base/json.ts";
import type { Message } from "../../protocol/message.ts";
import type { Gift, Item } from "./reader.ts";

/** A form of a gift whose other form may still come. */
interface OpenGift extends Gift {
  id: string;
  author: string;
  /** When it was read, in milliseconds since 1970. */
  readAt: number;
  /** Bounds of the time at which it was sent, in milliseconds, from the upstream's times around it. */
  after?: number | undefined;
  before?: number | undefined;
}

export interface GiftMemory {
  /** The oldest first. */
  open: readonly OpenGift[];
  /** Maps the id of a gift's second form to the id of its message; the oldest first. */
  firstForms: ReadonlyMap<string, string>;
}

export const NO_GIFTS: GiftMemory = { open: [], firstForms: new Map() };

/** Maximum time between the two forms of a gift. */
const PAIR_MS = 10_000;
/**
 * Maximum number of remembered gifts; beyond it, the oldest are forgotten. A page that is read again shows
 * about two hundred items.
 */
const MAX_REMEMBERED = 200;

/** The ids of the gifts among the items, and of the gifts with which they may be joined. */
export function giftIds(items: readonly Item[], { open, firstForms }: GiftMemory): string[] {
  const ids = items.flatMap(({ message: { id }, gift }) => (gift ? [id, firstForms.get(id) ?? id] : []));
  return ids.length > 0 ? [...ids, ...open.map(({ id }) => id)] : [];
}

/**
 * Moves each second form to the id of the first, which adopts the details that it lacks. A form that the room
 * already holds, or that was joined before, does not change. `now`: milliseconds since 1970.
 */
export function joinGifts(
  items: readonly Item[],
  held: { has(id: string): boolean },
  memory: GiftMemory,
  now: number,
): { items: readonly Item[]; memory: GiftMemory } {
  const firstForms = new Map(memory.firstForms);
  const secondForms = new Map<string, Message>();
  const seen = new Set(memory.open.map(({ id }) => id));
  const spans = spansOf(items);
  let open = memory.open;
  for (const [i, { message, gift }] of items.entries()) {
    const { id, author } = message;
    if (!gift || firstForms.has(id) || seen.has(id) || held.has(id)) continue;
    seen.add(id);
    const form = { ...gift, id, author, readAt: now, ...spans[i] };
    const first = open.find((one) => isSameGift(one, form));
    if (first) {
      firstForms.set(id, first.id);
      secondForms.set(first.id, message);
      open = open.filter((one) => one !== first);
    } else open = [...open, form].slice(-MAX_REMEMBERED);
  }
  return {
    items: items.map((item) => {
      const { message } = item;
      return {
        ...item,
        message: withDetailsOf(underFirstForm(message, firstForms), secondForms.get(message.id)),
      };
    }),
    memory: {
      // Only after joining, so that gifts from an unread time can still be joined with the last ones read
      // before it.
      open: open.filter(({ readAt }) => Math.abs(now - readAt) <= PAIR_MS),
      firstForms: new Map([...firstForms].slice(-MAX_REMEMBERED)),
    },
  };
}

function isSameGift(one: OpenGift, other: OpenGift): boolean {
  return (
    one.shownIn !== other.shownIn &&
    one.author !== "" &&
    one.author === other.author &&
    one.names.some((name) => other.names.includes(name)) &&
    minimumDistanceMs(one, other) <= PAIR_MS &&
    minimumDistanceMs(other, one) <= PAIR_MS
  );
}

/** Minimum time from the one to the other, in milliseconds. */
function minimumDistanceMs(one: OpenGift, other: OpenGift): number {
  return (other.after ?? Number.NEGATIVE_INFINITY) - (one.before ?? Number.POSITIVE_INFINITY);
}

/** The time bounds of each item, from the times of the items around it. */
function spansOf(items: readonly Item[]): Pick<OpenGift, "after" | "before">[] {
  const times = items.map(saidAt);
  const before = carryOn(times.toReversed()).reverse();
  return carryOn(times).map((after, i) => ({ after, before: before[i] }));
}

/** Replaces a missing time by the one before it. */
function carryOn(times: readonly (number | undefined)[]): (number | undefined)[] {
  let last: number | undefined;
  return times.map((time) => {
    last = time ?? last;
    return last;
  });
}

/** In a replay the video's time, which every item has; else the upstream's clock, which gifts lack. */
function saidAt({ message: { details }, isInTicker }: Item): number | undefined {
  if (details.offsetMs !== undefined) return details.offsetMs;
  // Items in a ticker were sent long before the items around them.
  return isInTicker || details.publishedAt === undefined ? undefined : Date.parse(details.publishedAt);
}

/** Redirects events that target the second form to the first. */
function underFirstForm(message: Message, firstForms: ReadonlyMap<string, string>): Message {
  if (message.type === "deleted") {
    const messageId = firstForms.get(message.details.target.messageId);
    if (messageId === undefined) return message;
    return { ...message, id: `deleted:${messageId}`, details: { ...message.details, target: { messageId } } };
  }
  if (message.type !== "jewels") return message;
  const id = firstForms.get(message.id) ?? message.id;
  const messageId = firstForms.get(message.details.target?.messageId ?? "");
  if (messageId === undefined) return { ...message, id };
  return { ...message, details: { ...message.details, target: { messageId } } };
}

/** The list shows the price, the widget shows the giver. */
function withDetailsOf(first: Message, second: Message | undefined): Message {
  if (first.type !== "jewels" || second?.type !== "jewels") return first;
  const jewels = { ...second.details.jewels, ...first.details.jewels };
  return { ...first, details: { ...second.details, ...first.details, jewels } };
}

/** For the store, as JSON. */
export function encodeGifts({ open, firstForms }: GiftMemory): object {
  return { open, firstForms: [...firstForms] };
}

/** Reads the JSON of `encodeGifts`; undefined if any of it is invalid. */
export function toGifts(stored: unknown): GiftMemory | undefined {
  const open = asArray(dig(stored, "open"));
  const firstForms = textPairs(dig(stored, "firstForms"));
  return open?.every(isOpenGift) && firstForms ? { open, firstForms } : undefined;
}

function isTimeOrAbsent(value: unknown): boolean {
  return value === undefined || Number.isFinite(value);
}

function isOpenGift(value: unknown): value is OpenGift {
  const gift = asObject(value);
  return (
    asString(gift?.id) !== undefined &&
    asString(gift?.author) !== undefined &&
    Number.isFinite(gift?.readAt) &&
    isTimeOrAbsent(gift?.after) &&
    isTimeOrAbsent(gift?.before) &&
    asArray(gift?.names)?.every((name) => typeof name === "string") === true &&
    (gift?.shownIn === "list" || gift?.shownIn === "widget")
  );
}
