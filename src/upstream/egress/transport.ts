/**
 * Sends requests to the upstream and returns complete answers, with a deadline and a size limit on each.
 * Never follows redirects. Every failure is an `UpstreamError`. The connections move the bytes.
 */
import type { Clock } from "../../base/clock.ts";
import { Deadline } from "../../base/deadline.ts";
import { stripMarkup, withoutAddresses } from "../readers/text.ts";
import { UpstreamError } from "../upstream-error.ts";
import type { Connections, IncomingAnswer, OutgoingRequest } from "./connections.ts";

/** The system's and undici's codes of failed connections. */
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
  // An HTTP proxy refuses the tunnel, does not answer, or closes the tunnel during setup.
  "UND_ERR_ABORTED",
  "UND_ERR_HEADERS_TIMEOUT",
  "UND_ERR_PRX_CONN",
]);
/** The system's codes if the process, or the machine, has no free file. */
const NO_FILES = new Set(["EMFILE", "ENFILE"]);
/** Prefix of undici's codes for a SOCKS proxy that makes no connection. */
const SOCKS_REFUSAL = "UND_ERR_SOCKS5";
/** Prefix of all of undici's codes. */
const OF_UNDICI = "UND_ERR";
const UNKNOWN = "for an unknown reason";
/** This many consecutive connections that break before an answer begins are not a coincidence. */
const BREAKS_IN_A_ROW = 2;

export interface UpstreamRequest extends OutgoingRequest {
  /** Maximum time until the answer is complete. */
  deadlineMs: number;
}

export interface UpstreamAnswer {
  status: number;
  /** Header names in lower case. */
  header(name: string): string | undefined;
  text: string;
  /** Wall time at which the answer was complete, in milliseconds. */
  receivedAt: number;
  /** Duration in milliseconds. */
  tookMs: number;
}

export class Transport {
  readonly #clock: Clock;
  readonly #connections: Connections;
  readonly #hasOthers: boolean;
  /** Number of connections that broke since an answer last began. */
  #breaks = 0;

  /** `hasOthers`: there are other egresses, so one whose connections break counts as unreachable. */
  constructor(clock: Clock, connections: Connections, hasOthers: boolean) {
    this.#clock = clock;
    this.#connections = connections;
    this.#hasOthers = hasOthers;
  }

  /**
   * The answer, whatever its status. `onSent`: as in `Connections.request`. Rejects with `UpstreamError`
   * "unusable", or the signal's reason.
   */
  async send(request: UpstreamRequest, signal: AbortSignal, onSent?: () => void): Promise<UpstreamAnswer> {
    const beganAt = this.#clock.monotonic();
    const { host, hostname } = new URL(request.url);
    using deadline = new Deadline(this.#clock, request.deadlineMs);
    let answer: IncomingAnswer | undefined;
    try {
      answer = await this.#connections.request(request, deadline.or(signal), onSent);
      this.#breaks = 0;
      const { status, header } = answer;
      return {
        status,
        header,
        text: (await answer.body()).toString(),
        receivedAt: this.#clock.now(),
        tookMs: this.#clock.monotonic() - beganAt,
      };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof UpstreamError) throw error;
      const isLate = deadline.signal.aborted;
      const { code, words, told } = isLate ? { code: "", words: "", told: "" } : failureIn(error);
      if (NO_FILES.has(code)) {
        throw new UpstreamError("unusable", `the connection failed (${code})`, {
          needsFiles: true,
          cause: error,
        });
      }
      const isRefused = NO_CONNECTION.has(code) || code.startsWith(SOCKS_REFUSAL);
      if (!answer && !isLate && !isRefused) this.#breaks += 1;
      const isBroken = this.#hasOthers && this.#breaks >= BREAKS_IN_A_ROW;
      if (answer || !(isLate || isRefused || isBroken)) {
        const why = isLate ? late(request) : `the connection failed (${told})`;
        throw new UpstreamError("unusable", why, { isBroken: !answer, cause: error });
      }
      const place = isLate ? undefined : this.#connections.proxyOf?.(hostname);
      const what =
        place === undefined ? "the connection failed" : "the proxy of the service gives no connection";
      const why = isLate ? late(request) : `${what} (${isRefused ? code : told})`;
      throw new UpstreamError("unusable", `${host} cannot be reached: ${why}`, {
        unreachable: isLate ? "no answer" : "no connection",
        proxy: place === undefined ? undefined : { place, why: words },
        cause: error,
      });
    }
  }

  /** As `Connections.open`. Never rejects: the call that follows reports the failure. */
  async open(): Promise<void> {
    await this.#connections.open().catch(() => {});
  }

  close(): Promise<void> {
    return this.#connections.close();
  }
}

function late({ deadlineMs }: UpstreamRequest): string {
  return `no complete answer within ${deadlineMs} ms`;
}

/**
 * The innermost cause's code ("" if none) and words for it: `fetch failed` alone explains nothing. `told`:
 * the same for callers, without the addresses of the operator's network that the system and TLS may name.
 */
function failureIn(error: unknown): { code: string; words: string; told: string } {
  if (!(error instanceof Error)) return { code: "", words: UNKNOWN, told: UNKNOWN };
  if (error.cause instanceof Error) return failureIn(error.cause);
  const code = "code" in error && error.code !== undefined ? String(error.code) : "";
  const message = stripMarkup(error.message);
  const words = message.includes(code) ? message : `${code}: ${message}`;
  return { code, words, told: code === "" || code.startsWith(OF_UNDICI) ? withoutAddresses(words) : code };
}
