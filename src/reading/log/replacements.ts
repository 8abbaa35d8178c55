/**
 * Which replacements of a message are new to a room, and which are only read again. A message can come to show what it
 * showed before, so its contents are known by their order: what is read again begins somewhere in what the room holds,
 * and goes on to its end.
 */
import type { Message } from "../../protocol/message.ts";
import { replacedId } from "../../upstream/readers/change.ts";
import type { Item } from "../../upstream/readers/reader.ts";

type Replacing = NonNullable<Item["replaces"]>;

/** A message as a room holds it. */
export type HeldMessage = Omit<Message, "details">;

/** By the id of a message: the replacements of it that a room holds, the oldest first. */
export type HeldReplacements = ReadonlyMap<string, readonly HeldMessage[]>;

/** Of so many messages the replacements are looked up; those of further ones count as read again. */
const MAX_LOOKED_UP = 200;

/** The messages that an item gives a content which they may have shown before. `held`: by id, what the room holds. */
export function replacedBefore(items: readonly Item[], held: ReadonlyMap<string, HeldMessage>): string[] {
  const ids = new Set<string>();
  for (const { replaces } of items) {
    const before = replaces && held.get(replaces.id);
    if (!before) continue;
    const { id, as } = replaces;
    if (held.has(as.id) || replacedId(id, before) === as.id) ids.add(id);
  }
  return [...ids].slice(0, MAX_LOOKED_UP);
}

/** The contents of one message, each by the id of the replacement that it is. */
interface Contents {
  /** All that it has shown, the original first. */
  shown: string[];
  /** How many of its next replacements are read again. */
  again: number;
}

export class Replacements {
  readonly #held: HeldReplacements;
  /** By the id of the message: the places of its replacements among the items, and what they are. */
  readonly #read = new Map<string, { at: number; id: string }[]>();
  readonly #contents = new Map<string, Contents>();

  constructor(items: readonly Item[], held: HeldReplacements) {
    this.#held = held;
    for (const [at, { replaces }] of items.entries()) {
      if (replaces) this.#read.getOrInsertComputed(replaces.id, () => []).push({ at, id: replaces.as.id });
    }
  }

  /** The event that the replacement at that place is; undefined where it tells nothing new of the message. */
  eventAt(at: number, { id, as }: Replacing, before: HeldMessage): Message | undefined {
    const contents = this.#contents.getOrInsertComputed(id, () => this.#contentsOf(id, before, at));
    if (contents.again > 0) {
      contents.again -= 1;
      return undefined;
    }
    const { shown } = contents;
    if (shown.at(-1) === as.id) return undefined;
    const wasTold = shown.includes(as.id, 1);
    shown.push(as.id);
    return wasTold ? { ...as, id: `${as.id}:${shown.length}` } : as;
  }

  #contentsOf(id: string, before: HeldMessage, from: number): Contents {
    const held = (this.#held.get(id) ?? []).map((replacement) => replacedId(id, replacement));
    const shown = [replacedId(id, before), ...held];
    const read = (this.#read.get(id) ?? []).filter(({ at }) => at >= from).map((one) => one.id);
    let again = Math.min(shown.length, read.length);
    while (again > 0 && !shown.slice(-again).every((content, i) => content === read[i])) again -= 1;
    return { shown, again };
  }
}
