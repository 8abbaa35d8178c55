/**
 * The pages and scripts that one bootstrap, or one look at a channel, loads. In a bootstrap each is a
 * substitute for the previous ones, so a load must not be skipped because another got no answer. But if the
 * host does not answer at all, the caller must soon get an error. And a load that follows an unanswered one
 * is due as if it were new: the calls of others that wait go first.
 */
import type { CallTimes } from "../base/clock.ts";
import type { JsonObject } from "../base/json.ts";
import type { UpstreamCalls } from "./calls.ts";
import type { Answered, CallOptions } from "./egress/flights.ts";
import type { Credentials } from "./page/credentials.ts";
import { UpstreamError } from "./upstream-error.ts";

/** Deadline of a page after an unanswered one: five pages of a silent host take less than 20 s. */
const AFTER_SILENCE_MS = 1200;
/** Deadline of a page of an opening: it holds a place for which others wait. */
const OPENING_MS = 7000;

export class PageLoads {
  readonly #calls: UpstreamCalls;
  readonly #options: CallOptions;
  #silence: UpstreamError | undefined;
  #times: CallTimes | undefined;

  constructor(calls: UpstreamCalls, options: CallOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  /** The times of the latest answered load. Throws if there was none. */
  get times(): CallTimes {
    if (!this.#times) throw new Error("no page was loaded");
    return this.#times;
  }

  /**
   * The error of the latest load if that got no answer; of the first of several such loads in a row, which
   * names the deadline that matters.
   */
  get silence(): UpstreamError | undefined {
    return this.#silence;
  }

  /** The text of a page or script, as `UpstreamCalls.page` loads it. Rejects like that. */
  page(path: string, kind?: string): Promise<string> {
    return this.#load((options, deadlineMs) => this.#calls.page(path, options, deadlineMs, kind));
  }

  /** A watch page's initial data; undefined for an unknown video. Rejects like `UpstreamCalls.page`. */
  next(videoId: string, credentials: Credentials): Promise<JsonObject | undefined> {
    return this.#load((options, deadlineMs) => this.#calls.next(videoId, credentials, options, deadlineMs));
  }

  async #load<T>(call: (options: CallOptions, deadlineMs?: number) => Promise<Answered<T>>): Promise<T> {
    const { dueAt: _, ...asNew } = this.#options;
    const firstMs = asNew.lane === "opening" ? OPENING_MS : undefined;
    const before = this.#silence;
    this.#silence = undefined;
    try {
      const { value, ...times } = before
        ? await call(asNew, AFTER_SILENCE_MS)
        : await call(this.#options, firstMs);
      this.#times = times;
      return value;
    } catch (error) {
      if (!(error instanceof UpstreamError) || error.unreachable !== "no answer") throw error;
      this.#silence = before ?? error;
      throw this.#silence;
    }
  }
}
