/**
 * Requests to the upstream and their whole answers: a deadline and a size limit on each, redirects never followed.
 * Whatever goes wrong is an `UpstreamError`. How bytes travel is the affair of the connections.
 */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { BOUNDS } from "../bounds.ts";
import { UpstreamError } from "../errors.ts";
import { stripMarkup } from "../readers/text.ts";
import {
  type Connections,
  HttpConnections,
  type IncomingAnswer,
  type OutgoingRequest,
} from "./connections.ts";

/** How connecting fails, by the system's codes and undici's. */
const NO_CONNECTION = new Set([
  "EACCES",
  "EADDRNOTAVAIL",
  "EAI_AGAIN",
  "ECONNREFUSED",
  "EHOSTDOWN",
  "EHOSTUNREACH",
  "ENETDOWN",
  "ENETUNREACH",
  "ENOTFOUND",
  "EPERM",
  "ETIMEDOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  // An HTTP proxy refuses the tunnel, or breaks it off while it is made.
  "UND_ERR_ABORTED",
  "UND_ERR_PRX_CONN",
]);
/** How codes begin by which undici tells that a SOCKS proxy makes no connection. */
const SOCKS_REFUSAL = "UND_ERR_SOCKS5";
/** So many connections in a row that break before an answer begins are no coincidence. */
const BREAKS_IN_A_ROW = 2;
/** Most answers are smaller. */
const FIRST_BYTES = 32 * 1024;

export interface UpstreamRequest extends OutgoingRequest {
  /** Longest time until the answer has come completely. */
  deadlineMs: number;
}

export interface UpstreamAnswer {
  status: number;
  /** Header names in lower case. */
  header(name: string): string | undefined;
  text: string;
  /** Wall time at which the answer was complete. */
  receivedAt: number;
  /** How long it took, in milliseconds. */
  tookMs: number;
}

export class Transport {
  readonly #clock: Clock;
  readonly #connections: Connections;
  readonly #hasOthers: boolean;
  /** How many connections broke since an answer last began. */
  #breaks = 0;

  /** `hasOthers`: whether there are other ways out, so that one on which connections break is given up. */
  constructor(clock: Clock, connections: Connections = new HttpConnections(), hasOthers = false) {
    this.#clock = clock;
    this.#connections = connections;
    this.#hasOthers = hasOthers;
  }

  /** The answer as it came, whatever its status. Rejects with `UpstreamError` "unusable", or the signal's reason. */
  async send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const beganAt = this.#clock.monotonic();
    const { host } = new URL(request.url);
    using deadline = new Deadline(this.#clock, request.deadlineMs);
    let answer: IncomingAnswer | undefined;
    try {
      answer = await this.#connections.request(request, AbortSignal.any([signal, deadline.signal]));
      this.#breaks = 0;
      const { status, header } = answer;
      return {
        status,
        header,
        text: await boundedText(answer.body),
        receivedAt: this.#clock.now(),
        tookMs: this.#clock.monotonic() - beganAt,
      };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof UpstreamError) throw error;
      const isLate = deadline.signal.aborted;
      const { code, why } = isLate
        ? { code: "", why: `no complete answer within ${request.deadlineMs} ms` }
        : failureIn(error);
      const isRefused = NO_CONNECTION.has(code) || code.startsWith(SOCKS_REFUSAL);
      if (!answer && !isLate && !isRefused) this.#breaks += 1;
      const isBroken = this.#hasOthers && this.#breaks >= BREAKS_IN_A_ROW;
      if (answer || !(isLate || isRefused || isBroken)) {
        throw new UpstreamError("unusable", why, { isBroken: !answer, cause: error });
      }
      const unreachable = isLate ? "no answer" : "no connection";
      throw new UpstreamError("unusable", `${host} cannot be reached: ${why}`, { unreachable, cause: error });
    }
  }

  close(): Promise<void> {
    return this.#connections.close();
  }
}

/**
 * The body as text, decompressed, cut off with an error beyond the limit: a small gzip can hold gigabytes. Written
 * into one buffer as it comes: kept in pieces, a body that comes byte by byte would cost hundreds for each.
 */
async function boundedText(body: IncomingAnswer["body"]): Promise<string> {
  let bytes = Buffer.allocUnsafe(FIRST_BYTES);
  let size = 0;
  for await (const chunk of body) {
    const end = size + chunk.byteLength;
    if (end > BOUNDS.answerBytes) {
      throw new UpstreamError("unusable", `the answer is larger than ${BOUNDS.answerBytes} bytes`);
    }
    if (end > bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(end, 2 * bytes.length));
      bytes.copy(larger, 0, 0, size);
      bytes = larger;
    }
    bytes.set(chunk, size);
    size = end;
  }
  return bytes.toString("utf8", 0, size);
}

/** The code of the cause at the bottom, "" where it has none, and words for it: `fetch failed` alone explains nothing. */
function failureIn(error: unknown): { code: string; why: string } {
  if (!(error instanceof Error)) return { code: "", why: "the connection failed" };
  if (error.cause instanceof Error) return failureIn(error.cause);
  const code = "code" in error ? String(error.code) : "";
  const words = stripMarkup(error.message.includes(code) ? error.message : `${code}: ${error.message}`);
  return { code, why: `the connection failed (${words})` };
}
