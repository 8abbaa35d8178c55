/** `backup`: copies the store while the service runs. */
import { stat } from "node:fs/promises";
import { dirname } from "node:path";
import { MISSING, missing } from "../base/file-trouble.ts";
import { backupStore } from "../store/open.ts";
import { StoreError } from "../store/store-error.ts";
import { type Input, UsageError } from "./flags.ts";
import type { ProcessIo } from "./process-io.ts";
import type { SETTINGS } from "./setting-table.ts";
import { refuseStoreName } from "./wrong-store.ts";

type BackupFlags = Pick<typeof SETTINGS, "RELAY_STORE">;

/** Resolves to the exit code. Rejects with an error whose message is one line. */
export async function backup(
  { values, arguments: [file = ""] }: Input<BackupFlags>,
  { stderr }: ProcessIo,
): Promise<number> {
  await backupStore(values.RELAY_STORE, file).catch((error) => {
    // An error of the writing has a cause; that the store is missing has none.
    const isFolderMissing = error instanceof StoreError && missing(dirname(file)) === MISSING;
    if (isFolderMissing && error.cause) throw new UsageError(error.message, { cause: error });
    return refuseStoreName(error);
  });
  stderr.write(`livechat-relay: ${file}: ${(await stat(file)).size} bytes\n`);
  return 0;
}
