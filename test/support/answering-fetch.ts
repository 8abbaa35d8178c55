/**
 * A `fetch` without sockets, by a clock that a test owns: the first call is given the first answer, and so
 * on; all further ones the last. It keeps when it was called.
 */
import type { FakeClock } from "./fake-clock.ts";

export type Answer = () => Response | Promise<Response>;

export class AnsweringFetch {
  /** The times of the calls, in milliseconds. */
  readonly calls: number[] = [];
  readonly fetch: typeof globalThis.fetch;

  constructor(clock: FakeClock, ...answers: Answer[]) {
    this.fetch = async () => {
      const answer = answers[this.calls.length] ?? answers.at(-1);
      this.calls.push(clock.monotonic());
      return answer?.() ?? Response.error();
    };
  }
}

/** Opens a stream, sends the texts with pauses of the given milliseconds between them, and ends it. */
export function streamed(clock: FakeClock, ...steps: (string | number)[]): Answer {
  return () => {
    const play = async function* () {
      for (const step of steps) {
        if (typeof step === "string") yield new TextEncoder().encode(step);
        else await clock.sleep(step);
      }
    };
    const headers = { "content-type": "text/event-stream" };
    return new Response(ReadableStream.from(play()), { headers });
  };
}

export const silent: Answer = () => new Promise(() => {});

/** 503, with a Retry-After if one is given. */
export const busy =
  (retryAfter?: string): Answer =>
  () =>
    new Response("", {
      status: 503,
      ...(retryAfter !== undefined && { headers: { "retry-after": retryAfter } }),
    });
