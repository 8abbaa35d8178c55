/** The refusals of a service that is full or stops, or whose store fails. */
import { RelayError } from "../protocol/errors.ts";
import { StoreError } from "../store/port.ts";

/** The `Retry-After` when the maximum number of rooms or viewers is reached. */
const CAPACITY_RETRY_MS = 30_000;

export function atCapacity(message: string, retryAfterMs = CAPACITY_RETRY_MS): RelayError {
  return new RelayError("CAPACITY", message, { retryAfterMs });
}

/** For a `catch`: throws a `StoreError` as the refusal that callers get, and any other error as it is. */
export function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreError ? error.refusal : error;
}

export function stopping(): RelayError {
  return atCapacity("The service is stopping; connect again.", 1000);
}
