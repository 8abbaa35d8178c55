/** `backup`: copies the store while the service runs. */
import { stat } from "node:fs/promises";
import { backupStore } from "../store/open.ts";
import type { Input } from "./flags.ts";
import type { ProcessIo } from "./process-io.ts";
import type { SETTINGS } from "./setting-table.ts";
import { refuseStoreName } from "./wrong-store.ts";

type BackupFlags = Pick<typeof SETTINGS, "RELAY_STORE">;

/** Resolves to the exit code. Rejects with an error whose message is one line. */
export async function backup(
  { values, arguments: [file = ""] }: Input<BackupFlags>,
  { stderr }: ProcessIo,
): Promise<number> {
  await backupStore(values.RELAY_STORE, file).catch(refuseStoreName);
  stderr.write(`livechat-relay: ${file}: ${(await stat(file)).size} bytes\n`);
  return 0;
}
