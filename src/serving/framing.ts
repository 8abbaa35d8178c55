/**
 * The events of a stream as text. Data is JSON on one line and cursors are integers, so no value can start a
 * field of its own.
 */

import { onOneLine, wireJson } from "../base/wire-json.ts";
import type { Init, StandingData, StreamEnd } from "../protocol/chat.ts";
import type { Fact } from "../store/port.ts";
import { isoOf, messageJson, type StoredMessage } from "../store/stored-message.ts";

/**
 * The place of a frame in its chat. On a connection that carries several chats, also the video, and the id
 * from which the whole connection resumes after the frame.
 */
export interface FramePlace {
  videoId?: string;
  cursor: number;
  id?: string;
}

export interface Events {
  /** What a connection begins with. */
  readonly head: string;
  event(name: string, data: object): string;
  /** The beginning of a message's frame. */
  message(place: FramePlace): string;
  /**
   * The rest of it, which all connections share. `details`: whether it carries them; `isPlaced`: whether the
   * place has an `id`.
   */
  rest(message: StoredMessage, details: boolean, isPlaced: boolean): string;
  /** A cursor frame: moves the client's cursor past messages that it does not get. */
  cursor(place: FramePlace): string;
  readonly keepalive: string;
}

/** The text of a JSON object without its first brace. */
function fieldsOf(json: string): string {
  return onOneLine(json).slice(1);
}

const line = (event: string, data: object) => `${wireJson({ event, ...data })}\n`;

export const EVENTS = {
  /** Server-Sent Events. */
  sse: {
    // [spec] `retry: 3000` | once | Reconnect delay in ms for a browser.
    head: "retry: 3000\n\n",
    event: (event, data) => `event: ${event}\ndata: ${wireJson(data)}\n\n`,
    // [spec] The `id:` line of a `message` frame is the cursor, not the message id.
    message: ({ videoId, cursor, id }) =>
      `id: ${id ?? cursor}\nevent: message\ndata: {${videoId ? `"videoId":"${videoId}",` : ""}`,
    rest: (message, details) => `${fieldsOf(messageJson(message, details))}\n\n`,
    // Without data: an `EventSource` takes the id, and dispatches nothing.
    cursor: ({ cursor, id }) => `id: ${id ?? cursor}\n\n`,
    // [spec] `: keepalive` | every 15 s | Comment line; keeps idle connections from being reaped.
    keepalive: ": keepalive\n\n",
  },
  /** One JSON object per line. The name of the event is its first field. */
  ndjson: {
    head: "",
    event: line,
    message: (place) => `${wireJson({ event: "message", ...place }).slice(0, -1)},`,
    // If the line's `id` is the id to resume from, the message's own id becomes `messageId`.
    rest: (message, details, isPlaced) => {
      const json = messageJson(message, details);
      if (!isPlaced) return `${fieldsOf(json)}\n`;
      const { id: messageId, ...others } = JSON.parse(json);
      return `${fieldsOf(JSON.stringify({ messageId, ...others }))}\n`;
    },
    cursor: (place) => line("cursor", place),
    keepalive: line("keepalive", {}),
  },
} satisfies Record<string, Events>;

/** How the events of a stream are written. */
export type Format = keyof typeof EVENTS;

/** The terminal event: `error` for a room that failed, otherwise `end`. */
export function terminal(end: StreamEnd): [event: string, data: object] {
  // [spec] `event: error` | at most once | Terminal; data is `{code, message}`.
  return end.state === "failed" ? ["error", end.error] : ["end", { reason: end.reason }];
}

/** The data of the event of a fact. `details`: whether messages carry them. */
export function factData(fact: Fact, details: boolean): object {
  if (fact.name === "standing") return standingData(fact.value);
  const { value } = fact;
  if (!value) return { message: null };
  const { message, at } = value;
  return { message: JSON.parse(messageJson(message, details)), featuredAt: isoOf(at) };
}

/** `reason`: why the room waits for its chat; undefined while the chat is there. */
function standingData(reason: string | undefined): StandingData {
  return reason === undefined ? { state: "live" } : { state: "waiting", reason };
}

/** The frames of one write: the cursor of each, the cursor behind them, and the newest one of the room. */
export interface FramesPlace {
  cursors: readonly number[];
  next: number;
  head: number;
}

/** How the events of a connection with one chat are written. */
export interface Framing {
  /** The beginning of a connection. `head`: the newest cursor of the room. */
  init(init: Init, head: number): string;
  message(message: StoredMessage): string;
  /** What holds from now on. */
  fact(fact: Fact): string;
  /** What surrounds the messages of one write; nothing if absent. */
  batch?(frames: readonly Buffer[], place: FramesPlace): readonly Buffer[];
  cursor(cursor: number): string;
  readonly keepalive: string;
  /** The terminal frame, of a connection that has everything up to `cursor`. */
  end(end: StreamEnd, cursor: number): string;
}

/** The init of a connection; `details`: whether it carries them. */
export function initOf({ details: video, ...init }: Init, details: boolean): Init {
  return details && video ? { ...init, details: video } : init;
}

/** `details`: whether the init and the messages carry them. */
export function framingOf(format: Format, details: boolean): Framing {
  const events: Events = EVENTS[format];
  return {
    init: (init) => events.head + events.event("init", initOf(init, details)),
    message: (message) => events.message({ cursor: message.cursor }) + events.rest(message, details, false),
    fact: (fact) => events.event(fact.name, factData(fact, details)),
    cursor: (cursor) => events.cursor({ cursor }),
    keepalive: events.keepalive,
    end: (end) => events.event(...terminal(end)),
  };
}
