/** `settings`: prints the settings as they apply, and where each comes from, without secrets. */

import { WATCH_FLAGS } from "../../terminal/reader/reader-flags.ts";
import { type AppliedSetting, type Input, unknownVariables } from "./flags.ts";
import { print } from "./output.ts";
import type { ProcessIo } from "./process-io.ts";
import { ALL_SETTINGS } from "./setting-table.ts";
import { tableOf } from "./text-table.ts";

const COLUMNS = {
  setting: ({ name }: AppliedSetting) => name,
  from: ({ from }: AppliedSetting) => from,
  value: ({ text }: AppliedSetting) => text,
};

/** Resolves to the exit code. Unknown variables are reported on standard error. */
export async function printSettings(
  { settings }: Pick<Input<typeof ALL_SETTINGS>, "settings">,
  { env, stdout, stderr }: ProcessIo,
): Promise<number> {
  for (const line of unknownVariables({ ...ALL_SETTINGS, ...WATCH_FLAGS }, env))
    stderr.write(`livechat-relay: ${line}\n`);
  await print(tableOf(COLUMNS, settings), stdout);
  return 0;
}
