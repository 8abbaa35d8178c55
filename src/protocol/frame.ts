/**
 * The stream's frames as text, each complete with its blank line. Nothing is escaped here: data is JSON, which
 * has no raw line break, and cursors are integers, so no value can start a field of its own.
 */
import type { Init, RoomEnd } from "./chat.ts";
import { messageJson, type StoredMessage } from "./message.ts";

/** How long a browser waits before it reconnects. */
const RETRY_MS = 3000;

// [spec] `retry: 3000` | once | Reconnect delay in ms for a browser.
export const RETRY_FRAME = `retry: ${RETRY_MS}\n\n`;

// [spec] `: keepalive` | every 15 s | Comment line; keeps idle connections from being reaped.
export const KEEPALIVE_FRAME = ": keepalive\n\n";

export function initFrame(init: Init): string {
  return `event: init\ndata: ${JSON.stringify(init)}\n\n`;
}

// [spec] The `id:` line of a `message` frame is the cursor, not the message id.
export function messageFrame(message: StoredMessage, withDetails: boolean): string {
  return `id: ${message.cursor}\nevent: message\ndata: ${messageJson(message, withDetails)}\n\n`;
}

/** The terminal frame: `error` for a room that failed, `end` for one that ended or was released. */
export function endFrame(end: RoomEnd): string {
  return end.state === "failed"
    ? `event: error\ndata: ${JSON.stringify(end.error)}\n\n`
    : `event: end\ndata: ${JSON.stringify({ reason: end.reason })}\n\n`;
}
