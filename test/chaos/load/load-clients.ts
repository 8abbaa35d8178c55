/**
 * Many readers that follow one order at a time: come, be cut off, come back, leave. It records their
 * observations, and judges only what each reader sees for itself.
 */
import { setTimeout as pause, setImmediate as yieldToOthers } from "node:timers/promises";
import { type Behaviour, type Churn, comeAndGo } from "./churn-clients.ts";
import type { Percentiles } from "./delays.ts";
import { LoadStats } from "./load-stats.ts";
import { type Closing, Reader } from "./reader.ts";

/** How often it is looked whether all have what they wait for. */
const CHECK_MS = 20;
/** Calls in one turn, at most: those that have called want to be heard in between. */
const CALLS_AT_ONCE = 50;
/** A call that has brought no init frame by then has failed. */
const PATIENCE_MS = 60_000;
/** One address has only about 28,000 ports for connections. */
const ADDRESSES = 10;

export interface Opening {
  /** The service's base URL. */
  service: string;
  videoId: string;
  viewers: number;
  /** The time over which they come. */
  withinMs: number;
  /** What they resume from, by turns. */
  lastEventIds?: readonly number[];
  details?: boolean;
  stuck?: boolean;
}

interface Return {
  service: string;
  withinMs: number;
  /** How far their cursors are behind their last messages, in rotation; 0 if absent. */
  lags?: readonly number[];
}

export interface LoadReport {
  viewers: number;
  open: number;
  faults: Record<string, number>;
  /** The streams that ended without their readers' doing, since the last `open` or `comeBack`. */
  closings: Closing[];
  /** The highest cursor that any of them has. */
  head: number;
}

export class LoadClients {
  readonly #readers: Reader[] = [];
  readonly #stats = new LoadStats();

  /** Resolves once each has its init frame or has failed, to the cursor of the first of them. */
  async open({ service, withinMs, viewers, lastEventIds = [], ...options }: Opening): Promise<number> {
    const { videoId, details = false, stuck = false } = options;
    const readers = Array.from({ length: viewers }, (_, i) => {
      const localAddress = `127.0.0.${2 + (i % ADDRESSES)}`;
      const lastEventId = lastEventIds[i % lastEventIds.length];
      return new Reader({ videoId, details, stuck, localAddress }, lastEventId, this.#stats);
    });
    this.#readers.push(...readers);
    await this.#connect(readers, service, withinMs);
    return readers[0]?.lastEventId ?? 0;
  }

  /** Ends all connections at once. */
  cut(): void {
    for (const reader of this.#readers) reader.cut();
  }

  /** Reconnects the readers without a connection. Resolves once each has its init frame or has failed. */
  async comeBack({ service, withinMs, lags = [0] }: Return): Promise<void> {
    const readers = this.#readers.filter((reader) => !reader.isOpen);
    for (const [i, reader] of readers.entries()) {
      reader.closing = undefined;
      if (reader.lastEventId !== undefined) reader.lastEventId -= lags[i % lags.length] ?? 0;
    }
    await this.#connect(readers, service, withinMs);
  }

  /** Waits until all of a video have everything up to the cursor; resolves to how many have not, by then. */
  async reached(videoId: string, cursor: number, limitMs: number): Promise<number> {
    const isBehind = (reader: Reader) =>
      reader.options.videoId === videoId && (reader.lastEventId ?? 0) < cursor;
    const until = performance.now() + limitMs;
    while (performance.now() < until && this.#readers.some(isBehind)) await pause(CHECK_MS);
    return this.#readers.filter(isBehind).length;
  }

  /** Waits until no stream is open any more; resolves to how many are, by then. */
  async ended(limitMs: number): Promise<number> {
    const until = performance.now() + limitMs;
    while (performance.now() < until && this.#readers.some(({ isOpen }) => isOpen)) await pause(CHECK_MS);
    return this.#readers.filter(({ isOpen }) => isOpen).length;
  }

  /**
   * Clients that are not readers come and go without end. Resolves to the number of calls of each behaviour.
   */
  comeAndGo(options: Churn): Promise<Record<Behaviour, number>> {
    return comeAndGo(options);
  }

  report(): LoadReport {
    return {
      viewers: this.#readers.length,
      open: this.#readers.filter(({ isOpen }) => isOpen).length,
      faults: this.#stats.faults,
      closings: this.#readers.flatMap(({ closing }) => closing ?? []),
      head: this.#readers.reduce((head, { lastEventId = 0 }) => Math.max(head, lastEventId), 0),
    };
  }

  /** From a call to its init frame, since this was last asked for. */
  openings(): Percentiles {
    return this.#stats.openings.take();
  }

  /** From a message being said to its reader having it, since this was last asked for. */
  deliveries(): Percentiles {
    return this.#stats.deliveries.take();
  }

  async #connect(readers: readonly Reader[], service: string, withinMs: number): Promise<void> {
    const from = performance.now();
    const begun: Promise<void>[] = [];
    for (const [i, reader] of readers.entries()) {
      const earlyMs = from + (i * withinMs) / readers.length - performance.now();
      if (earlyMs > 1) await pause(earlyMs);
      else if (i % CALLS_AT_ONCE === 0) await yieldToOthers();
      begun.push(reader.connect(service));
    }
    await Promise.race([Promise.all(begun), pause(PATIENCE_MS, undefined, { ref: false })]);
    for (const { isOpen } of readers) if (!isOpen) this.#stats.fault("no stream in the end");
  }
}
