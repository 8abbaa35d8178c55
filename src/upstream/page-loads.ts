/**
 * The pages and scripts that one bootstrap loads. Each makes up for those before it, so none may be left out because
 * another got no answer; but where the host answers nothing at all, whoever asked must soon have an answer.
 */
import type { UpstreamCalls } from "./calls.ts";
import { UpstreamError } from "./errors.ts";
import type { CallOptions } from "./flights.ts";

/** The deadline of a page after one that was not answered: four pages of a silent host take less than 20 s. */
const AFTER_SILENCE_MS = 1200;

export class PageLoads {
  readonly #calls: UpstreamCalls;
  readonly #options: CallOptions;
  /** Whether the last page was not answered at all. */
  #isSilent = false;

  constructor(calls: UpstreamCalls, options: CallOptions) {
    this.#calls = calls;
    this.#options = options;
  }

  /** Rejects as `UpstreamCalls.page` does. */
  async text(path: string): Promise<string> {
    const deadlineMs = this.#isSilent ? AFTER_SILENCE_MS : undefined;
    this.#isSilent = false;
    try {
      return await this.#calls.page(path, this.#options, deadlineMs);
    } catch (error) {
      this.#isSilent = error instanceof UpstreamError && error.unreachable === "no answer";
      throw error;
    }
  }
}
