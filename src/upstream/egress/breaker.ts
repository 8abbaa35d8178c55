/**
 * Distinguishes the failure of an egress from the failure of one chat. If the last calls of several rooms
 * failed and none has been answered since, the upstream is down for this egress: the rooms whose call failed
 * wait, and these failures do not count against them. A room whose last call succeeded is not paused. From
 * time to time one of the waiting rooms makes a trial. The first answer of a working upstream, good or not,
 * resumes all of them. If there are other egresses and this one is unreachable, its calls in flight are
 * aborted, so that its rooms can leave it. Without rooms, one call that cannot connect is enough.
 *
 * If no room can make a trial, the breaker itself requests a small page: without rooms, while the egress is
 * lost (`isLost`), and while no egress reaches the upstream (`EgressPool.isCutOff`).
 */

import { after, type Clock } from "../../base/clock.ts";
import { unlessAborted } from "../../base/deadline.ts";
import { backoffMs, jitteredMs } from "../../base/retry.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import {
  isAnswer,
  isOutage,
  isUnanswered,
  isUnconnected,
  isUnreached,
  UpstreamError,
} from "../upstream-error.ts";
import type { Gate } from "./gate.ts";

/** This many rooms that fail together are not a coincidence. */
const MIN_FAILING_ROOMS = 3;
/** Time between trials, doubled each time. All rooms of a full gate must be read again within 35 s. */
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 10_000;
/** A trial that cannot connect costs the upstream nothing, and being late costs messages. */
const MAX_WAIT_UNCONNECTED_MS = 5000;
/** Arriving viewers cannot cause trials more often than this. */
const MIN_HURRY_MS = 1000;
/** If a room's trial has no result after this time, the next room makes one. */
const TRIAL_MS = 10_000;

interface WaitingRoom {
  /** Such a room can make no trial while pages are throttled. */
  needsPage: boolean;
  go(): void;
}

interface Outage {
  since: number;
  trials: number;
  /** Whether the last call got no answer at all. */
  isSilent: boolean;
  /** When the next trial is due, and when the last one began. */
  trialDueAt: number;
  trialBeganAt: number;
  isHurried: boolean;
  /** The one in progress, by a room or by the breaker itself. */
  trial: { room: string | undefined } | undefined;
}

/** What it needs of its egress; see `Egress`. */
interface TriedEgress {
  readonly name: string;
  readonly load: { roomCount: number };
  readonly gate: Pick<Gate, "cooldownLeftMs">;
  trial(signal: AbortSignal, maxCooldownMs: number): Promise<void>;
}

/** What it needs of all egresses, and says to them; see `EgressPool`. */
export interface Reach {
  readonly isSingle: boolean;
  readonly isCutOff: boolean;
  reached(): void;
  assumeReached(): void;
}

export class Breaker {
  readonly #egress: TriedEgress;
  readonly #pool: Reach;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** The rooms whose last call failed since the last answer. */
  readonly #failing = new Set<string>();
  /** The rooms that wait for a trial or an answer; the longest waiting first. */
  readonly #waiting = new Map<string, WaitingRoom>();
  #outage: Outage | undefined;
  #wake = new AbortController();
  #lost = new AbortController();
  readonly #closed = new AbortController();

  constructor(
    egress: TriedEgress,
    pool: Reach,
    { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
  ) {
    this.#egress = egress;
    this.#pool = pool;
    this.#clock = clock;
    this.#telemetry = telemetry;
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
    return !this.#pool.isSingle && !this.#outage ? this.#lost.signal : undefined;
  }

  /**
   * Resolves when the room may call: at once, at its turn of a trial, or at the end of the outage; also when
   * the room must leave the egress (`isLost`). Rejects with the signal's reason.
   */
  async mayCall(room: string, needsPage: boolean, signal: AbortSignal): Promise<void> {
    if (!this.#outage || !this.#failing.has(room)) return;
    signal.throwIfAborted();
    if (room === this.#outage.trial?.room) this.#endTrial(); // it has shown nothing about the egress
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
    if (isAnswer(error)) this.#pool.reached();
    if (!isOutage(error)) {
      this.leave(room);
      return false;
    }
    this.#failing.add(room);
    const isUnreachable = !this.#pool.isSingle && isUnreached(error);
    if (this.#outage) {
      if (isUnreachable) this.#abandon(error);
      if (room === this.#outage.trial?.room) this.#endTrial(error);
    } else {
      // No chat causes that a host is unreachable: then a few rooms are enough if there are no more.
      const rooms = isUnreachable ? this.#egress.load.roomCount : MIN_FAILING_ROOMS;
      if (this.#failing.size >= Math.min(MIN_FAILING_ROOMS, rooms)) this.#begin(error, isUnreachable);
    }
    return this.#outage !== undefined;
  }

  /**
   * A call for a chat that is not yet a room, or for a channel, got no connection. The egress is down if all
   * its rooms have failed, too, since the last answer.
   */
  unconnected(error: Error): void {
    if (this.#outage || this.#failing.size < this.#egress.load.roomCount) return;
    this.#begin(error, !this.#pool.isSingle);
  }

  /** No egress reaches the upstream: it makes trials until it is answered. */
  cutOff(): void {
    if (this.#outage) this.#advance();
    else this.#begin(new Error("no egress reaches YouTube"), false);
  }

  /** A working upstream answered a room, with success or not. */
  answered(): void {
    this.#pool.reached();
    this.#end();
  }

  /** The room's last failure says nothing about the egress, or the room is no longer read by it. */
  leave(room: string): void {
    this.#failing.delete(room);
    if (room === this.#outage?.trial?.room) this.#endTrial();
    else this.#advance(); // without rooms left, the breaker itself makes the trials
  }

  /** Somebody waits for a room now: a trial starts as soon as allowed, or soon after the one in progress. */
  hurry(): void {
    if (!this.#outage) return;
    this.#outage.isHurried = true;
    this.#outage.trialDueAt = Math.min(this.#outage.trialDueAt, this.#outage.trialBeganAt + MIN_HURRY_MS);
    this.#advance();
  }

  /** Starts no more trials. */
  close(): void {
    this.#closed.abort();
    this.#wake.abort();
  }

  #begin(error: Error, isUnreachable: boolean): void {
    const now = this.#clock.monotonic();
    const times = { since: now, trialDueAt: now, trialBeganAt: now };
    this.#outage = { ...times, trials: 0, isSilent: false, isHurried: false, trial: undefined };
    this.#telemetry.upstream.egressDown(this.#egress.name, this.#failing.size, error.message);
    if (isUnreachable) this.#abandon(error);
    this.#endTrial(error);
  }

  #end(): void {
    this.#failing.clear();
    if (!this.#outage) return;
    this.#telemetry.upstream.egressUp(this.#egress.name, this.#clock.monotonic() - this.#outage.since);
    this.#outage = undefined;
    this.#lost = new AbortController();
    this.#wake.abort();
    for (const { go } of this.#waiting.values()) go();
  }

  /** Aborts the calls in flight, and lets all waiting rooms look for another egress. */
  #abandon(error: Error): void {
    if (this.#lost.signal.aborted) return;
    const options = { unreachable: "no connection", cause: error } as const;
    this.#lost.abort(new UpstreamError("unusable", error.message, options));
    for (const { go } of this.#waiting.values()) go();
  }

  /**
   * Doubles the wait before the next trial. The wait counts from the beginning of the last one. If the
   * upstream answers again, the waits start from 1 s again: its error may be only that room's.
   */
  #endTrial(error?: unknown): void {
    const outage = this.#outage;
    if (!outage) return;
    outage.trial = undefined;
    if (error) {
      const isSilent = isUnanswered(error);
      if (outage.isSilent && !isSilent) outage.trials = 0;
      outage.isSilent = isSilent;
    }
    const maxMs = isUnconnected(error) ? MAX_WAIT_UNCONNECTED_MS : MAX_WAIT_MS;
    const waitMs = jitteredMs(backoffMs({ firstMs: FIRST_WAIT_MS, maxMs }, outage.trials++), this.#clock);
    outage.trialDueAt = outage.trialBeganAt + (outage.isHurried ? Math.min(MIN_HURRY_MS, waitMs) : waitMs);
    outage.isHurried = false;
    this.#advance();
  }

  /** Starts the next trial if it is time, else wakes up when it is. */
  #advance(): void {
    const outage = this.#outage;
    if (!outage || this.#closed.signal.aborted) return;
    const now = this.#clock.monotonic();
    const at = outage.trial ? outage.trialBeganAt + TRIAL_MS : outage.trialDueAt;
    if (at > now) this.#wakeAfter(at - now);
    else if (outage.trial) this.#endTrial();
    else this.#beginTrial(outage, now);
  }

  #beginTrial(outage: Outage, now: number): void {
    const mayLoadPage = this.#egress.gate.cooldownLeftMs(true) === 0;
    const isFit = ([, { needsPage }]: [string, WaitingRoom]) => !needsPage || mayLoadPage;
    const [room, waiting] = this.#waiting.entries().find(isFit) ?? [];
    if (!waiting && !this.isLost && !this.#pool.isCutOff && this.#egress.load.roomCount > 0) {
      if (this.#waiting.size > 0) this.#wakeAfter(MIN_HURRY_MS); // until one of them is fit
      return;
    }
    const trial = { room };
    outage.trial = trial;
    outage.trialBeganAt = now;
    outage.isHurried = false;
    this.#wakeAfter(TRIAL_MS);
    if (waiting) waiting.go();
    else void this.#ownTrial(trial);
  }

  #wakeAfter(ms: number): void {
    this.#wake.abort();
    this.#wake = new AbortController();
    after(this.#clock, ms, this.#wake.signal, () => this.#advance());
  }

  /**
   * Loads a small page, and ends the outage if that is answered. If pages alone are throttled, which can last
   * for hours, no page can show that the upstream answers. Then it ends the outage all the same, and the
   * calls of the rooms show it. Test: "an instance takes rooms again after an outage even while its page
   * loads are throttled for long".
   */
  async #ownTrial(trial: object): Promise<void> {
    const { signal } = this.#closed;
    const failure: unknown = await this.#egress.trial(signal, MAX_WAIT_MS).catch((error) => error);
    if (signal.aborted) return;
    if (failure === undefined || isAnswer(failure)) this.answered();
    else if (
      this.#egress.gate.cooldownLeftMs(true) > MAX_WAIT_MS &&
      this.#egress.gate.cooldownLeftMs() === 0
    ) {
      this.#pool.assumeReached();
      this.#end();
    } else if (this.#outage?.trial === trial) this.#endTrial(failure);
  }
}
