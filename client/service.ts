/**
 * The service at a URL: calls its endpoints by path, and turns every failure of a call into a `ChatError`.
 */
import type { Clock } from "./clock.ts";
import { ChatError } from "./error.ts";
import type { ProbeOptions } from "./types.ts";
import { unlessAborted } from "./waiting.ts";

/** The maximum length of an error body to read: a proxy in front of the service may send anything. */
const MAX_ERROR_LENGTH = 65_536;

export class Service {
  readonly videoId: string;
  readonly #base: URL;
  readonly #options: ProbeOptions;
  readonly #clock: Clock;

  /** Throws `TypeError` if the URL is unusable or there is no `videoId`. */
  constructor(url: string | URL, options: ProbeOptions, clock: Clock) {
    this.#base = new URL(url);
    this.#base.pathname = this.#base.pathname.replace(/\/*$/, "/");
    const { protocol, username, password, search, hash } = this.#base;
    if (!/^https?:$/.test(protocol) || username || password || search || hash)
      throw new TypeError(
        "url: must begin with http: or https:, and hold no password, query or fragment; use the option headers for keys.",
      );
    this.videoId = options?.videoId;
    if (typeof this.videoId !== "string" || !this.videoId.trim())
      throw new TypeError("videoId: is required.");
    this.#options = options;
    this.#clock = clock;
  }

  /** Resolves to an answer with status 200. Rejects with `ChatError`, or with the signal's reason. */
  async request(path: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    const { fetch = globalThis.fetch } = this.#options;
    const headers = new Headers(this.#options.headers);
    new Headers(init.headers).forEach((value, name) => {
      headers.set(name, value);
    });
    const url = new URL(path, this.#base).href;
    const response = await orNetworkError(
      async () => fetch(url, { ...init, headers, ...(signal && { signal }) }),
      signal,
      `${this.#base.host} cannot be reached.`,
    );
    if (response.status === 200) return response;
    const words = await orNetworkError(() => beginningOf(response, signal), signal, "The answer broke off.");
    throw refusal(response, words, this.#clock.now());
  }

  /** Resolves to the JSON of the answer, which must have the array `list`. A `body` is posted as JSON. */
  async ask<T>(path: string, list: keyof T, body?: object): Promise<T> {
    const { signal } = this.#options;
    const init = body && {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    };
    const response = await this.request(path, init ?? {}, signal);
    const text = await orNetworkError(() => response.text(), signal, "The answer broke off.");
    let cause: unknown;
    try {
      const answer = JSON.parse(text);
      if (Array.isArray(answer?.[list])) return answer;
    } catch (error) {
      cause = error;
    }
    throw new ChatError("HTTP", "The answer is not the service's.", { status: 200, cause });
  }
}

/** The path with a query of these values; those that are undefined or empty are left out. */
export function withQuery(path: string, values: Record<string, unknown>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    const text = `${value ?? ""}`;
    if (text) query.set(name, text);
  }
  return `${path}?${query}`;
}

/**
 * Yields the chunks of the body as they arrive; leaving the loop closes the connection. `wait` wraps each
 * read.
 */
export async function* chunksOf(
  { body }: Response,
  wait: <T>(work: Promise<T>) => Promise<T>,
): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    while (reader) {
      const { done, value } = await wait(reader.read());
      if (done) return;
      yield value;
    }
  } finally {
    reader?.cancel().catch(() => {}); // it may have failed already
  }
}

/** Turns any failure into a `ChatError` with this message, and an abort into its reason. */
export function orNetworkError<T>(
  work: () => Promise<T>,
  signal: AbortSignal | undefined,
  message: string,
): Promise<T> {
  return unlessAborted(work(), signal).catch((cause) => {
    if (signal?.aborted) throw signal.reason;
    throw cause instanceof ChatError ? cause : new ChatError("NETWORK", message, { cause });
  });
}

async function beginningOf(response: Response, signal: AbortSignal | undefined): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of chunksOf(response, (read) => unlessAborted(read, signal))) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_ERROR_LENGTH) break;
  }
  return text;
}

function refusal({ status, statusText, headers }: Response, text: string, now: number): ChatError {
  const options = { status, retryAfterMs: parseRetryAfter(headers.get("retry-after"), now) };
  try {
    const { code, message } = JSON.parse(text);
    if (typeof code === "string" && typeof message === "string")
      return new ChatError(code as "HTTP", message, options);
  } catch {
    // a proxy in front of the service answers in its own format
  }
  return new ChatError("HTTP", `The answer is ${status} ${statusText}`.trim(), options);
}

/** The wait in milliseconds, from seconds or a date; undefined if the value is neither, or in the past. */
function parseRetryAfter(value: string | null, now: number): number | undefined {
  const ms = /^\d+$/.test(value ?? "") ? Number(value) * 1000 : Date.parse(value ?? "") - now;
  return ms >= 0 ? ms : undefined;
}
