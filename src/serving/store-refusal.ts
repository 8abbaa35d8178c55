/** The refusal of a service whose store fails. */
import { StoreError } from "../store/store-error.ts";

/** For a `catch`: throws a `StoreError` as the refusal that callers get, and any other error as it is. */
export function refuseUnavailable(error: unknown): never {
  throw error instanceof StoreError ? error.refusal : error;
}
