/**
 * The videos that viewers ask for and that wait to be opened. Strangers choose their number, and most may
 * have no chat, so it has a bound. One more displaces the oldest video of the address that waits for the
 * most: a flood displaces its own videos, and its newest ones stay, because a viewer that waited long has
 * probably left.
 */
import { LinkedList, type Place } from "../base/linked-list.ts";

/** The videos of one address; the newest is last. */
interface Crowd {
  readonly address: string;
  /** Refuses each. */
  readonly waiting: LinkedList<() => void>;
  /** Its place among the addresses that wait for as many. */
  peer: Place<Crowd> | undefined;
}

export class OpeningBound {
  readonly #max: number;
  readonly #crowds = new Map<string, Crowd>();
  /** By the number of videos, the addresses that wait for this number. */
  readonly #bySize = new Map<number, LinkedList<Crowd>>();
  /** The number of videos in all, and of the address that waits for the most. */
  #size = 0;
  #most = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /** How many videos of this address wait. */
  of(address: string): number {
    return this.#crowds.get(address)?.waiting.size ?? 0;
  }

  /**
   * Counts a video until the result is disposed of, or it is displaced; then calls `refuse`, possibly before
   * this returns.
   */
  join(address: string, refuse: () => void): Disposable {
    const crowd = this.#crowds.getOrInsertComputed(address, () => {
      return { address, waiting: new LinkedList(), peer: undefined };
    });
    let isWaiting = true;
    const leave = () => {
      if (!isWaiting) return;
      isWaiting = false;
      place[Symbol.dispose]();
      this.#size -= 1;
      this.#resized(crowd);
    };
    const place = crowd.waiting.push(() => {
      leave();
      refuse();
    });
    this.#size += 1;
    this.#resized(crowd);
    if (this.#size > this.#max) this.#bySize.get(this.#most)?.first?.value.waiting.first?.value();
    return { [Symbol.dispose]: leave };
  }

  #resized(crowd: Crowd): void {
    crowd.peer?.[Symbol.dispose]();
    const { size } = crowd.waiting;
    if (size === 0) this.#crowds.delete(crowd.address);
    else crowd.peer = this.#bySize.getOrInsertComputed(size, () => new LinkedList()).push(crowd);
    this.#most = Math.max(this.#most, size);
    while (this.#most > 0 && this.#bySize.get(this.#most)?.size === 0) this.#most -= 1;
  }
}
