/**
 * The form in which a connection is written to: every byte that a viewer is sent is made here. Nothing is escaped: data
 * is JSON, which has no raw line break, and cursors are integers, so no value can start a field of its own.
 */
import type { Init, RoomEnd } from "../protocol/chat.ts";
import { messageJson, type StoredMessage } from "../store/stored-message.ts";

/** How long a browser waits before it reconnects. */
const RETRY_MS = 3000;

export interface Form {
  /** Bytes of one form are shared between its viewers, under this key. */
  readonly key: string;
  /** What a connection begins with. */
  head(init: Init): Buffer;
  message(message: StoredMessage): Buffer;
  readonly keepalive: Buffer;
  /** The terminal frame: `error` for a room that failed, `end` for one that ended or was released. */
  end(end: RoomEnd): Buffer;
}

function sseForm(key: string, withDetails: boolean): Form {
  return {
    key,
    // [spec] `retry: 3000` | once | Reconnect delay in ms for a browser.
    head: (init) => Buffer.from(`retry: ${RETRY_MS}\n\n${frame("init", init)}`),
    // [spec] The `id:` line of a `message` frame is the cursor, not the message id.
    message: (message) =>
      Buffer.from(`id: ${message.cursor}\nevent: message\ndata: ${messageJson(message, withDetails)}\n\n`),
    // [spec] `: keepalive` | every 15 s | Comment line; keeps idle connections from being reaped.
    keepalive: Buffer.from(": keepalive\n\n"),
    end: (end) =>
      Buffer.from(end.state === "failed" ? frame("error", end.error) : frame("end", { reason: end.reason })),
  };
}

function frame(event: string, data: object): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export const PLAIN = sseForm("plain", false);
export const DETAILED = sseForm("detailed", true);
