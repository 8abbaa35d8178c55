/** The totals of one room of the store in memory, which counts each message when it is appended. */
import type { StoredMessage } from "../stored-message.ts";
import { fold, NO_TOTALS, readBatch, type TallyBatch, type TallyItem } from "../totals.ts";

export class MemoryTally {
  totals = NO_TOTALS;
  readonly #items = new Map<string, TallyItem>();

  /** `at`: when the messages were stored, in wall milliseconds. */
  add(messages: readonly StoredMessage[], at: number): void {
    const batch = readBatch(messages.map((message) => ({ ...message, at })));
    const { totals, items } = fold(this.totals, batch, this.#held(batch));
    this.totals = totals;
    for (const item of items) this.#items.set(item.key, item);
  }

  #held({ keys, authors, firsts }: TallyBatch): TallyItem[] {
    const found = keys.flatMap((key) => this.#items.get(key) ?? []);
    if (authors.length + firsts.length === 0) return found;
    const targets = new Set<string | null>([...authors, ...firsts]);
    const others = this.#items
      .values()
      .filter(({ author, first }) => targets.has(author) || targets.has(first));
    return [...found, ...others];
  }
}
