/** Opens the store that a setting or a flag names. */
import { openStore, StoreOpenError } from "../store/open.ts";

/** As `openStore`; the message of a `StoreOpenError` begins with the name of the setting or flag. */
export async function openNamedStore(name: string, ...args: Parameters<typeof openStore>) {
  return openStore(...args).catch((error) => {
    throw error instanceof StoreOpenError ? new Error(`${name}: ${error.message}`, { cause: error }) : error;
  });
}
