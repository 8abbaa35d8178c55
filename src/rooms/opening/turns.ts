/**
 * The turns of clients that wait for the same thing. Addresses take turns: those not served yet go first,
 * the newest before the others, so a flood from many addresses keeps a newcomer waiting for one turn and not
 * for a round. Within an address, too, the newest client goes first, because one that waited long has
 * probably left. Each operation takes the same time however many wait.
 */
import { LinkedList } from "../../base/linked-list.ts";

/** Those of one address; the newest is last. */
interface Line<T> {
  readonly address: string;
  readonly waiting: LinkedList<T>;
  /** Its place among the addresses; undefined once nobody of it waits. */
  place: Disposable | undefined;
}

export class Turns<T> {
  readonly #lines = new Map<string, Line<T>>();
  /** Addresses that were not served since they came; the newest is last. */
  readonly #fresh = new LinkedList<Line<T>>();
  /** Addresses that were served; the next is first. */
  readonly #served = new LinkedList<Line<T>>();

  get isEmpty(): boolean {
    return this.#lines.size === 0;
  }

  /** Adds one that waits. Disposing takes it out, if it has not had its turn. */
  add(address: string, one: T): Disposable {
    const line = this.#lines.getOrInsertComputed(address, () => {
      return { address, waiting: new LinkedList(), place: undefined };
    });
    const place = line.waiting.push(one);
    line.place ??= this.#fresh.push(line);
    return {
      [Symbol.dispose]: () => {
        place[Symbol.dispose]();
        if (line.place && line.waiting.size === 0) this.#queue(line);
      },
    };
  }

  /** Takes out the one whose turn it is; undefined if nobody waits. */
  next(): T | undefined {
    const line = (this.#fresh.last ?? this.#served.first)?.value;
    const next = line?.waiting.last;
    next?.[Symbol.dispose]();
    if (line) this.#queue(line);
    return next?.value;
  }

  /** Puts a line behind the others, or forgets it if nobody of it waits. */
  #queue(line: Line<T>): void {
    line.place?.[Symbol.dispose]();
    line.place = line.waiting.size > 0 ? this.#served.push(line) : undefined;
    if (!line.place) this.#lines.delete(line.address);
  }
}
