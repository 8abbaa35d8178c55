/**
 * The events of a stream as text. Data is JSON on one line and cursors are integers, so no value can start a
 * field of its own.
 */

import { onOneLine, wireJson } from "../base/wire-json.ts";
import type { Init, StreamEnd } from "../protocol/chat.ts";
import { messageJson, type StoredMessage } from "../store/stored-message.ts";

/** How long a browser waits before it reconnects. */
export const RETRY_MS = 3000;

/** The end of the frames of one write: the cursor behind them, and the newest one of the room. */
export interface FramesEnd {
  next: number;
  head: number;
}

export interface Framing {
  /** The beginning of a connection. `head`: the newest cursor of the room. */
  init(init: Init, head: number): string;
  message(message: StoredMessage): string;
  /** What surrounds the messages of one write; nothing if absent. */
  batch?(frames: readonly Buffer[], end: FramesEnd): readonly Buffer[];
  /** A cursor frame: moves the client's cursor past messages that it does not get. */
  cursor(cursor: number): string;
  readonly keepalive: string;
  /** The terminal frame, of a connection that has everything up to `cursor`. */
  end(end: StreamEnd, cursor: number): string;
}

/** Server-Sent Events. `details`: whether messages carry them. */
function sse(details: boolean): Framing {
  const frame = (event: string, data: object) => `event: ${event}\ndata: ${wireJson(data)}\n\n`;
  return {
    // [spec] `retry: 3000` | once | Reconnect delay in ms for a browser.
    init: (init) => `retry: ${RETRY_MS}\n\n${frame("init", init)}`,
    // [spec] The `id:` line of a `message` frame is the cursor, not the message id.
    message: (message) =>
      `id: ${message.cursor}\nevent: message\ndata: ${onOneLine(messageJson(message, details))}\n\n`,
    // Without data: an `EventSource` takes the id, and dispatches nothing.
    cursor: (cursor) => `id: ${cursor}\n\n`,
    // [spec] `: keepalive` | every 15 s | Comment line; keeps idle connections from being reaped.
    keepalive: ": keepalive\n\n",
    end: (end) => frame(...terminal(end)),
  };
}

/** One JSON object per line. The name of the event is its first field. */
function ndjson(details: boolean): Framing {
  const line = (event: string, data: object) => `${wireJson({ event, ...data })}\n`;
  return {
    init: (init) => line("init", init),
    message: (message) => {
      const fields = onOneLine(messageJson(message, details)).slice(1);
      return `{"event":"message","cursor":${message.cursor},${fields}\n`;
    },
    cursor: (cursor) => line("cursor", { cursor }),
    keepalive: line("keepalive", {}),
    end: (end) => line(...terminal(end)),
  };
}

/** The terminal frame: `error` for a room that failed, otherwise `end`. */
export function terminal(end: StreamEnd): [event: string, data: object] {
  // [spec] `event: error` | at most once | Terminal; data is `{code, message}`.
  return end.state === "failed" ? ["error", end.error] : ["end", { reason: end.reason }];
}

/** By format, and by whether messages carry `details`. */
export const FRAMINGS = {
  sse: { plain: sse(false), detailed: sse(true) },
  ndjson: { plain: ndjson(false), detailed: ndjson(true) },
};
