/**
 * The line of one edge to its origin, in virtual time: latency, a line that is cut, silent, or swallows what
 * it is given, and an origin that dies.
 */
import { Readable } from "node:stream";
import type { Random } from "../../simulator/random.ts";
import { Deadline, unlessAborted } from "../../src/base/deadline.ts";
import {
  type OriginAnswer,
  type OriginConnections,
  type OriginRequest,
  PAGE_TIMEOUT_MS,
} from "../../src/origin/origin-connections.ts";
import { answerPage, answerStream, type OriginService } from "./origin-api.ts";
import type { MortalClock, Scheduler } from "./scheduler.ts";
import type { SimulatedSink } from "./sink.ts";

/** The usual time of one direction in milliseconds: a minimum, plus at most the jitter. */
const USUAL_LATENCY = { leastMs: 0.5, jitterMs: 20 };

interface LineParts {
  scheduler: Scheduler;
  random: Random;
  /** The process that takes the next request; undefined if there is none. */
  host(): (OriginService & { clock: MortalClock }) | undefined;
  /** Called when the edge opens a stream, and when it has closed it or knows that it broke. */
  streamOpened(path: string): void;
  streamClosed(path: string): void;
  /** Called when a stream is refused, with the time since the process was asked for it. */
  streamRefused?(path: string, waitedMs: number): void;
}

/** One direction of one connection: takes as long as that does, or for ever if it is swallowed. */
type Way = () => Promise<void>;

type Host = NonNullable<ReturnType<LineParts["host"]>>;

export class OriginLine {
  latency: Readonly<typeof USUAL_LATENCY> = USUAL_LATENCY;
  readonly #parts: LineParts;
  /** Breaks the open connections. */
  #broken = new AbortController();
  #cutUntil = 0;
  #silentUntil = 0;
  #swallowsUntil = 0;
  /** How many times it has begun to. */
  #swallows = 0;

  constructor(parts: LineParts) {
    this.#parts = parts;
  }

  /** Breaks all connections, and refuses new ones for `forMs`. */
  cut(forMs: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.#now + forMs);
    this.#broken.abort(new Error("read ECONNRESET"));
    this.#broken = new AbortController();
  }

  /** Passes nothing on for `forMs`, in either direction; bytes on the way arrive afterwards. */
  silence(forMs: number): void {
    this.#silentUntil = Math.max(this.#silentUntil, this.#now + forMs);
  }

  /**
   * Loses everything for `forMs`, in either direction. The connections that were open before, and those that
   * are opened meanwhile, stay open and never carry anything again.
   */
  swallow(forMs: number): void {
    this.#swallowsUntil = Math.max(this.#swallowsUntil, this.#now + forMs);
    this.#swallows += 1;
  }

  calm(): void {
    this.latency = USUAL_LATENCY;
    this.#cutUntil = 0;
    this.#silentUntil = 0;
    this.#swallowsUntil = 0;
  }

  /** The connections of one life of the edge. */
  connections(edge: MortalClock): OriginConnections {
    const closed = new AbortController();
    const open = (signal: AbortSignal) => AbortSignal.any([signal, closed.signal]);
    return {
      stream: (request, signal) => edge.untilDeath(this.#stream(request, open(signal), edge)),
      page: (request, signal) => edge.untilDeath(this.#page(request, open(signal))),
      relay: () => Promise.reject(new Error("an edge relays requests only to its first process")),
      close: async () => closed.abort(new Error("the edge stops")),
    };
  }

  get #now(): number {
    return this.#parts.scheduler.monotonic();
  }

  async #page(request: OriginRequest, signal: AbortSignal): Promise<OriginAnswer> {
    using limit = new Deadline(this.#parts.scheduler, request.timeoutMs ?? PAGE_TIMEOUT_MS);
    const way = this.#connect();
    const { host, over } = await this.#reach(way, AbortSignal.any([signal, limit.signal]));
    const answer = await settled(answerPage(host, request, over), over);
    await settled(way(), over);
    return answer;
  }

  async #stream(request: OriginRequest, signal: AbortSignal, edge: MortalClock): Promise<OriginAnswer> {
    const way = this.#connect();
    const { host, over } = await this.#reach(way, AbortSignal.any([signal, edge.death]));
    const askedAt = this.#now;
    const passage = new Passage(way);
    const opened = await settled(
      answerStream(host, request, (bytes) => passage.send(bytes), over),
      over,
    );
    if ("body" in opened) {
      this.#parts.streamRefused?.(request.path, this.#now - askedAt);
      await settled(way(), over);
      return opened;
    }
    const { path } = request;
    this.#parts.streamOpened(path);
    void opened.closed.then(() => passage.end(opened.closedBy === "end" ? undefined : new Error("reset")));
    const close = () => {
      this.#parts.streamClosed(path);
      passage.break(edge.isDead ? undefined : over.reason);
      void this.#leave(opened, host);
    };
    if (over.aborted) close();
    else over.addEventListener("abort", close, { once: true });
    void passage.over.then(() => {
      over.removeEventListener("abort", close);
      if (!over.aborted) this.#parts.streamClosed(path);
    });
    await settled(way(), over);
    return { statusCode: 200, headers: {}, body: passage.body };
  }

  /** The host learns that the connection is over, once the line passes something on. */
  async #leave(sink: SimulatedSink, host: Host): Promise<void> {
    if (host.clock.isDead) return sink.lose();
    await this.#spoken();
    sink.leave();
  }

  /** A request arrives. Rejects if nobody takes it, and with the signal's reason. */
  async #reach(way: Way, signal: AbortSignal): Promise<{ host: Host; over: AbortSignal }> {
    const broken = this.#broken.signal;
    await settled(way(), AbortSignal.any([signal, broken]));
    const host = this.#now < this.#cutUntil ? undefined : this.#parts.host();
    if (!host) throw Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" });
    return { host, over: AbortSignal.any([signal, broken, host.clock.death]) };
  }

  /** Opens a connection, unless the line swallows that, too. */
  #connect(): Way {
    const { scheduler, random } = this.#parts;
    const swallows = this.#now < this.#swallowsUntil ? undefined : this.#swallows;
    return async () => {
      await scheduler.sleep(this.latency.leastMs + random.next() * this.latency.jitterMs);
      await this.#spoken();
      if (swallows !== this.#swallows) await new Promise<never>(() => {});
    };
  }

  /** Resolves when the line is neither silent nor swallows anything. */
  async #spoken(): Promise<void> {
    const { scheduler } = this.#parts;
    const until = () => Math.max(this.#silentUntil, this.#swallowsUntil);
    while (this.#now < until()) await scheduler.sleep(until() - this.#now);
  }
}

/** The bytes of one stream on their way, in order. */
class Passage {
  readonly body = new Readable({ read() {} }).on("error", () => {});
  /** Resolves when the end has arrived. */
  readonly over: Promise<void>;
  readonly #arrived: () => void;
  readonly #way: Way;
  #sent: Promise<void> = Promise.resolve();
  #isBroken = false;

  constructor(way: Way) {
    this.#way = way;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.over = promise;
    this.#arrived = resolve;
  }

  send(bytes: Buffer): void {
    this.#later(() => this.body.push(bytes));
  }

  /** The host has ended it, or has reset it. */
  end(error: Error | undefined): void {
    this.#later(() => {
      if (error) this.body.destroy(error);
      else this.body.push(null);
      this.#arrived();
    });
  }

  /** Nothing arrives any more. Without an error, its reader does not notice. */
  break(error: unknown): void {
    this.#isBroken = true;
    if (error !== undefined) this.body.destroy(error instanceof Error ? error : new Error(String(error)));
  }

  /** Bytes that are sent together arrive together. */
  #later(arrive: () => void): void {
    const way = this.#way();
    this.#sent = this.#sent.then(async () => {
      await way;
      if (!this.#isBroken) arrive();
    });
  }
}

/** As `unlessAborted`, for a promise whose failure afterwards is of no interest. */
function settled<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  promise.catch(() => {});
  return unlessAborted(promise, signal);
}
