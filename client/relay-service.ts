/**
 * The service at a URL: calls its endpoints by path, and turns every failure of a call into a `ChatError`.
 */

import { unlessAborted } from "./abortable.ts";
import { ChatError } from "./chat-error.ts";
import type { Clock } from "./sdk-clock.ts";
import { type Stream, VIDEO } from "./stream-table.ts";
import type { NamedOptions, RequestOptions } from "./types.ts";

export class Service {
  /** What the caller wants to read, as it named it. */
  readonly names: readonly string[];
  /** Whether a request was sent since somebody set it to false: it waits for the token. */
  isSent = false;
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
      throw new TypeError("url: must be like http://host/path.");
    const { option, form } = stream ?? VIDEO;
    const named = [options?.[option] ?? []].flat();
    this.names = named.concat(options?.channels ?? []);
    if (!this.names[0] || !named.every((name) => form.test(name)))
      throw new TypeError(`${stream === VIDEO ? "videoId or channel" : option}: is missing or invalid.`);
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Resolves to an answer with a status of 2xx. Rejects with `ChatError`, or the signal's reason. The token
   * of a function may have just expired: after a 401, the function is asked once more.
   */
  async request(
    path: string,
    signal: AbortSignal | undefined,
    added: Record<string, string> = {},
    body?: object,
    isRepeated?: boolean,
  ): Promise<Response> {
    const { fetch = globalThis.fetch, headers: own, token } = this.#options;
    const sent = new Headers(own);
    for (const [name, value] of Object.entries(added)) if (value !== undefined) sent.set(name, value);
    const isAsked = typeof token === "function";
    const bearer = isAsked ? await orNetworkError(token, signal, "The token cannot be read.") : token;
    if (bearer) sent.set("authorization", `Bearer ${bearer}`);
    if (body) sent.set("content-type", "application/json");
    this.isSent = true;
    const response = await orNetworkError(
      () =>
        fetch(`${this.#base}${path}`, {
          method: (body && "POST") as string,
          body: JSON.stringify(body),
          headers: sent,
          signal: signal as AbortSignal,
        }),
      signal,
      `${this.#base.host} cannot be reached.`,
    );
    const { status, headers } = response;
    if (response.ok) return response;
    // A proxy in front of the service may send an endless body.
    const type = headers.get("content-type") as string;
    let { code, message } = (/json/.test(type) && (await jsonOf(response, signal).catch(unlessAbort))) || {};
    response.body?.cancel().catch(() => {}); // it may be read
    if (isAsked && status === 401 && !isRepeated) return this.request(path, signal, added, body, true);
    if (typeof code !== "string" || typeof message !== "string") {
      code = "HTTP";
      message = `The answer is ${status}.`;
    }
    // In seconds, or as a date.
    const after = headers.get("retry-after") as string;
    const retryAfterMs = Number(after) * 1000 || Date.parse(after) - this.#clock.now();
    const wait = retryAfterMs < Infinity && { retryAfterMs: Math.max(retryAfterMs, 0) };
    throw new ChatError(code, message, { status, ...wait });
  }

  /** Resolves to the JSON of the answer, which must have the array `list`. A `body` is posted as JSON. */
  async ask<T>(path: string, list: keyof T, body?: object): Promise<T> {
    const { signal } = this.#options;
    const response = await this.request(path, signal, {}, body);
    const answer = await jsonOf(response, signal);
    if (Array.isArray(answer?.[list])) return answer;
    throw foreignAnswer(response.status);
  }
}

/** The error for an answer with a good status that something else than the service has sent. */
export function foreignAnswer(status: number): ChatError {
  return new ChatError("HTTP", "The answer is not the service's.", { status });
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

/** Turns any other failure into a `ChatError` with this message, and an abort into its reason. */
export function orNetworkError<T>(
  work: () => T | Promise<T>,
  signal: AbortSignal | undefined,
  message: string,
): Promise<T> {
  return unlessAborted(Promise.resolve().then(work), signal).catch((cause) => {
    if (signal?.aborted) throw signal.reason;
    throw cause instanceof ChatError ? cause : new ChatError("NETWORK", message, { cause });
  });
}
