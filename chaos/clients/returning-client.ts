/**
 * A viewer over all its connections, whatever they are made with: one line after the other, each dialled with the
 * last id seen, after a wait of its own choice, a refusal's, or the absence that it was told to keep. Its line makes
 * the connections; a line may come back by itself, as an EventSource does, until it is over.
 */
import type { Random } from "../../src/simulator/random.ts";
import type { Client, Wish, Witness } from "../client.ts";
import { Reading } from "./reading.ts";

const LEAST_WAIT_MS = 50;
const MOST_WAIT_MS = 1500;
/** Nobody stays away for longer because of a refusal. */
const MOST_REFUSED_MS = 2000;

/** What who trickles takes at a time. A prime, so that sips and frames, or characters, seldom end together. */
export const SIP_BYTES = 47;
export const SIP_MS = 10;

/** What makes a client's connections. */
export interface Line {
  stall(ms: number): void;
  trickle(ms: number): void;
  /** Ends it for good: `over` is called, at once or later. May be called again. */
  cut(): void;
}

/** What a line is given to call with. */
export interface Call {
  url: URL;
  /** What the next connection resumes from. */
  lastEventId(): number | undefined;
  /** To be called for each connection, with what its request carries. */
  begin(lastEventId: number | undefined): Reading;
  /** To be called once, when the line has no connection and will have none. */
  over(): void;
}

export type Dial = (call: Call) => Line;

export class ReturningClient implements Client {
  readonly kind: Client["kind"];
  readonly #dial: Dial;
  readonly #url: URL;
  readonly #wish: Wish;
  readonly #witness: Witness;
  readonly #random: Random;
  #line: Line | undefined;
  #reading: Reading | undefined;
  #wait: NodeJS.Timeout | undefined;
  /** How long to stay away once the line is over; undefined where the client itself chooses. */
  #awayMs: number | undefined;
  /** It is away because it was told to be. */
  #isAway = false;
  #left: PromiseWithResolvers<void> | undefined;

  /** Calls at once. `base`: where the service listens, over all its restarts. */
  constructor(kind: Client["kind"], dial: Dial, base: string, wish: Wish, witness: Witness, random: Random) {
    this.kind = kind;
    this.#dial = dial;
    this.#url = streamUrl(base, wish);
    this.#wish = wish;
    this.#witness = witness;
    this.#random = random;
    this.#connect();
  }

  get isOpen(): boolean {
    return this.#reading?.isOpen ?? false;
  }

  drop(awayMs: number): void {
    if (this.#left) return;
    this.#awayMs = awayMs;
    if (this.#line) this.#cut(this.#line);
    else this.#stayAway();
  }

  comeBack(): void {
    if (this.#awayMs !== undefined)
      this.#awayMs = 0; // the line is not over yet
    else if (this.#isAway && !this.#left) this.#connect();
  }

  stall(ms: number): void {
    this.#line?.stall(ms);
  }

  trickle(ms: number): void {
    this.#line?.trickle(ms);
  }

  leave(): Promise<void> {
    if (!this.#left) {
      this.#left = Promise.withResolvers();
      clearTimeout(this.#wait);
      if (this.#line) this.#cut(this.#line);
      else this.#left.resolve();
    }
    return this.#left.promise;
  }

  #connect(): void {
    clearTimeout(this.#wait);
    this.#isAway = false;
    this.#line = this.#dial({
      url: this.#url,
      lastEventId: () => this.#reading?.lastEventId ?? this.#wish.lastEventId,
      begin: (lastEventId) => {
        this.#reading = new Reading(this.#witness, lastEventId);
        return this.#reading;
      },
      over: () => this.#over(),
    });
  }

  #cut(line: Line): void {
    this.#reading?.cut();
    line.cut();
  }

  #over(): void {
    this.#line = undefined;
    this.#reading?.closed();
    if (this.#left) this.#left.resolve();
    else this.#stayAway();
  }

  #stayAway(): void {
    this.#isAway = this.#awayMs !== undefined;
    const ms = this.#awayMs ?? this.#ownWaitMs();
    this.#awayMs = undefined;
    clearTimeout(this.#wait);
    if (Number.isFinite(ms)) this.#wait = setTimeout(() => this.#connect(), ms);
  }

  #ownWaitMs(): number {
    const drawn = LEAST_WAIT_MS + this.#random.below(MOST_WAIT_MS - LEAST_WAIT_MS);
    return Math.min(this.#reading?.retryAfterMs ?? drawn, MOST_REFUSED_MS);
  }
}

function streamUrl(base: string, { videoId, backfill, details }: Wish): URL {
  const url = new URL("/v1/stream", base);
  url.searchParams.set("videoId", videoId);
  if (backfill !== undefined) url.searchParams.set("backfill", String(backfill));
  if (details) url.searchParams.set("details", "true");
  return url;
}
