/**
 * The pages and scripts that one bootstrap loads. Each makes up for those before it, so none may be left out because
 * another got no answer; but if the host answers nothing at all, the caller must soon get an answer.
 */
import type { UpstreamCalls } from "./calls.ts";
import { UpstreamError } from "./errors.ts";
import type { CallOptions } from "./flights.ts";

/** The deadline of a page after one that was not answered: four pages of a silent host take less than 20 s. */
const AFTER_SILENCE_MS = 1200;

/** Loads the text of a page or script, by its path with the query. Rejects as `UpstreamCalls.page` does. */
export type LoadPage = (path: string) => Promise<string>;

export function pageLoads(calls: UpstreamCalls, options: CallOptions): LoadPage {
  let isSilent = false;
  return async (path) => {
    const deadlineMs = isSilent ? AFTER_SILENCE_MS : undefined;
    isSilent = false;
    try {
      return await calls.page(path, options, deadlineMs);
    } catch (error) {
      isSilent = error instanceof UpstreamError && error.unreachable === "no answer";
      throw error;
    }
  };
}
