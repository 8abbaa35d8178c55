/** Turns a failure of the store into the refusal that callers get. Any other error passes unchanged. */
import { StoreError } from "../store/store-error.ts";

/** For a `catch`: throws a `StoreError` as the refusal that callers get, and any other error as it is. */
export function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreError ? error.refusal : error;
}
