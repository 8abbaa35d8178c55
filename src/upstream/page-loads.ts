/**
 * The pages and scripts that one bootstrap loads. Each makes up for those before it, so none may be left out because
 * another got no answer; but if the host answers nothing at all, the caller must soon get an answer.
 */
import type { CallTimes } from "../clock.ts";
import type { JsonObject } from "../json.ts";
import type { UpstreamCalls } from "./calls.ts";
import type { Answered, CallOptions } from "./egress/flights.ts";
import { UpstreamError } from "./errors.ts";
import type { Credentials } from "./page/credentials.ts";

/** The deadline of a page after one that was not answered: five pages of a silent host take less than 20 s. */
const AFTER_SILENCE_MS = 1200;
/** That of the first page of an opening, in milliseconds: it holds a place for which others wait. */
const OPENING_MS = 7000;

export class PageLoads {
  readonly #calls: UpstreamCalls;
  readonly #options: CallOptions;
  #isSilent = false;
  #times: CallTimes | undefined;

  constructor(calls: UpstreamCalls, options: CallOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  /** Of the load that was answered last. Throws where none was. */
  get times(): CallTimes {
    if (!this.#times) throw new Error("no page was loaded");
    return this.#times;
  }

  /** The text of a page or script, by its path with the query. Rejects as `UpstreamCalls.page` does. */
  page(path: string): Promise<string> {
    return this.#load((deadlineMs) => this.#calls.page(path, this.#options, deadlineMs));
  }

  /** The initial data that a video's watch page would hold; undefined where it is not known. Rejects as `UpstreamCalls.page` does. */
  next(videoId: string, credentials: Credentials): Promise<JsonObject | undefined> {
    return this.#load((deadlineMs) => this.#calls.next(videoId, credentials, this.#options, deadlineMs));
  }

  async #load<T>(call: (deadlineMs?: number) => Promise<Answered<T>>): Promise<T> {
    const firstMs = this.#options.lane === "opening" ? OPENING_MS : undefined;
    const deadlineMs = this.#isSilent ? AFTER_SILENCE_MS : firstMs;
    this.#isSilent = false;
    try {
      const { value, ...times } = await call(deadlineMs);
      this.#times = times;
      return value;
    } catch (error) {
      this.#isSilent = error instanceof UpstreamError && error.unreachable === "no answer";
      throw error;
    }
  }
}
