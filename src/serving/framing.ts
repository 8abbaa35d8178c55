/**
 * The events of a stream as text. Data is JSON on one line and cursors are integers, so no value can start a
 * field of its own.
 */
import type { Init, RoomEnd } from "../protocol/chat.ts";
import { messageJson, type StoredMessage } from "../store/stored-message.ts";
import { onOneLine, wireJson } from "../wire-json.ts";

/** How long a browser waits before it reconnects. */
const RETRY_MS = 3000;

export interface Framing {
  /** The beginning of a connection. */
  init(init: Init): string;
  message(message: StoredMessage): string;
  readonly keepalive: string;
  /** The terminal frame: `error` for a room that failed, `end` for one that ended or was released. */
  end(end: RoomEnd): string;
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
    // [spec] `: keepalive` | every 15 s | Comment line; keeps idle connections from being reaped.
    keepalive: ": keepalive\n\n",
    end: (end) => (end.state === "failed" ? frame("error", end.error) : frame("end", { reason: end.reason })),
  };
}

/** By format, and by whether messages carry `details`. */
export const FRAMINGS = { sse: { plain: sse(false), detailed: sse(true) } };
