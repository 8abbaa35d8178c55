/**
 * Asks the origin regularly whether it is alive, even while nobody watches, and lets `Origin` end or repeat
 * the requests for streams, and of clients, that have no answer yet.
 */
import { type Clock, pause } from "../base/clock.ts";
import { isUnavailable } from "../store/store-error.ts";
import type { OriginEvents } from "../telemetry/origin-events.ts";
import type { Origin } from "./origin.ts";

const ASK_MS = 5000;
/** The wait after a question without an answer: a single one must not make a good origin count as away. */
const ASK_AGAIN_MS = 500;
/** The wait between two questions while the origin counts as away, so that its return is noticed soon. */
const AWAY_ASK_MS = 1500;
/** How long the origin may be away before this instance should get no new viewers. */
const AWAY_MS = 10_000;

export class OriginHealth {
  readonly #origin: Origin;
  readonly #clock: Clock;
  readonly #events: OriginEvents;
  /** When it last answered, on the monotonic clock. */
  #aliveAt = Number.NEGATIVE_INFINITY;
  #didFail = false;

  constructor(origin: Origin, clock: Clock, events: OriginEvents) {
    this.#origin = origin;
    this.#clock = clock;
    this.#events = events;
    events.watch({ isGood: () => this.isGood, openStreams: () => origin.openStreams });
  }

  /** Whether it has answered in the last ten seconds. */
  get isGood(): boolean {
    return this.#clock.monotonic() < this.#aliveAt + AWAY_MS;
  }

  /** Asks once. Rejects, with one line that says what to do, if something else answers. */
  async ask(signal?: AbortSignal): Promise<void> {
    try {
      if (!(await this.#origin.isRelay(signal, this.#didFail)))
        throw new Error(`--origin: ${this.#origin.url} answers, but is not a livechat-relay: check the URL`);
      this.#aliveAt = this.#clock.monotonic();
      if (this.#didFail) this.#origin.askAgain();
      this.#didFail = false;
      this.#events.originAnswered();
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#didFail = true;
      this.#events.originAway(error.message);
      if (!this.isGood) this.#origin.giveUp(error);
    }
  }

  /** Asks every five seconds, and sooner while the origin gives no answer, until the signal aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    for (let waitMs = ASK_MS; !signal.aborted; ) {
      await pause(this.#clock, waitMs, signal);
      if (signal.aborted) return;
      const askedAt = this.#clock.monotonic();
      await this.ask(signal).catch((error: Error) => this.#events.originAway(error.message));
      const isAnswered = this.#aliveAt >= askedAt;
      waitMs = isAnswered ? ASK_MS : this.isGood ? ASK_AGAIN_MS : AWAY_ASK_MS;
    }
  }
}
