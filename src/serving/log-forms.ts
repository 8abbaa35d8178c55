/**
 * How a room's log is written for readers of the Durable Streams protocol: as events with a batch each
 * (section 5.8), or as the body of one answer (5.7). Items are those of the history, byte for byte.
 */
import type { Clock } from "../base/clock.ts";
import { wireJson } from "../base/wire-json.ts";
import type { StreamEnd } from "../protocol/chat.ts";
import { type BodyForm, formsOf, wholeFormsOf } from "./form.ts";
import type { FramesPlace, Framing } from "./framing.ts";
import { itemJson } from "./history/formats.ts";
import { offsetOf } from "./log-position.ts";

/** The protocol's epoch for cursors, and the length of an interval (section 10.1). */
const EPOCH_MS = Date.UTC(2024, 9, 9);
const INTERVAL_MS = 20_000;
/** How far a cursor is put ahead of the client's own, at most, in seconds (section 10.1). */
const MAX_JITTER_S = 3600;
/** A longer number is not a cursor that a service has given out. */
const CURSOR = /^\d{1,15}$/;

const COMMA = Buffer.from(",");
const OPENING = Buffer.from("[");
const CLOSING = Buffer.from("]");
const DATA = Buffer.from("event: data\ndata:[");

/**
 * The caches' cursors of live answers: the number of the current interval, and beyond the client's own. All
 * clients that come with the same cursor in one interval get the same, so that they go on sharing their
 * requests, and their events here.
 */
export class CacheCursors {
  readonly #clock: Pick<Clock, "now" | "random">;
  #jitter = { interval: -1, intervals: 1 };

  constructor(clock: Pick<Clock, "now" | "random">) {
    this.#clock = clock;
  }

  current(): number {
    return Math.floor((this.#clock.now() - EPOCH_MS) / INTERVAL_MS);
  }

  /** The least cursor for a client that came with this one; 0 if any will do. */
  leastFor(sent: string | undefined): number {
    const own = sent !== undefined && CURSOR.test(sent) ? Number(sent) : -1;
    return own < this.current() ? 0 : own + this.#jitterNow();
  }

  /** How far the cursor of a client is put ahead in the current interval, in intervals. */
  #jitterNow(): number {
    const interval = this.current();
    if (this.#jitter.interval !== interval) {
      const aheadMs = 1000 * (1 + Math.floor(this.#clock.random() * MAX_JITTER_S));
      this.#jitter = { interval, intervals: Math.max(1, Math.floor(aheadMs / INTERVAL_MS)) };
    }
    return this.#jitter.intervals;
  }
}

/** The data of a `control` event. `cursor`: the cache's. */
function control({ next, head }: Pick<FramesPlace, "next" | "head">, cursor: number): string {
  const place = { streamNextOffset: offsetOf(next), streamCursor: String(cursor) };
  return `event: control\ndata:${wireJson({ ...place, ...(next >= head && { upToDate: true }) })}\n\n`;
}

function closing(end: StreamEnd, next: number): string {
  if (end.state !== "ended" || end.isUnfinished) return ""; // it is not closed: its readers come back
  const data = { streamNextOffset: offsetOf(next), streamClosed: true, upToDate: true };
  return `event: control\ndata:${wireJson(data)}\n\n`;
}

/** The frames with a comma between any two. */
function separated(frames: readonly Buffer[]): Buffer[] {
  return frames.flatMap((frame, i) => (i === 0 ? [frame] : [COMMA, frame]));
}

const ITEM = { message: (message) => itemJson(message, true), cursor: () => "" } satisfies Partial<Framing>;

/** Server-Sent Events. `least`: the cache's cursor of each connection is this or a later one. */
function events(cursors: CacheCursors, least: number): Framing {
  const cursor = () => Math.max(least, cursors.current());
  return {
    ...ITEM,
    init: (init, head) => (init.cursor >= head ? control({ next: init.cursor, head }, cursor()) : ""),
    batch: (frames, place) => [
      DATA,
      ...separated(frames),
      CLOSING,
      Buffer.from(`\n\n${control(place, cursor())}`),
    ],
    keepalive: ": keepalive\n\n",
    end: closing,
  };
}

/** One answer: a JSON array. Its headers say the rest. */
const ANSWER: Framing = {
  ...ITEM,
  init: () => "",
  batch: (frames) => [OPENING, ...separated(frames), CLOSING],
  keepalive: "",
  end: () => "",
};

/** The bodies of answers that are complete with their first write, plain or compressed. */
export const ANSWERS = wholeFormsOf("log answer", ANSWER);

/** Connections that go on with a cursor ahead of the current one share the forms of few such cursors. */
const MAX_FORMS = 16;

/** The forms of connections with events, which differ in the least cursor that their clients need. */
export class EventForms {
  readonly #cursors: CacheCursors;
  /** By least cursor, the one made last at the end. */
  readonly #forms = new Map<number, Record<"bare" | "chunked" | "gzip", BodyForm>>();

  constructor(cursors: CacheCursors) {
    this.#cursors = cursors;
  }

  from(least: number): Record<"bare" | "chunked" | "gzip", BodyForm> {
    const made = this.#forms.get(least);
    if (made) return made;
    const forms = formsOf("log sse", events(this.#cursors, least), ` from ${least}`);
    this.#forms.set(least, forms);
    const [oldest] = this.#forms.keys();
    if (this.#forms.size > MAX_FORMS && oldest !== undefined) this.#forms.delete(oldest);
    return forms;
  }
}
