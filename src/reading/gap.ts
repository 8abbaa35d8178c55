/**
 * A time in which a live chat was not read, or not completely, although this service had read some of it
 * before, if only its page. Messages of that time may be missing. Unless the room has one of the next chat
 * messages (`isChatInPlace`: nothing else is proof), a message of type `gap` marks the place (`showGaps`). It
 * comes with the next new message, or with the chat's end. Such a time is suspected:
 *
 * - before an answer that comes late (`unread-time.ts`), also after a restart; a page may complete it, and
 *   then reach back to the room's messages;
 * - before a fresh page, if that was late or messages were to be expected (`ReadingTimeline.#gapBeforePage`);
 *   before one that replaces a token which brought nothing, always;
 * - between a page and its answer, and between Top chat and the answer with all messages, if the later one
 *   was late or may begin later, and they share no chat message (`areOneList`);
 * - behind a page without a chat message, in an open room, as before a page;
 * - before the page of a stored live chat that is opened again, always (`room-opening.ts`);
 * - before the first page of each time that says that the chat is off, or says so again after a restart: in
 *   an open room as before a fresh page, at an opening if it was late and somebody waits for the chat;
 * - before a page that says that the chat is over, or hidden for too long, if that was late;
 * - if the stored memory of the room is unreadable (`memoryOf`).
 *
 * Its reason is that of the last event before it (`REASON_AFTER`), or of the stored room (`reasonFor`);
 * within an opening it is "unreachable", with an unreadable memory "down". A damaged row of the store is sent
 * as a `gap`, too (`strict-rows.ts`), and `import` stores those of an export.
 *
 * Nothing is suspected in a replay; before an answer in time to the token of the last one, however full it
 * is; at an end that an answer says; and when a video is hidden, but before the page that shows it again (as
 * before any fresh page).
 */
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";
import { gapId } from "../store/stored-message.ts";
import { type AboveChat, aboveAfter, takenDown } from "../upstream/readers/above-chat.ts";
import { event } from "../upstream/readers/event.ts";
import type { ActionTime, Item } from "../upstream/readers/reader.ts";

export interface Gap {
  /** The last wall time at which nothing was missing, in milliseconds since 1970. */
  sinceMs: number;
  /** The wall time at which reading went on, or the chat's end was found. */
  untilMs: number;
  reason: NonNullable<Details["gap"]>["reason"];
}

const SENTENCES: Record<Gap["reason"], string> = {
  unwatched: "Messages may be missing here: nobody watched this chat for a while.",
  down: "Messages may be missing here: the relay did not run, or could not keep up.",
  unreachable: "Messages may be missing here: the relay could not reach the chat.",
  throttled: "Messages may be missing here: YouTube made the relay wait.",
  hidden: "Messages may be missing here: the video was private, or not open to everybody.",
};

/** The message that marks a gap. `cursor`: of the message before it. */
function gapMessage({ sinceMs, untilMs, reason }: Gap, cursor: number, moment: ActionTime): Message {
  const since = new Date(sinceMs).toISOString();
  const until = new Date(untilMs).toISOString();
  return event(gapId(cursor), moment, {
    type: "gap",
    parts: [{ kind: "text", text: SENTENCES[reason] }],
    details: { gap: { since, until, reason } },
  });
}

/** Items that were read together. */
export interface ReadBatch {
  items: readonly Item[];
  /** The gap that may be before them. */
  suspectedGap?: Gap | undefined;
  /** The banners and open polls above the chat after that gap, if a whole page shows them. */
  above?: AboveChat | undefined;
  /** Whether the chat ends with them: then a gap is shown even if no message follows. */
  isLast?: boolean;
  /** Items that disprove that gap if the room has one of them; by default the batch's own. */
  proof?: readonly Item[];
}

/** Whether both contain the same chat message. */
export function overlap(before: readonly Item[], after: readonly Item[]): boolean {
  const ids = new Set(before.map(({ message }) => message.id));
  return after.some((item) => isChatInPlace(item) && ids.has(item.message.id));
}

/**
 * Whether nothing is missing between them, because they overlap. A message that the later ones have of Top
 * chat alone proves nothing: others may be missing beside it.
 */
export function areJoined(before: readonly Item[], after: readonly Item[]): boolean {
  return overlap(before, after.filter(isInAll));
}

/**
 * Whether the item is a chat message in its original place. Everything else can be shown again much later:
 * paid items in a ticker, notices and banners with every page, a message that a replacement restores.
 */
export function isChatInPlace({ message, replaces }: Item): boolean {
  return message.type === "chat" && replaces === undefined;
}

/** Whether it is such a message, and in the list of all messages, not in Top chat alone. */
export function isInAll(item: Item): boolean {
  return isChatInPlace(item) && !item.isInTop;
}

interface ShownGaps {
  messages: readonly Message[];
  /** The gaps that are shown by one of the messages. */
  shown: readonly Gap[];
  /** The gap that may still be before the next message. */
  gap: Gap | undefined;
}

/** A room, before its next batches. */
interface RoomBefore {
  /** The newest cursor. */
  head: number;
  /** The messages of the room that the batches may repeat, by id. */
  held: ReadonlyMap<string, Message>;
  /** The gap that may be before the next message. */
  gap: Gap | undefined;
  /** The banners and open polls above the chat. */
  above: AboveChat;
}

/**
 * The batches' messages, one for each item (`ofItems`, in order), with a message for each gap that no overlap
 * disproves. After a gap, the banners and polls that a whole page of the batch lacks are taken down.
 */
export function showGaps(
  batches: readonly ReadBatch[],
  ofItems: readonly Message[],
  room: RoomBefore,
  now: ActionTime,
): ShownGaps {
  const { held } = room;
  const messages: Message[] = [];
  const shown: Gap[] = [];
  const known = new Map<string, Message>();
  const isKnown = (id: string) => known.has(id) || held.has(id);
  let { gap, head: cursor } = room;
  const add = (message: Message) => {
    if (!isKnown(message.id)) cursor++;
    known.set(message.id, message);
    messages.push(message);
  };
  /** After a gap that is stored, another one says nothing new. */
  const show = (lost: Gap) => {
    if (isKnown(gapId(cursor - 1))) return;
    messages.push(gapMessage(lost, cursor++, now));
    shown.push(lost);
  };
  /** The messages that take down all that this page lacks. */
  const downAfter = (shownAbove: AboveChat): Message[] =>
    takenDown(aboveAfter(room.above, messages), shownAbove, new Map([...held, ...known]), now);
  for (const batch of withMessages(batches, ofItems)) {
    const { items, own, suspectedGap, above: shownAbove, proof = items, isLast } = batch;
    gap = lasting(gap, suspectedGap);
    if (proof.some((item) => isChatInPlace(item) && isKnown(item.message.id))) gap = undefined;
    for (const message of own) {
      if (gap && !isKnown(message.id)) {
        show(gap);
        gap = undefined;
        if (shownAbove) for (const down of downAfter(shownAbove)) add(down);
      }
      add(message);
    }
    if (!gap || !isLast) continue;
    show(gap);
    gap = undefined;
  }
  return { messages, shown, gap };
}

/** The batches, each with the messages of its own items. `ofItems`: those of all items, in order. */
function withMessages(batches: readonly ReadBatch[], ofItems: readonly Message[]) {
  let next = 0;
  return batches.map((batch) => {
    const own = ofItems.slice(next, next + batch.items.length);
    next += own.length;
    return { ...batch, own };
  });
}

/**
 * Two gaps without a new message between them are one: it begins as the first, and lasts until the end of the
 * other.
 */
function lasting(gap: Gap | undefined, next: Gap | undefined): Gap | undefined {
  if (!gap || !next) return gap ?? next;
  return { ...gap, untilMs: next.untilMs };
}

/** Reads a gap from a checkpoint; undefined if it is invalid. */
export function toGap(stored: unknown): Gap | undefined {
  const { sinceMs, untilMs, reason } = (stored ?? {}) as Partial<Gap>;
  const isTime = (ms: unknown): ms is number =>
    typeof ms === "number" && !Number.isNaN(new Date(ms).valueOf());
  if (!isTime(sinceMs) || !isTime(untilMs) || typeof reason !== "string" || !Object.hasOwn(SENTENCES, reason))
    return undefined;
  return { sinceMs, untilMs, reason };
}
