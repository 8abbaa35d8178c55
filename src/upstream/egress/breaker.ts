/**
 * Tells trouble of one address from trouble of one chat. Where the last calls of several rooms failed and none has
 * succeeded since, the address is down: its rooms stop polling and none of their failures counts. One of them tries
 * now and then; the first success lets all go on.
 */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isUnconnected } from "../errors.ts";

/** So many rooms that fail together are no coincidence. */
const MIN_FAILING_ROOMS = 3;
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;
/** Where there is no connection, a try costs the upstream nothing, and being late costs messages. */
const MAX_WAIT_UNCONNECTED_MS = 5000;
/** Viewers that come do not make it try more often. */
const MIN_HURRY_MS = 1000;

export class Breaker {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** The rooms whose last call failed since any room's last succeeded. */
  readonly #failing = new Set<string>();
  /** What lets a room call that waits, by room; whoever waits longest stands first. */
  readonly #waiting = new Map<string, () => void>();
  #down: { since: number; tries: number; tryAt: number; triedAt: number } | undefined;
  /** The room that tries just now. */
  #trying: string | undefined;
  #wake = new AbortController();

  /** `name`: that of the address's egress, which metrics and log carry. */
  constructor(name: string, clock: Clock, telemetry: Telemetry) {
    this.#name = name;
    this.#clock = clock;
    this.#telemetry = telemetry;
    telemetry.sources.egressUp.set(name, () => this.isUp);
  }

  get isUp(): boolean {
    return this.#down === undefined;
  }

  /** Resolves when the room may call: at once, or when it is its turn to try. Rejects with the signal's reason. */
  async mayCall(room: string, signal: AbortSignal): Promise<void> {
    if (!this.#down) return;
    signal.throwIfAborted();
    if (room === this.#trying) this.#tryAgain(); // it learned nothing about the address
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    this.#waiting.set(room, resolve);
    this.#advance();
    try {
      await promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#waiting.delete(room);
    }
  }

  /** A call of the room failed, throttling aside. Whether that is the address's failure, and not the room's. */
  failed(room: string, error: Error): boolean {
    this.#failing.add(room);
    if (this.#down) {
      if (room === this.#trying) this.#tryAgain(error);
      return true;
    }
    if (this.#failing.size < MIN_FAILING_ROOMS) return false;
    const now = this.#clock.monotonic();
    this.#down = { since: now, tries: 0, tryAt: now, triedAt: now };
    this.#telemetry.egressDown(this.#name, this.#failing.size, error.message);
    this.#tryAgain(error);
    return true;
  }

  /** A room read something good. */
  succeeded(): void {
    this.#failing.clear();
    if (!this.#down) return;
    this.#telemetry.egressUp(this.#name, this.#clock.monotonic() - this.#down.since);
    this.#down = undefined;
    this.#trying = undefined;
    this.#wake.abort();
    for (const go of this.#waiting.values()) go();
  }

  /** The room is not read any more. */
  leave(room: string): void {
    this.#failing.delete(room);
    if (room === this.#trying) this.#tryAgain();
  }

  /** Somebody waits for a room right now: one tries at once. */
  hurry(): void {
    if (!this.#down || this.#trying !== undefined) return;
    const now = this.#clock.monotonic();
    if (now - this.#down.triedAt < MIN_HURRY_MS) return;
    this.#down.tryAt = now;
    this.#advance();
  }

  /** The next try comes after twice the wait. */
  #tryAgain(error?: Error): void {
    this.#trying = undefined;
    if (!this.#down) return;
    const now = this.#clock.monotonic();
    const maxMs = isUnconnected(error) ? MAX_WAIT_UNCONNECTED_MS : MAX_WAIT_MS;
    const waitMs = Math.min(maxMs, FIRST_WAIT_MS * 2 ** this.#down.tries);
    this.#down.tries += 1;
    this.#down.triedAt = now;
    this.#down.tryAt = now + waitMs * (0.5 + this.#clock.random() / 2);
    this.#advance();
  }

  /** Lets the next room try if it is time, else wakes when it is. */
  #advance(): void {
    if (!this.#down || this.#trying !== undefined) return;
    this.#wake.abort();
    const leftMs = this.#down.tryAt - this.#clock.monotonic();
    if (leftMs > 0) {
      this.#wake = new AbortController();
      this.#clock.sleep(leftMs, this.#wake.signal).then(
        () => this.#advance(),
        () => {},
      );
      return;
    }
    const [room, go] = this.#waiting.entries().next().value ?? [];
    if (room === undefined) return;
    this.#trying = room;
    go?.();
  }
}
