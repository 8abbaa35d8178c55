/**
 * Decides which replacements of a message are new to a room, and which were only read again. A message can
 * return to an earlier text, so content alone does not identify a version. Versions that are read again come
 * first in a batch, and equal the last ones that the room holds, in order.
 */
import type { Message } from "../../protocol/message.ts";
import { replacedId } from "../../upstream/readers/change.ts";
import type { Item } from "../../upstream/readers/reader.ts";

type Replacing = NonNullable<Item["replaces"]>;

/** A message as a room holds it. */
export type HeldMessage = Omit<Message, "details">;

/** By the id of a message: its replacements that a room holds, the oldest first. */
export type HeldReplacements = ReadonlyMap<string, readonly HeldMessage[]>;

/**
 * Maximum number of messages whose replacements are queried. An earlier content of any further message counts
 * as read again.
 */
const MAX_QUERIED = 200;

/** The ids of messages whose earlier content an item may restore. `held`: the room's messages by id. */
export function replacedBefore(items: readonly Item[], held: ReadonlyMap<string, HeldMessage>): string[] {
  const ids = new Set<string>();
  for (const { replaces } of items) {
    const before = replaces && held.get(replaces.id);
    if (!before) continue;
    const { id, as } = replaces;
    if (held.has(as.id) || replacedId(id, before) === as.id) ids.add(id);
  }
  return [...ids].slice(0, MAX_QUERIED);
}

/** The contents of one message, each as the id of its replacement. */
interface Contents {
  /** All contents until now, the original first. */
  shown: string[];
  /** How many replacements to skip next: they were only read again. */
  again: number;
}

export class Replacements {
  readonly #held: HeldReplacements;
  /** By the id of the message: the indexes of its replacements among the items, and their ids. */
  readonly #read = new Map<string, { at: number; id: string }[]>();
  readonly #contents = new Map<string, Contents>();

  constructor(items: readonly Item[], held: HeldReplacements) {
    this.#held = held;
    for (const [at, { replaces }] of items.entries()) {
      if (replaces) this.#read.getOrInsertComputed(replaces.id, () => []).push({ at, id: replaces.as.id });
    }
  }

  /** The event of the replacement at that index; undefined if it changes nothing. */
  eventAt(at: number, { id, as }: Replacing, before: HeldMessage): Message | undefined {
    const contents = this.#contents.getOrInsertComputed(id, () => this.#contentsOf(id, before, at));
    if (contents.again > 0) {
      contents.again -= 1;
      return undefined;
    }
    const { shown } = contents;
    if (shown.at(-1) === as.id) return undefined;
    const isRepeat = shown.includes(as.id, 1);
    shown.push(as.id);
    return isRepeat ? { ...as, id: `${as.id}:${shown.length}` } : as;
  }

  #contentsOf(id: string, before: HeldMessage, from: number): Contents {
    const held = (this.#held.get(id) ?? []).map((replacement) => replacedId(id, replacement));
    const shown = [replacedId(id, before), ...held];
    const read = (this.#read.get(id) ?? []).filter(({ at }) => at >= from).map((one) => one.id);
    // The room holds a content that comes several times in a row once.
    const starts = read.flatMap((content, i) => (content === read[i - 1] ? [] : [i]));
    let again = Math.min(shown.length, starts.length);
    while (again > 0 && !shown.slice(-again).every((content, i) => content === read[starts[i] ?? 0]))
      again -= 1;
    return { shown, again: starts[again] ?? read.length };
  }
}
