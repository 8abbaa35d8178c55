/**
 * The failure of an edge's requests while its origin is away. The edge treats it as an unavailable store:
 * readers wait and try again.
 */
import { atCapacity } from "../protocol/capacity.ts";
import { RelayError } from "../protocol/errors.ts";
import { StoreError } from "../store/store-error.ts";

/**
 * The origin cannot be reached, something else answers in its place, or it cannot answer for now. It is to an
 * edge what an unavailable store is to others: readers wait and try again. The message says what happened.
 */
export class OriginAwayError extends StoreError {
  override readonly name = "OriginAwayError";

  constructor(why: string, cause?: unknown) {
    super("unavailable", `the origin is away: ${why}`, { cause });
  }

  /** The origin's own refusal, if that is the cause. */
  override get refusal(): RelayError {
    if (this.cause instanceof RelayError) return this.cause;
    return atCapacity("origin", undefined, this);
  }
}
