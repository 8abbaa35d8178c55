/**
 * A time in which nobody read a chat that a room holds the beginning of. Something said in it may be missing, unless
 * what comes next joins what the room holds; else the room gets a message of type `gap` in the hole's place.
 */
import type { Details } from "../protocol/kinds.ts";
import type { Message } from "../protocol/message.ts";
import { event } from "../upstream/readers/event.ts";
import type { Item } from "../upstream/readers/reader.ts";
import type { TimeOfDay } from "../upstream/readers/timestamp.ts";

export interface Hole {
  /** Wall time of the last good answer before it, in milliseconds since 1970. */
  sinceMs: number;
  reason: NonNullable<Details["gap"]>["reason"];
}

const SENTENCES: Record<Hole["reason"], string> = {
  unwatched: "Messages may be missing here: nobody watched this chat for a while.",
  down: "Messages may be missing here: the relay did not run, or could not keep up.",
  unreachable: "Messages may be missing here: the relay could not reach the chat.",
  throttled: "Messages may be missing here: the chat's upstream made the relay wait.",
};

/** The message that stands in a hole's place. `cursor`: that of the message before it. */
function gapMessage({ sinceMs, reason }: Hole, cursor: number, now: number, timeOfDay: TimeOfDay): Message {
  const moment = { receivedAt: now, timeOfDay, offsetMs: undefined };
  return event(`gap:${cursor}`, moment, {
    type: "gap",
    parts: [{ kind: "text", text: SENTENCES[reason] }],
    details: { gap: { since: new Date(sinceMs).toISOString(), reason } },
  });
}

/** What was read in one go. */
export interface Stretch {
  items: readonly Item[];
  /** What may be missing before it. */
  after?: Hole | undefined;
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

interface ShownHoles {
  messages: readonly Message[];
  /** In whose place a message stands among them. */
  shown: readonly Hole[];
  /** What may still be missing before the next message. */
  hole: Hole | undefined;
}

/**
 * The stretches' messages, one for each item, with a message in the place of each hole that nothing joins. `pending`: a
 * hole that may lie before them all. `held`: what of them the room holds; `head`: its newest cursor.
 */
export function showHoles(
  stretches: readonly Stretch[],
  read: readonly Message[],
  held: { has(id: string): boolean },
  pending: Hole | undefined,
  { head, now, timeOfDay }: { head: number; now: number; timeOfDay: TimeOfDay },
): ShownHoles {
  const messages: Message[] = [];
  const shown: Hole[] = [];
  const known = new Set<string>();
  const isKnown = (id: string) => known.has(id) || held.has(id);
  let hole = pending;
  let cursor = head;
  let next = 0;
  for (const { items, after } of stretches) {
    hole ??= after;
    if (items.some((item) => isSaid(item) && isKnown(item.message.id))) hole = undefined;
    const own = read.slice(next, next + items.length);
    next += items.length;
    for (const message of own) {
      if (!isKnown(message.id)) {
        if (hole) {
          messages.push(gapMessage(hole, cursor++, now, timeOfDay));
          shown.push(hole);
          hole = undefined;
        }
        cursor++;
      }
      known.add(message.id);
      messages.push(message);
    }
  }
  return { messages, shown, hole };
}

/** A hole as a checkpoint holds it; undefined where that is none. */
export function toHole(stored: unknown): Hole | undefined {
  const { sinceMs, reason } = (stored ?? {}) as Partial<Hole>;
  if (typeof sinceMs !== "number" || reason === undefined || !(reason in SENTENCES)) return undefined;
  return { sinceMs, reason };
}
