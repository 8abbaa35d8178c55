/**
 * How a room's log is written for readers of the Durable Streams protocol: as events with a batch each
 * (section 5.8), or as the body of one answer (5.7). Items are those of the history, byte for byte.
 */
import { wireJson } from "../base/wire-json.ts";
import type { StreamEnd } from "../protocol/chat.ts";
import type { CacheCursors } from "./cache-cursors.ts";
import { type BodyForm, formsOf, wholeFormsOf } from "./form.ts";
import type { FramesPlace, Framing } from "./framing.ts";
import { itemJson } from "./history/formats.ts";
import { offsetOf } from "./log-position.ts";

const COMMA = Buffer.from(",");
const OPENING = Buffer.from("[");
const CLOSING = Buffer.from("]");
const DATA = Buffer.from("event: data\ndata:[");

/** The data of a `control` event. `cursor`: the cache's. */
function control({ next, head }: Pick<FramesPlace, "next" | "head">, cursor: bigint): string {
  const place = { streamNextOffset: offsetOf(next), streamCursor: String(cursor) };
  return `event: control\ndata:${wireJson({ ...place, ...(next >= head && { upToDate: true }) })}\n\n`;
}

function closing(end: StreamEnd, next: number): string {
  if (end.state !== "ended") return ""; // the log is not closed: its readers come back
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
function events(cursors: CacheCursors, step: bigint): Framing {
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

/** The forms of connections with events, by the step of their cursors: some seventy at most. */
export class EventForms {
  readonly #cursors: CacheCursors;
  readonly #byStep = new Map<bigint, BodyForms>();

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
