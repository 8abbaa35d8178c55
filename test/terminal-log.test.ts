/** The log on a terminal: readable lines, in colour unless `NO_COLOR` is set. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { outcome } from "./support/command.ts";

const LOGGING = `
  import { createLog } from "./src/telemetry/log.ts";
  const log = createLog("info");
  log.debug("unseen");
  log.warn({ video: "a\\nb", counts: [1, 2] }, "slow");
  log.error({ err: new Error("broken") });
`;

/** The lines that the code writes to a terminal, without the times. */
async function linesOf(env: NodeJS.ProcessEnv): Promise<string[]> {
  const { PATH } = process.env;
  const { code, out } = await outcome([`'${process.execPath}' --input-type=module -e "$CODE"`, "/dev/null"], {
    env: { PATH, TERM: "xterm", SHELL: "/bin/sh", CODE: LOGGING, ...env },
    node: "script",
    main: "-qec",
  });
  assert.equal(code, 0, out);
  return out.replace(/^\[\d\d:\d\d:\d\d\] /gm, "").split("\r\n");
}

it("shows time, level, message and each field, and an error's stack", async () => {
  const [first, ...rest] = await linesOf({ NO_COLOR: "1" });
  assert.deepEqual([first, ...rest.slice(0, 2)], ["WARN: slow", '    video: "a\\nb"', "    counts: [1,2]"]);
  assert.deepEqual(rest.slice(2, 4), ["ERROR: broken", "    err: Error: broken"]);
  assert.match(rest[4] ?? "", /^ {8}at /);
});

it("colours levels, messages and the names of fields", async () => {
  const [first, second] = await linesOf({});
  assert.equal(first, "\x1b[33mWARN\x1b[39m: \x1b[36mslow\x1b[39m");
  assert.equal(second, '    \x1b[35mvideo\x1b[39m: "a\\nb"');
});
