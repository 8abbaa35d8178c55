/**
 * HTTP to the upstream: one pool per host, a proxy where the environment names one (never for loopback addresses), a
 * deadline and a size limit on every answer, redirects never followed. Whatever goes wrong is an `UpstreamError`.
 */
import { Agent, EnvHttpProxyAgent, fetch, type Response } from "undici";
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { BOUNDS } from "../bounds.ts";
import { UpstreamError } from "../errors.ts";
import { stripMarkup } from "../readers/text.ts";

const CONNECT_TIMEOUT_MS = 5000;
/** How connecting fails, by the system's codes and undici's. */
const NO_CONNECTION = new Set([
  "EACCES",
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
]);
const LOOPBACK = /^(?:(?:.+\.)?localhost|127(?:\.\d{1,3}){3}|\[::1\])$/;
/** Few answers are larger. */
const FIRST_BYTES = 256 * 1024;

export interface UpstreamRequest {
  method: "GET" | "POST";
  url: string;
  headers: Record<string, string>;
  body?: string;
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

// HTTP/1.1, on which a call that is given up takes its connection along. Of HTTP/2 all calls share one, and one that
// has gone silent would fail them all for as long as it stands.
const CONNECTIONS = { connect: { timeout: CONNECT_TIMEOUT_MS }, allowH2: false };

export class Transport {
  readonly #clock: Clock;
  readonly #direct = new Agent(CONNECTIONS);
  readonly #proxied = proxyAgent();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The answer as it came, whatever its status. Rejects with `UpstreamError` "unusable", or the signal's reason. */
  async send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const beganAt = this.#clock.monotonic();
    const { hostname, host } = new URL(request.url);
    using deadline = new Deadline(this.#clock, request.deadlineMs);
    let response: Response | undefined;
    try {
      response = await fetch(request.url, {
        method: request.method,
        headers: request.headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        redirect: "manual",
        dispatcher: LOOPBACK.test(hostname) ? this.#direct : this.#proxied,
        signal: AbortSignal.any([signal, deadline.signal]),
      });
      const { status, headers } = response;
      const text = await boundedText(response);
      return {
        status,
        header: (name) => headers.get(name) ?? undefined,
        text,
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
      if (isLate ? response : !NO_CONNECTION.has(code)) {
        throw new UpstreamError("unusable", why, { cause: error });
      }
      const unreachable = isLate ? "no answer" : "no connection";
      throw new UpstreamError("unusable", `${host} cannot be reached: ${why}`, { unreachable, cause: error });
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#direct.destroy(), this.#proxied.destroy()]);
  }
}

/** Uses the proxy that the environment names, if any. Throws an error that says what it must be. */
function proxyAgent(): EnvHttpProxyAgent {
  try {
    return new EnvHttpProxyAgent(CONNECTIONS);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new Error(`HTTPS_PROXY, HTTP_PROXY: must be a URL such as http://host:3128 (${why})`);
  }
}

/**
 * The body as text, decompressed, cut off with an error beyond the limit: a small gzip can hold gigabytes. Written
 * into one buffer as it comes: kept in pieces, a body that comes byte by byte would cost hundreds for each.
 */
async function boundedText(response: Response): Promise<string> {
  let bytes = Buffer.allocUnsafe(FIRST_BYTES);
  let size = 0;
  for await (const chunk of response.body ?? []) {
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
