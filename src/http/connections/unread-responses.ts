/**
 * The responses that their clients have not read yet. All of them together have one bound in bytes: beyond
 * it, an answer that is not small is refused. Bytes that several answers share count once. Streams are not
 * counted, nor are answers outside `/v1/`, such as the files of the pages: clients share the bytes of both.
 *
 * A connection is closed if its client takes nothing of the answer for `stallMs`. `Backpressure`, which asks
 * for a drain, would not do: a body of megabytes drains only at its end, and its client may be slow.
 */
import type { ServerResponse } from "node:http";
import { Readable } from "node:stream";
import type { FastifyInstance } from "fastify";
import { Counts } from "../../base/key-counts.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import { STALL_MS } from "./backpressure.ts";

export interface AnswerLimits {
  /** For all answers together. */
  bytes: number;
  /** Milliseconds for which a client may take nothing of an answer, or a stream be full without a drain. */
  stallMs: number;
}

/** A page of a thousand messages with their details has about a megabyte. */
export const ANSWER_LIMITS: AnswerLimits = { bytes: 64 * 1024 * 1024, stallMs: STALL_MS };

/** A smaller answer is neither refused nor counted: it takes no more memory than its connection. */
const SMALL_BYTES = 16 * 1024;
/** Headers that a refusal copies from the answer it replaces. */
const OF_EVERY_ANSWER = /^(?:access-control-.*|vary|x-content-type-options|cross-origin-resource-policy)$/;
/** The maximum that a download of a usual chat holds: its body is made, or passed on, while it is sent. */
export const PIPED_BYTES = 256 * 1024;

/** The bytes of the responses that are not read yet. */
class Unread {
  bytes = 0;
  /** The number of answers with each body. */
  readonly #answers = new Counts<unknown>();

  has(body: unknown): boolean {
    return this.#answers.has(body);
  }

  /** Adds an answer, until the returned function is called. */
  add(body: unknown, bytes: number): () => void {
    if (!this.has(body)) this.bytes += bytes;
    const giveBack = this.#answers.take(body);
    return () => {
      giveBack();
      if (!this.has(body)) this.bytes -= bytes;
    };
  }
}

/** Bounds the answers of the API. A refused one becomes 503 CAPACITY. */
export function boundUnreadResponses(app: FastifyInstance, limits: AnswerLimits): void {
  const unread = new Unread();
  app.addHook("onSend", async ({ url }, reply, payload) => {
    const { raw: response } = reply;
    const bytes = url.startsWith("/v1/") ? sizeOf(payload) : 0;
    if (bytes > SMALL_BYTES && !response.destroyed) {
      const body = Buffer.isBuffer(payload) ? payload : response; // only buffers are shared
      if (!unread.has(body) && unread.bytes + bytes > limits.bytes) {
        if (payload instanceof Readable) payload.destroy();
        for (const name of Object.keys(reply.getHeaders()))
          if (!OF_EVERY_ANSWER.test(name)) reply.removeHeader(name);
        throw atCapacity("answers");
      }
      response.once("close", unread.add(body, bytes));
    }
    closeIfStalled(response, limits.stallMs);
    return payload;
  });
}

function sizeOf(payload: unknown): number {
  if (payload instanceof Readable) return PIPED_BYTES;
  return typeof payload === "string" || Buffer.isBuffer(payload) ? Buffer.byteLength(payload) : 0;
}

/**
 * Closes the connection if the client reads nothing for `stallMs`, unless the response waits for the store.
 */
function closeIfStalled(response: ServerResponse, stallMs: number): void {
  response.setTimeout(stallMs, () => {
    if (response.writableLength > 0) response.destroy();
  });
}
