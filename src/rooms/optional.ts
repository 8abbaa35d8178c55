/** What a room can do without. */
import { RelayError } from "../protocol/errors.ts";
import { UpstreamError } from "../upstream/errors.ts";

/** Undefined where the upstream does not give what is asked for. */
export async function optional<T>(outcome: Promise<T>): Promise<T | undefined> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof RelayError || error instanceof UpstreamError) return undefined;
    throw error;
  }
}
