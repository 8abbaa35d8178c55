/**
 * A time in which nobody read a chat that the room holds the beginning of. Messages of that time may be missing. If what
 * is read next does not overlap with what the room holds, a message of type `gap` takes their place.
 */
import type { Details } from "../../protocol/kinds.ts";
import type { Message } from "../../protocol/message.ts";
import { event } from "../../upstream/readers/event.ts";
import type { Item } from "../../upstream/readers/reader.ts";
import type { TimeOfDay } from "../../upstream/readers/timestamp.ts";

export interface Gap {
  /** Wall time of the last good answer before it, in milliseconds since 1970. */
  sinceMs: number;
  reason: NonNullable<Details["gap"]>["reason"];
}

const SENTENCES: Record<Gap["reason"], string> = {
  unwatched: "Messages may be missing here: nobody watched this chat for a while.",
  down: "Messages may be missing here: the relay did not run, or could not keep up.",
  unreachable: "Messages may be missing here: the relay could not reach the chat.",
  throttled: "Messages may be missing here: the chat's upstream made the relay wait.",
};

/** The message that stands in a gap's place. `cursor`: that of the message before it. */
function gapMessage({ sinceMs, reason }: Gap, cursor: number, now: number, timeOfDay: TimeOfDay): Message {
  const moment = { receivedAt: now, timeOfDay, offsetMs: undefined };
  return event(`gap:${cursor}`, moment, {
    type: "gap",
    parts: [{ kind: "text", text: SENTENCES[reason] }],
    details: { gap: { since: new Date(sinceMs).toISOString(), reason } },
  });
}

/** What was read in one go. */
export interface ReadBatch {
  items: readonly Item[];
  /** What may be missing before it. */
  after?: Gap | undefined;
}

/** Whether something that was said stands in both: then nothing is missing between them. */
export function areJoined(before: readonly Item[], after: readonly Item[]): boolean {
  const ids = new Set(before.map(({ message }) => message.id));
  return after.some((item) => isSaid(item) && ids.has(item.message.id));
}

/**
 * What somebody said, in its place in the chat. All else can be shown again long afterwards: what is paid in a ticker,
 * notices and banners with every page, a message that a replacement brings back.
 */
export function isSaid({ message, replaces }: Item): boolean {
  return message.type === "chat" && replaces === undefined;
}

interface ShownGaps {
  messages: readonly Message[];
  /** In whose place a message stands among them. */
  shown: readonly Gap[];
  /** What may still be missing before the next message. */
  gap: Gap | undefined;
}

/**
 * The batches' messages, one for each item, with a message in the place of each gap that nothing joins. `pending`: a
 * gap that may lie before them all. `held`: what of them the room holds; `head`: its newest cursor.
 */
export function showGaps(
  batches: readonly ReadBatch[],
  read: readonly Message[],
  held: { has(id: string): boolean },
  pending: Gap | undefined,
  { head, now, timeOfDay }: { head: number; now: number; timeOfDay: TimeOfDay },
): ShownGaps {
  const messages: Message[] = [];
  const shown: Gap[] = [];
  const known = new Set<string>();
  const isKnown = (id: string) => known.has(id) || held.has(id);
  let gap = pending;
  let cursor = head;
  let next = 0;
  for (const { items, after } of batches) {
    gap ??= after;
    if (items.some((item) => isSaid(item) && isKnown(item.message.id))) gap = undefined;
    const own = read.slice(next, next + items.length);
    next += items.length;
    for (const message of own) {
      if (!isKnown(message.id)) {
        if (gap) {
          messages.push(gapMessage(gap, cursor++, now, timeOfDay));
          shown.push(gap);
          gap = undefined;
        }
        cursor++;
      }
      known.add(message.id);
      messages.push(message);
    }
  }
  return { messages, shown, gap };
}

/** A gap as a checkpoint holds it; undefined where that is none. */
export function toGap(stored: unknown): Gap | undefined {
  const { sinceMs, reason } = (stored ?? {}) as Partial<Gap>;
  if (typeof sinceMs !== "number" || reason === undefined || !(reason in SENTENCES)) return undefined;
  return { sinceMs, reason };
}
