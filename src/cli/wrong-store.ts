/** A command's store has a name that the command cannot use: wrong usage, as any other wrong value. */
import { StoreNameError } from "../store/open.ts";
import { UsageError } from "./flags.ts";

/** For a `catch`: throws `UsageError` in place of `StoreNameError`, and any other error as it is. */
export function refuseStoreName(error: unknown): never {
  throw error instanceof StoreNameError ? new UsageError(error.message, { cause: error }) : error;
}
