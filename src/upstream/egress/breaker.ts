/**
 * Distinguishes the failure of an egress from the failure of one chat. If the last calls of several rooms
 * failed and none has been answered since, the upstream is down for this egress: the rooms whose call failed
 * wait, and these failures do not count against them. A room whose last call succeeded is not paused. From
 * time to time one of the waiting rooms tries. The first answer of a working upstream, good or not, resumes
 * all of them. If there are other egresses and this one is unreachable, its calls in flight are aborted, so
 * that its rooms can leave it. Without rooms, one call that cannot connect is enough, and the breaker makes
 * the tries itself.
 */
import { after, type Clock } from "../../base/clock.ts";
import { unlessAborted } from "../../base/deadline.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isOutage, isUnanswered, isUnconnected, isUnreached, UpstreamError } from "../upstream-error.ts";

/** This many rooms that fail together are not a coincidence. */
const MIN_FAILING_ROOMS = 3;
/** Time between tries, doubled each time. All rooms of a full gate must be read again within 35 s. */
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 10_000;
/** A try that cannot connect costs the upstream nothing, and being late costs messages. */
const MAX_WAIT_UNCONNECTED_MS = 5000;
/** Arriving viewers cannot make it try more often than this. */
const MIN_HURRY_MS = 1000;
/** If a room's try has no result after this time, the next room may try. */
const TRY_MS = 10_000;

interface WaitingRoom {
  /** Such a room cannot use a try while pages are throttled. */
  needsPage: boolean;
  go(): void;
}

interface Outage {
  since: number;
  tries: number;
  /** Whether the last call got no answer at all. */
  isSilent: boolean;
  /** When the next room may try, and when the last try began. */
  tryAt: number;
  triedAt: number;
  isHurried: boolean;
}

interface BreakerParts {
  /** The egress's name, for metrics and log. */
  name: string;
  clock: Clock;
  telemetry: Telemetry;
  /** Whether there is no other egress. */
  isSingle: boolean;
  /** The number of rooms of this egress. */
  roomCount(): number;
  /** Whether a page may be loaded now. */
  mayLoadPage(): boolean;
  /** Calls the upstream just to see whether it answers, until the breaker is closed. */
  tryItself(closed: AbortSignal): Promise<unknown>;
}

export class Breaker {
  readonly #parts: BreakerParts;
  /** The rooms whose last call failed since the last answer. */
  readonly #failing = new Set<string>();
  /** The rooms that wait for a try or an answer; the longest waiting first. */
  readonly #waiting = new Map<string, WaitingRoom>();
  #outage: Outage | undefined;
  /** The try in progress, with its end; undefined if there is none. */
  #trial: { room: string | undefined; over: AbortController } | undefined;
  #wake = new AbortController();
  #lost = new AbortController();
  readonly #closed = new AbortController();

  constructor(parts: BreakerParts) {
    this.#parts = parts;
  }

  get isUp(): boolean {
    return this.#outage === undefined;
  }

  /** Whether there are other egresses and this one is unreachable: its rooms must leave it. */
  get isLost(): boolean {
    return this.#outage !== undefined && this.#lost.signal.aborted;
  }

  /** Aborts a call in flight when the egress becomes unreachable, with `UpstreamError` "unusable". */
  get lost(): AbortSignal | undefined {
    return !this.#parts.isSingle && !this.#outage ? this.#lost.signal : undefined;
  }

  /**
   * Resolves when the room may call: at once, or when its turn to try comes, or at an answer to another
   * room. Rejects with the signal's reason.
   */
  async mayCall(room: string, needsPage: boolean, signal: AbortSignal): Promise<void> {
    if (!this.#outage || !this.#failing.has(room)) return;
    signal.throwIfAborted();
    if (room === this.#trial?.room) this.#endTrial(); // its try has shown nothing about the egress
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.set(room, { needsPage, go: resolve });
    this.#advance();
    try {
      await unlessAborted(promise, signal);
    } finally {
      this.#waiting.delete(room);
    }
  }

  /**
   * A call of the room failed, other than by throttling. Returns whether this is the egress's failure, and
   * not the room's.
   */
  failed(room: string, error: Error): boolean {
    if (!isOutage(error)) {
      this.leave(room);
      return false;
    }
    this.#failing.add(room);
    const isUnreachable = !this.#parts.isSingle && isUnreached(error);
    if (!this.#outage && this.#failing.size >= this.#minFailing(isUnreachable))
      this.#begin(error, isUnreachable);
    else if (this.#outage) {
      if (isUnreachable) this.#abandon(error);
      if (room === this.#trial?.room) this.#endTrial(error);
    }
    return this.#outage !== undefined;
  }

  /**
   * A call for a chat that is not yet a room, or for a channel, got no connection. The egress is down if all
   * its rooms have failed, too, since the last answer.
   */
  unconnected(error: Error): void {
    const { isSingle, roomCount } = this.#parts;
    if (!this.#outage && this.#failing.size >= roomCount()) this.#begin(error, !isSingle);
  }

  /** A working upstream answered a room, with success or not. */
  answered(): void {
    this.#failing.clear();
    if (!this.#outage) return;
    const { name, clock, telemetry } = this.#parts;
    telemetry.upstream.egressUp(name, clock.monotonic() - this.#outage.since);
    this.#outage = undefined;
    this.#lost = new AbortController();
    this.#trial?.over.abort();
    this.#trial = undefined;
    this.#wake.abort();
    for (const { go } of this.#waiting.values()) go();
  }

  /** The room's last failure says nothing about the egress, or the room is no longer read by it. */
  leave(room: string): void {
    this.#failing.delete(room);
    if (room === this.#trial?.room) this.#endTrial();
    else this.#advance(); // without rooms left, the breaker tries by itself
  }

  /** Somebody waits for a room now: a try starts as soon as allowed, or soon after the one in progress. */
  hurry(): void {
    if (!this.#outage) return;
    this.#outage.isHurried = true;
    this.#outage.tryAt = Math.min(this.#outage.tryAt, this.#outage.triedAt + MIN_HURRY_MS);
    this.#advance();
  }

  /** Starts no more tries. */
  close(): void {
    this.#closed.abort();
    this.#wake.abort();
  }

  /** How many rooms must fail; no more than there are if a host is unreachable, which no chat causes. */
  #minFailing(isUnreachable: boolean): number {
    return isUnreachable ? Math.min(MIN_FAILING_ROOMS, this.#parts.roomCount()) : MIN_FAILING_ROOMS;
  }

  #begin(error: Error, isUnreachable: boolean): void {
    const { name, clock, telemetry } = this.#parts;
    const now = clock.monotonic();
    this.#outage = { since: now, tries: 0, isSilent: false, tryAt: now, triedAt: now, isHurried: false };
    telemetry.upstream.egressDown(name, this.#failing.size, error.message);
    if (isUnreachable) this.#abandon(error);
    this.#endTrial(error);
  }

  /** Aborts the calls in flight, and lets all waiting rooms look for another egress. */
  #abandon(error: Error): void {
    if (this.#lost.signal.aborted) return;
    const options = { unreachable: "no connection", cause: error } as const;
    this.#lost.abort(new UpstreamError("unusable", error.message, options));
    for (const { go } of this.#waiting.values()) go();
  }

  /**
   * Doubles the wait before the next try. The wait counts from the beginning of the last try. If the upstream
   * answers again, the waits start from 1 s again: its error may be only that room's.
   */
  #endTrial(error?: Error): void {
    this.#trial?.over.abort();
    this.#trial = undefined;
    if (!this.#outage) return;
    const { clock } = this.#parts;
    if (error) {
      const isSilent = isUnanswered(error);
      if (this.#outage.isSilent && !isSilent) this.#outage.tries = 0;
      this.#outage.isSilent = isSilent;
    }
    const maxMs = isUnconnected(error) ? MAX_WAIT_UNCONNECTED_MS : MAX_WAIT_MS;
    const waitMs = Math.min(maxMs, FIRST_WAIT_MS * 2 ** this.#outage.tries) * (0.5 + clock.random() / 2);
    this.#outage.tries += 1;
    this.#outage.tryAt =
      this.#outage.triedAt + (this.#outage.isHurried ? Math.min(MIN_HURRY_MS, waitMs) : waitMs);
    this.#outage.isHurried = false;
    this.#advance();
  }

  /** Starts the next try if it is time, else wakes up when it is. */
  #advance(): void {
    if (!this.#outage || this.#trial || this.#closed.signal.aborted) return;
    const { clock, roomCount, mayLoadPage } = this.#parts;
    this.#wake.abort();
    const now = clock.monotonic();
    if (this.#outage.tryAt > now) {
      this.#wakeAfter(this.#outage.tryAt - now);
      return;
    }
    const canTry = ([, { needsPage }]: [string, WaitingRoom]) => !needsPage || mayLoadPage();
    const [room, waiting] = this.#waiting.entries().find(canTry) ?? [];
    if (!waiting && !this.isLost && roomCount() > 0) {
      if (this.#waiting.size > 0) this.#wakeAfter(MIN_HURRY_MS); // until one of them can try
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
    const failure: unknown = await this.#parts.tryItself(this.#closed.signal).then(
      () => undefined,
      (error) => error,
    );
    if (this.#closed.signal.aborted) return;
    if (!(failure instanceof Error && isUnreached(failure))) this.answered();
    else if (!over.aborted) this.#endTrial(failure);
  }
}
