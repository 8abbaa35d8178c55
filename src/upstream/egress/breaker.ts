/**
 * Tells trouble of one address from trouble of one chat. Where the last calls of several rooms failed and nothing has
 * been answered since, the upstream is down for this address: the rooms whose call failed wait, and none of it counts
 * against them. A room whose last call succeeded is not paused. One of those that wait tries now and then; the first
 * sign of life, any answer that an upstream in order gives, lets all go on. Where there are other addresses and this one
 * cannot be reached any more, its calls under way are given up, so that its rooms can leave it; with no room left it
 * tries by itself.
 */
import { after, type Clock } from "../../clock.ts";
import { unlessAborted } from "../../deadline.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isUnconnected, isUnreached, UpstreamError } from "../errors.ts";

/** So many rooms that fail together are no coincidence. */
const MIN_FAILING_ROOMS = 3;
/** From one try to the next: twice as long each time. All rooms of a full gate must be read again within 35 s. */
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 10_000;
/** Where there is no connection, a try costs the upstream nothing, and being late costs messages. */
const MAX_WAIT_UNCONNECTED_MS = 5000;
/** Viewers that come do not make it try more often. */
const MIN_HURRY_MS = 1000;
/** A room that has learned nothing by then hands its try on. */
const TRY_MS = 10_000;

interface Waiting {
  /** Whether it can use a try: not where it needs a page while pages are throttled. */
  canTry: () => boolean;
  go(): void;
}

interface Outage {
  since: number;
  tries: number;
  /** When the next room may try, and when the last try began. */
  tryAt: number;
  triedAt: number;
  isHurried: boolean;
}

interface BreakerParts {
  /** That of the egress, which metrics and log carry. */
  name: string;
  clock: Clock;
  telemetry: Telemetry;
  /** Where there are other addresses: how many rooms this one has. */
  roomCount: (() => number) | undefined;
  /** Where there are other addresses: calls the upstream for the sake of the answer. */
  tryItself: (() => Promise<unknown>) | undefined;
}

export class Breaker {
  readonly #parts: BreakerParts;
  /** The rooms whose last call failed since the last sign of life. */
  readonly #failing = new Set<string>();
  /** Those that wait for a try or a sign of life; the one that has waited longest stands first. */
  readonly #waiting = new Map<string, Waiting>();
  #outage: Outage | undefined;
  /** Ends the try that is under way; undefined where none is. */
  #trial: { room: string | undefined; over: AbortController } | undefined;
  #wake = new AbortController();
  #reached = new AbortController();
  readonly #closed = new AbortController();

  constructor(parts: BreakerParts) {
    this.#parts = parts;
  }

  get isUp(): boolean {
    return this.#outage === undefined;
  }

  /** Whether there are other addresses and this one cannot be reached any more: its rooms shall leave it. */
  get isLost(): boolean {
    return this.#outage !== undefined && this.#reached.signal.aborted;
  }

  /** Gives up a call that is under way when the address is lost, with `UpstreamError` "unusable". */
  get reached(): AbortSignal | undefined {
    return this.#parts.roomCount && !this.#outage ? this.#reached.signal : undefined;
  }

  /**
   * Resolves when the room may call: at once, or when it is its turn to try, or at a sign of life. `canTry`: whether it
   * could use a try just now. Rejects with the signal's reason.
   */
  async mayCall(room: string, canTry: () => boolean, signal: AbortSignal): Promise<void> {
    if (!this.#outage || !this.#failing.has(room)) return;
    signal.throwIfAborted();
    if (room === this.#trial?.room) this.#endTrial(); // it learned nothing about the address
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(room, { canTry, go: resolve });
    this.#advance();
    try {
      await unlessAborted(promise, signal);
    } finally {
      this.#waiting.delete(room);
    }
  }

  /** A call of the room got no answer, or one of an upstream that fails. Whether that is the address's failure, and not the room's. */
  failed(room: string, error: Error): boolean {
    this.#failing.add(room);
    const isUnreachable = this.#parts.roomCount !== undefined && isUnreached(error);
    if (!this.#outage && this.#failing.size >= this.#minFailing(isUnreachable))
      this.#begin(error, isUnreachable);
    else if (this.#outage) {
      if (isUnreachable) this.#lose(error);
      if (room === this.#trial?.room) this.#endTrial(error);
    }
    return this.#outage !== undefined;
  }

  /** The upstream answered a room, or whoever asked. */
  answered(): void {
    this.#failing.clear();
    if (!this.#outage) return;
    const { name, clock, telemetry } = this.#parts;
    telemetry.egressUp(name, clock.monotonic() - this.#outage.since);
    this.#outage = undefined;
    this.#reached = new AbortController();
    this.#trial?.over.abort();
    this.#trial = undefined;
    this.#wake.abort();
    for (const { go } of this.#waiting.values()) go();
  }

  /** The room's trouble is its own, or the room is not read any more. */
  leave(room: string): void {
    this.#failing.delete(room);
    if (room === this.#trial?.room) this.#endTrial();
    else this.#advance(); // with no room left it tries by itself
  }

  /** Somebody waits for a room right now: one tries as soon as it may, once more where one is trying already. */
  hurry(): void {
    if (!this.#outage) return;
    this.#outage.isHurried = true;
    this.#outage.tryAt = Math.min(this.#outage.tryAt, this.#outage.triedAt + MIN_HURRY_MS);
    this.#advance();
  }

  /** Tries no more. */
  close(): void {
    this.#closed.abort();
    this.#wake.abort();
  }

  /** An unreachable host is never one chat's fault: all of the address's rooms are enough, where they are fewer. */
  #minFailing(isUnreachable: boolean): number {
    const { roomCount } = this.#parts;
    return isUnreachable && roomCount ? Math.min(MIN_FAILING_ROOMS, roomCount()) : MIN_FAILING_ROOMS;
  }

  #begin(error: Error, isUnreachable: boolean): void {
    const { name, clock, telemetry } = this.#parts;
    const now = clock.monotonic();
    this.#outage = { since: now, tries: 0, tryAt: now, triedAt: now, isHurried: false };
    telemetry.egressDown(name, this.#failing.size, error.message);
    if (isUnreachable) this.#lose(error);
    this.#endTrial(error);
  }

  /** Gives up the calls under way, and lets all that wait look for another address. */
  #lose(error: Error): void {
    if (this.#reached.signal.aborted) return;
    const options = { unreachable: "no connection", cause: error } as const;
    this.#reached.abort(new UpstreamError("unusable", error.message, options));
    for (const { go } of this.#waiting.values()) go();
  }

  /** The next try begins after twice the wait, counted from the beginning of the last. */
  #endTrial(error?: Error): void {
    this.#trial?.over.abort();
    this.#trial = undefined;
    if (!this.#outage) return;
    const { clock } = this.#parts;
    const maxMs = isUnconnected(error) ? MAX_WAIT_UNCONNECTED_MS : MAX_WAIT_MS;
    const waitMs = Math.min(maxMs, FIRST_WAIT_MS * 2 ** this.#outage.tries) * (0.5 + clock.random() / 2);
    this.#outage.tries += 1;
    this.#outage.tryAt =
      this.#outage.triedAt + (this.#outage.isHurried ? Math.min(MIN_HURRY_MS, waitMs) : waitMs);
    this.#outage.isHurried = false;
    this.#advance();
  }

  /** Lets the next room try if it is time, else wakes when it is. */
  #advance(): void {
    if (!this.#outage || this.#trial || this.#closed.signal.aborted) return;
    const { clock, tryItself, roomCount } = this.#parts;
    this.#wake.abort();
    const now = clock.monotonic();
    if (this.#outage.tryAt > now) {
      this.#wakeAfter(this.#outage.tryAt - now);
      return;
    }
    const [room, waiting] = this.#waiting.entries().find(([, { canTry }]) => canTry()) ?? [];
    if (!waiting && !(tryItself && (this.isLost || roomCount?.() === 0))) {
      if (this.#waiting.size > 0) this.#wakeAfter(MIN_HURRY_MS); // until then one of them may be able to
      return;
    }
    const over = new AbortController();
    this.#trial = { room, over };
    this.#outage.triedAt = now;
    this.#outage.isHurried = false;
    if (waiting) waiting.go();
    else void this.#tryItself(over.signal);
    after(clock, TRY_MS, over.signal, () => this.#endTrial());
  }

  #wakeAfter(ms: number): void {
    this.#wake = new AbortController();
    after(this.#parts.clock, ms, this.#wake.signal, () => this.#advance());
  }

  async #tryItself(over: AbortSignal): Promise<void> {
    const failure: unknown = await this.#parts.tryItself?.().then(
      () => undefined,
      (error) => error,
    );
    if (this.#closed.signal.aborted) return;
    if (!(failure instanceof Error && isUnreached(failure))) this.answered();
    else if (!over.aborted) this.#endTrial(failure);
  }
}
