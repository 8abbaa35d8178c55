/**
 * Virtual time: one queue of timers for everything in a run. Time stops while anything can continue without
 * it, then jumps to the next timer. A random draw orders the timers that are due together. So a run depends
 * only on its seed, and minutes pass in milliseconds.
 */

import type { Random } from "../../simulator/random.ts";
import type { Clock } from "../../src/base/clock.ts";

/** The wall clock at the beginning of a run, in milliseconds since 1970. */
const BEGINNING = Date.UTC(2026, 0, 1);
/** The minimum and the maximum delay of a real timer. */
const MIN_TIMER_MS = 1;
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Timer {
  at: number;
  /** Orders timers that are due together. */
  draw: number;
  /** Undefined once it is cancelled, so that it keeps nothing alive until its time. */
  fire: (() => void) | undefined;
}

export class Scheduler implements Clock {
  readonly #random: Random;
  readonly #timers = new Heap();
  /** Work that waits until everything else rests. */
  readonly #outside: (() => Promise<unknown>)[] = [];
  #elapsedMs = 0;
  #isPlaying = false;

  constructor(random: Random) {
    this.#random = random;
  }

  /** The number of timers that will fire. */
  get pending(): number {
    return this.#timers.pending;
  }

  now(): number {
    return BEGINNING + Math.floor(this.#elapsedMs);
  }

  monotonic(): number {
    return this.#elapsedMs;
  }

  uptime(): number {
    return this.#elapsedMs;
  }

  random(): number {
    return this.#random.next();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (!(ms <= MAX_TIMER_MS)) throw new RangeError(`no timer can wait ${ms} ms`);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        timer.fire = undefined;
        reject(signal?.reason);
      };
      const fire = () => {
        signal?.removeEventListener("abort", onAbort);
        resolve();
      };
      const at = this.#elapsedMs + Math.max(MIN_TIMER_MS, ms);
      const timer: Timer = { at, draw: this.#random.next(), fire };
      this.#timers.push(timer);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  /**
   * The outcome of work that waits for the system, such as the check of a signature. Such work is done piece
   * by piece, while all else rests and no time passes: so a run still depends only on its seed.
   */
  outside<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.#outside.push(() => work().then(resolve, reject));
    return promise;
  }

  /**
   * Fires timer after timer while `goesOn`; calls `afterEach` when everything that a timer started has come
   * to rest.
   */
  async run(goesOn: () => boolean, afterEach: () => Promise<void>): Promise<void> {
    await this.#rest();
    while (goesOn()) {
      if (!this.#fireNext(Number.POSITIVE_INFINITY))
        throw new Error("nothing is left that could ever happen");
      await this.#rest();
      await afterEach();
    }
  }

  /** Advances virtual time. */
  async advance(ms: number): Promise<void> {
    const end = this.#elapsedMs + ms;
    await this.until(() => false, ms);
    this.#elapsedMs = end;
  }

  /** Advances virtual time until the condition holds. Returns whether it did within the time. */
  async until(holds: () => boolean, withinMs: number): Promise<boolean> {
    if (this.#isPlaying) throw new Error("time passes already: nobody else can play it");
    this.#isPlaying = true;
    const end = this.#elapsedMs + withinMs;
    await this.#rest();
    while (!holds() && this.#fireNext(end)) await this.#rest();
    this.#isPlaying = false;
    return holds();
  }

  /** Resolves when nothing can continue without time, and no work outside is left. */
  async #rest(): Promise<void> {
    await rest();
    for (let work = this.#outside.shift(); work; work = this.#outside.shift()) {
      await work();
      await rest();
    }
  }

  /** Fires the next timer due by `until`. Returns whether there was one. */
  #fireNext(until: number): boolean {
    for (;;) {
      const next = this.#timers.top;
      if (!next || next.at > until) return false;
      this.#timers.pop();
      if (!next.fire) continue;
      this.#elapsedMs = Math.max(this.#elapsedMs, next.at);
      next.fire();
      return true;
    }
  }
}

/** The clock of a process that can be killed; its sleeps then never end. */
export class MortalClock implements Clock {
  readonly #scheduler: Scheduler;
  readonly #death = new AbortController();
  /** The error of its wall clock, in milliseconds. */
  aheadMs: number;
  /** How long its computer has slept: timers and the monotonic clock do not include this time. */
  sleptMs = 0;

  constructor(scheduler: Scheduler, aheadMs = 0) {
    this.#scheduler = scheduler;
    this.aheadMs = aheadMs;
  }

  /** Aborts when the process ends. */
  get death(): AbortSignal {
    return this.#death.signal;
  }

  get isDead(): boolean {
    return this.death.aborted;
  }

  die(): void {
    this.#death.abort("the process is dead");
  }

  now(): number {
    return this.#scheduler.now() + this.aheadMs + this.sleptMs;
  }

  monotonic(): number {
    return this.#scheduler.monotonic();
  }

  uptime(): number {
    return this.#scheduler.uptime() + this.sleptMs;
  }

  random(): number {
    return this.#scheduler.random();
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return this.untilDeath(this.#scheduler.sleep(ms, signal));
  }

  /** The promise's outcome while the process lives; after its death it never settles. */
  untilDeath<T>(promise: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      promise.then(
        (value) => {
          if (!this.isDead) resolve(value);
        },
        (error) => {
          if (!this.isDead) reject(error);
        },
      );
    });
  }
}

/** Resolves when no promise can continue without time, or the system. */
function rest(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** A heap with the next timer on top. */
class Heap {
  readonly #timers: Timer[] = [];

  get top(): Timer | undefined {
    return this.#timers[0];
  }

  get pending(): number {
    return this.#timers.filter(({ fire }) => fire !== undefined).length;
  }

  push(timer: Timer): void {
    const timers = this.#timers;
    let place = timers.length;
    timers.push(timer);
    while (place > 0) {
      const above = (place - 1) >> 1;
      const parent = timers[above];
      if (!parent || !isBefore(timer, parent)) break;
      timers[place] = parent;
      place = above;
    }
    timers[place] = timer;
  }

  pop(): Timer | undefined {
    const timers = this.#timers;
    const [top] = timers;
    const last = timers.pop();
    if (!last || last === top) return top;
    let place = 0;
    for (;;) {
      const [left, right] = [timers[2 * place + 1], timers[2 * place + 2]];
      const isRight = left !== undefined && right !== undefined && isBefore(right, left);
      const child = isRight ? right : left;
      if (!child || !isBefore(child, last)) break;
      timers[place] = child;
      place = 2 * place + (isRight ? 2 : 1);
    }
    timers[place] = last;
    return top;
  }
}

function isBefore(one: Timer, other: Timer): boolean {
  return one.at < other.at || (one.at === other.at && one.draw < other.draw);
}
