/**
 * The service at a URL: calls its endpoints by path, and turns every failure of a call into a `ChatError`.
 */

import { unlessAborted } from "./abortable.ts";
import type { Clock } from "./clock.ts";
import { ChatError } from "./error.ts";
import { type Stream, VIDEO } from "./streams.ts";
import type { NamedOptions, RequestOptions } from "./types.ts";

export class Service {
  /** What the caller wants to read, as it named it. */
  readonly names: readonly string[];
  readonly #base: URL;
  readonly #options: RequestOptions;
  readonly #clock: Clock;

  /**
   * Throws `TypeError` if the URL is unusable, or if the option lacks the names that the stream needs.
   * Without a `stream`, the caller asks about one video.
   */
  constructor(url: string | URL, options: NamedOptions, clock: Clock, stream?: Stream) {
    // A text without a scheme gets one that is refused.
    this.#base = new URL(`${url}`.replace(/[\s/]*$/, "/"), "a://b");
    if (!/^https?:..[^/@]+\/[^?#]*$/.test(this.#base.href))
      throw new TypeError("url: must be like http://host:8080/path.");
    const { option, form } = stream ?? VIDEO;
    this.names = [options?.[option] ?? []].flat();
    if (!form.test(this.names.join()))
      throw new TypeError(`${option}${stream === VIDEO ? " or channel" : ""}: is missing or invalid.`);
    this.#options = options;
    this.#clock = clock;
  }

  /** Resolves to an answer with status 200. Rejects with `ChatError`, or with the signal's reason. */
  async request(
    path: string,
    signal: AbortSignal | undefined,
    init: RequestInit & { headers: Record<string, string> } = { headers: {} },
  ): Promise<Response> {
    const { fetch = globalThis.fetch } = this.#options;
    const sent = new Headers(this.#options.headers);
    for (const [name, value] of Object.entries(init.headers)) sent.set(name, value);
    const response = await orNetworkError(
      async () =>
        fetch(new URL(path, this.#base).href, { ...init, headers: sent, ...(signal && { signal }) }),
      signal,
      `${this.#base.host} cannot be reached.`,
    );
    const { status, statusText, headers } = response;
    if (status === 200) return response;
    // A proxy in front of the service may send an endless body.
    const isJson = /json/.test(`${headers.get("content-type")}`);
    let { code, message } = (isJson && (await jsonOf(response, signal).catch(unlessAbort))) || {};
    response.body?.cancel().catch(() => {}); // it may be read
    if (typeof code !== "string" || typeof message !== "string") {
      code = "HTTP";
      message = `The answer is ${status} ${statusText}`.trim();
    }
    throw new ChatError(code, message, { status, ...retryAfterIn(headers, this.#clock.now()) });
  }

  /** Resolves to the JSON of the answer, which must have the array `list`. A `body` is posted as JSON. */
  async ask<T>(path: string, list: keyof T, body?: object): Promise<T> {
    const { signal } = this.#options;
    const init = body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const response = await this.request(path, signal, init);
    const answer = await jsonOf(response, signal);
    if (Array.isArray(answer?.[list])) return answer;
    throw new ChatError("HTTP", "The answer is not the service's.", { status: response.status });
  }
}

/** Ignores that the body of a refusal was cut or stalls: its status says enough. */
function unlessAbort(error: unknown): void {
  if (!(error instanceof ChatError)) throw error;
}

async function jsonOf(response: Response, signal: AbortSignal | undefined) {
  return parseJson(await orNetworkError(() => response.text(), signal, "The connection was cut."));
}

/** The value of a JSON text; undefined if the text is not JSON. */
export function parseJson(text: string) {
  try {
    return JSON.parse(text);
  } catch {} // the caller knows what it means
}

/** The path with a query of these values; those that are undefined or empty are left out. */
export function withQuery(path: string, values: Record<string, unknown>): string {
  const given = Object.entries(values).filter(([, value]) => `${value ?? ""}`);
  return `${path}?${new URLSearchParams(given as [string, string][])}`;
}

/** Turns any failure into a `ChatError` with this message, and an abort into its reason. */
export function orNetworkError<T>(
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
  message: string,
): Promise<T> {
  return unlessAborted(work(), signal).catch((cause) => {
    if (signal?.aborted) throw signal.reason;
    throw new ChatError("NETWORK", message, { cause });
  });
}

/** The wait that `Retry-After` asks for by seconds or a date; empty if it is neither, or in the past. */
function retryAfterIn(headers: Headers, now: number): { retryAfterMs?: number } {
  const value = `${headers.get("retry-after")}`;
  const retryAfterMs = Number(value) * 1000 || Date.parse(value) - now;
  return retryAfterMs >= 0 ? { retryAfterMs } : {};
}
