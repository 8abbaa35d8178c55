/**
 * Work that is done once for all who ask for the same while it is in flight. They share the result, but not
 * the data that it is made from. `SharedWork` ends if nobody waits for it any more; `InFlight` goes on.
 */
import { unlessAborted } from "./deadline.ts";

interface WorkInFlight<T> {
  readonly result: Promise<T>;
  readonly abandoned: AbortController;
  waiting: number;
}

export class SharedWork<T> {
  readonly #inFlight = new Map<string, WorkInFlight<T>>();

  /**
   * The result of the work of this key that is in flight, or else of `act`, whose signal aborts when nobody
   * waits for it any more. Rejects as `act` does, and with the signal's reason.
   */
  async run(key: string, act: (abandoned: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
    signal.throwIfAborted();
    const work = this.#inFlight.get(key) ?? this.#begin(key, act);
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

  #begin(key: string, act: (abandoned: AbortSignal) => Promise<T>): WorkInFlight<T> {
    const abandoned = new AbortController();
    const result = act(abandoned.signal).finally(() => this.#end(key, work));
    const work: WorkInFlight<T> = { result, abandoned, waiting: 0 };
    this.#inFlight.set(key, work);
    return work;
  }

  #end(key: string, work: WorkInFlight<T>): void {
    if (this.#inFlight.get(key) === work) this.#inFlight.delete(key);
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
