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
 * requests.
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
    const own = ownCursor(sent);
    return own < this.current() ? 0 : own + this.#jitterNow();
  }

  /**
   * How far the cursors of a connection with events are ahead of the current one, in intervals: 0, or the
   * first power of two that leads beyond the client's own. So whatever clients send, few bytes differ.
   */
  stepFor(sent: string | undefined): number {
    const ahead = ownCursor(sent) - this.current();
    if (ahead < 0) return 0;
    let step = 1;
    while (step <= ahead) step *= 2;
    return step;
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

/** The cursor that a client came with; -1 if it has none. */
function ownCursor(sent: string | undefined): number {
  return sent !== undefined && CURSOR.test(sent) ? Number(sent) : -1;
}

/** The data of a `control` event. `cursor`: the cache's. */
function control({ next, head }: Pick<FramesPlace, "next" | "head">, cursor: number): string {
  const place = { streamNextOffset: offsetOf(next), streamCursor: String(cursor) };
  return `event: control\ndata:${wireJson({ ...place, ...(next >= head && { upToDate: true }) })}\n\n`;
}

function closing(end: StreamEnd, next: number): string {
  if (end.state !== "ended") return ""; // it is not closed: its readers come back
  const data = { streamNextOffset: offsetOf(next), streamClosed: true, upToDate: true };
  return `event: control\ndata:${wireJson(data)}\n\n`;
}

/** The frames with a comma between any two. */
function separated(frames: readonly Buffer[]): Buffer[] {
  return frames.flatMap((frame, i) => (i === 0 ? [frame] : [COMMA, frame]));
}

const ITEM = {
  message: (message) => itemJson(message, true),
  fact: () => "", // nobody asks for one in a log
  cursor: () => "",
} satisfies Partial<Framing>;

/** Server-Sent Events. `step`: how far the cache's cursor is ahead of the current one. */
function events(cursors: CacheCursors, step: number): Framing {
  const cursor = () => cursors.current() + step;
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

type BodyForms = Record<BodyForm["transferCoding"], BodyForm>;

/** The forms of connections with events, by the step of their cursors: some fifty at most. */
export class EventForms {
  readonly #cursors: CacheCursors;
  readonly #byStep = new Map<number, BodyForms>();

  constructor(cursors: CacheCursors) {
    this.#cursors = cursors;
  }

  /** `sent`: the cache's cursor that the client came with. */
  for(sent: string | undefined): BodyForms {
    const step = this.#cursors.stepFor(sent);
    return this.#byStep.getOrInsertComputed(step, () =>
      formsOf("log sse", events(this.#cursors, step), ` ${step} ahead`),
    );
  }
}
