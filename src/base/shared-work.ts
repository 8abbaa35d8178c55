/**
 * Work that is done once for all who ask for the same while it is under way. They share the result,
 * but not the data that it is made from. `SharedWork` ends if nobody waits for it any more; `InFlight` goes
 * on.
 */
import { unlessAborted } from "./deadline.ts";

interface UnderWay<T> {
  readonly result: Promise<T>;
  readonly abandoned: AbortController;
  waiting: number;
}

export class SharedWork<T> {
  readonly #underWay = new Map<string, UnderWay<T>>();

  /**
   * The result of the work of this key that is under way, or else of `act`, whose signal aborts when nobody
   * waits for it any more. Rejects as `act` does, and with the signal's reason.
   */
  async run(key: string, act: (abandoned: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const work = this.#underWay.get(key) ?? this.#begin(key, act);
    work.waiting += 1;
    try {
      return await unlessAborted(work.result, signal);
    } finally {
      work.waiting -= 1;
      if (work.waiting === 0) {
        this.#end(key, work);
        work.abandoned.abort("nobody waits for it");
      }
    }
  }

  #begin(key: string, act: (abandoned: AbortSignal) => Promise<T>): UnderWay<T> {
    const abandoned = new AbortController();
    const result = act(abandoned.signal).finally(() => this.#end(key, work));
    const work: UnderWay<T> = { result, abandoned, waiting: 0 };
    this.#underWay.set(key, work);
    return work;
  }

  #end(key: string, work: UnderWay<T>): void {
    if (this.#underWay.get(key) === work) this.#underWay.delete(key);
  }
}

/** Promises that callers share while these are in flight: one, or one for each key. */
export class InFlight<T, Key = void> {
  readonly #promises = new Map<Key, Promise<T>>();

  /** The promise that is in flight, if there is one. */
  get(key: Key): Promise<T> | undefined {
    return this.#promises.get(key);
  }

  /** The promise that is in flight, or else that of `act`. Settles as that does. */
  join(act: () => Promise<T>, key: Key): Promise<T> {
    return this.#promises.get(key) ?? this.#begin(act, key);
  }

  #begin(act: () => Promise<T>, key: Key): Promise<T> {
    const promise = act().finally(() => this.#promises.delete(key));
    this.#promises.set(key, promise);
    return promise;
  }
}
