/**
 * HTTP to the upstream: one pool per host, a proxy where the environment names one, a deadline and a size limit
 * on every answer, redirects never followed. Whatever goes wrong is an `UpstreamError`.
 */
import { EnvHttpProxyAgent, fetch, type Response } from "undici";
import type { Clock } from "../clock.ts";
import { UpstreamError } from "./errors.ts";

/** Watch pages reach 2 MB; an answer several times that size is none. */
const MAX_ANSWER_BYTES = 12 * 1024 * 1024;
const CONNECT_TIMEOUT_MS = 5000;

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
}

export class Transport {
  readonly #clock: Clock;
  readonly #agent = new EnvHttpProxyAgent({ connect: { timeout: CONNECT_TIMEOUT_MS } });

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The answer as it came, whatever its status. Rejects with `UpstreamError` "unusable", or the signal's reason. */
  async send(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer> {
    const deadline = AbortSignal.timeout(request.deadlineMs);
    try {
      const response = await fetch(request.url, {
        method: request.method,
        headers: request.headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        redirect: "manual",
        dispatcher: this.#agent,
        signal: AbortSignal.any([signal, deadline]),
      });
      const text = await boundedText(response);
      return {
        status: response.status,
        header: (name) => response.headers.get(name) ?? undefined,
        text,
        receivedAt: this.#clock.now(),
      };
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      if (error instanceof UpstreamError) throw error;
      const why = deadline.aborted ? `no complete answer within ${request.deadlineMs} ms` : reasonOf(error);
      throw new UpstreamError("unusable", why, { cause: error });
    }
  }

  async close(): Promise<void> {
    await this.#agent.destroy();
  }
}

/** The body as text, decompressed, cut off with an error beyond the limit: a small gzip can hold gigabytes. */
async function boundedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_ANSWER_BYTES) {
      throw new UpstreamError("unusable", `the answer is larger than ${MAX_ANSWER_BYTES} bytes`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** The innermost cause says most: `fetch failed` alone tells nobody anything. */
function reasonOf(error: unknown): string {
  let innermost = error;
  while (innermost instanceof Error && innermost.cause instanceof Error) innermost = innermost.cause;
  if (!(innermost instanceof Error)) return "the connection failed";
  const code = "code" in innermost ? `${innermost.code}: ` : "";
  return `the connection failed (${code}${innermost.message})`;
}
