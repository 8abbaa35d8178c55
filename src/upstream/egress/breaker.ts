/**
 * Tells trouble of one address from trouble of one chat. Where the last calls of several rooms failed and none has
 * succeeded since, the address is down: its rooms stop polling and none of their failures counts. One of them tries
 * now and then; the first success lets all go on. Where there are other addresses and this one cannot be reached any
 * more, its calls under way are given up, so that its rooms can leave it; with no room left it tries by itself.
 */
import type { Clock } from "../../clock.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isUnconnected, isUnreached, UpstreamError } from "../errors.ts";

/** So many rooms that fail together are no coincidence. */
const MIN_FAILING_ROOMS = 3;
const FIRST_WAIT_MS = 1000;
const MAX_WAIT_MS = 30_000;
/** Where there is no connection, a try costs the upstream nothing, and being late costs messages. */
const MAX_WAIT_UNCONNECTED_MS = 5000;
/** Viewers that come do not make it try more often. */
const MIN_HURRY_MS = 1000;
/** Who tries where no room does; no room's name. */
const ITSELF = "";

export class Breaker {
  readonly #name: string;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** The rooms whose last call failed since any room's last succeeded. */
  readonly #failing = new Set<string>();
  /** What lets a room call that waits, by room; whoever waits longest stands first. */
  readonly #waiting = new Map<string, () => void>();
  #down: { since: number; tries: number; tryAt: number; triedAt: number; isHurried: boolean } | undefined;
  /** The room that tries just now. */
  #trying: string | undefined;
  #wake = new AbortController();
  readonly #roomCount: (() => number) | undefined;
  #reached = new AbortController();
  /** Calls the upstream for the sake of the answer; to be set where there are other addresses. */
  tryItself: (() => Promise<unknown>) | undefined;

  /**
   * `name`: that of the address's egress, which metrics and log carry. `roomCount`: how many rooms it has, where these
   * may leave for other addresses.
   */
  constructor(name: string, clock: Clock, telemetry: Telemetry, roomCount?: () => number) {
    this.#name = name;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#roomCount = roomCount;
    telemetry.sources.egressUp.set(name, () => this.isUp);
  }

  get isUp(): boolean {
    return this.#down === undefined;
  }

  /** Whether there are other addresses and this one cannot be reached any more: its rooms shall leave it. */
  get isLost(): boolean {
    return this.#down !== undefined && this.#reached.signal.aborted;
  }

  /** Gives up a call that is under way when the address is lost, with `UpstreamError` "unusable". */
  get reached(): AbortSignal | undefined {
    return this.#roomCount && !this.#down ? this.#reached.signal : undefined;
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
    const mayLeave = this.#roomCount !== undefined && isUnreached(error);
    // That nothing is reached is no one chat's trouble; rooms that have left for it are among those that fail.
    const enough = mayLeave ? Math.min(MIN_FAILING_ROOMS, this.#roomCount()) : MIN_FAILING_ROOMS;
    if (this.#failing.size < enough) return false;
    const now = this.#clock.monotonic();
    this.#down = { since: now, tries: 0, tryAt: now, triedAt: now, isHurried: false };
    this.#telemetry.egressDown(this.#name, this.#failing.size, error.message);
    if (mayLeave) {
      const options = { unreachable: "no connection", cause: error } as const;
      this.#reached.abort(new UpstreamError("unusable", error.message, options));
    }
    this.#tryAgain(error);
    return true;
  }

  /** A room read something good. */
  succeeded(): void {
    this.#failing.clear();
    if (!this.#down) return;
    this.#telemetry.egressUp(this.#name, this.#clock.monotonic() - this.#down.since);
    this.#down = undefined;
    this.#reached = new AbortController();
    this.#trying = undefined;
    this.#wake.abort();
    for (const go of this.#waiting.values()) go();
  }

  /** The room is not read any more. */
  leave(room: string): void {
    this.#failing.delete(room);
    if (room === this.#trying) this.#tryAgain();
  }

  /** Somebody waits for a room right now: one tries as soon as it may, once more where one is trying already. */
  hurry(): void {
    if (!this.#down) return;
    this.#down.isHurried = true;
    this.#down.tryAt = Math.min(this.#down.tryAt, this.#down.triedAt + MIN_HURRY_MS);
    this.#advance();
  }

  /** Tries no more. */
  close(): void {
    this.tryItself = undefined;
    this.#wake.abort();
  }

  /** The next try comes after twice the wait. */
  #tryAgain(error?: Error): void {
    this.#trying = undefined;
    if (!this.#down) return;
    const now = this.#clock.monotonic();
    const maxMs = isUnconnected(error) ? MAX_WAIT_UNCONNECTED_MS : MAX_WAIT_MS;
    const waitMs = Math.min(maxMs, FIRST_WAIT_MS * 2 ** this.#down.tries) * (0.5 + this.#clock.random() / 2);
    this.#down.tries += 1;
    this.#down.triedAt = now;
    this.#down.tryAt = now + (this.#down.isHurried ? Math.min(MIN_HURRY_MS, waitMs) : waitMs);
    this.#down.isHurried = false;
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
    if (room === undefined && !(this.tryItself && this.isLost)) return;
    this.#trying = room ?? ITSELF;
    this.#down.isHurried = false;
    if (go) go();
    else void this.#tryItself();
  }

  async #tryItself(): Promise<void> {
    const failure: unknown = await this.tryItself?.().then(
      () => undefined,
      (error) => error,
    );
    if (!this.tryItself || this.#trying !== ITSELF) return;
    if (failure instanceof Error && isUnreached(failure)) this.#tryAgain(failure);
    else this.succeeded(); // whatever the answer was, there was one
  }
}
