/** The log on a terminal: readable lines, in colour if it shows colours; and the command that reads it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { createLog } from "../../src/telemetry/log.ts";
import { ROOT } from "../support/command.ts";

/** The lines written to a terminal of this many colours (in bits), without the times. */
function linesOn(colorDepth: number): string[] {
  let out = "";
  const terminal = new Writable({
    write(chunk, _encoding, done) {
      out += chunk;
      done();
    },
  });
  const log = createLog("info", Object.assign(terminal, { isTTY: true, getColorDepth: () => colorDepth }));
  log.debug("unseen");
  log.warn({ video: "a\nb", counts: [1, 2] }, "slow");
  log.error({ err: new Error("broken") });
  return out.replace(/^\[\d\d:\d\d:\d\d\] /gm, "").split("\n");
}

describe("the log on a terminal", () => {
  it("shows time, level, message and each field, and an error's stack", () => {
    const [first, ...rest] = linesOn(1);
    assert.deepEqual([first, ...rest.slice(0, 2)], ["WARN: slow", '    video: "a\\nb"', "    counts: [1,2]"]);
    assert.deepEqual(rest.slice(2, 4), ["ERROR: broken", "    err: Error: broken"]);
    assert.match(rest[4] ?? "", /^ {8}at /);
  });

  it("colours levels, messages and the names of fields", () => {
    const [first, second] = linesOn(8);
    assert.equal(first, "\x1b[33mWARN\x1b[39m: \x1b[36mslow\x1b[39m");
    assert.equal(second, '    \x1b[35mvideo\x1b[39m: "a\\nb"');
  });
});

it("the documented command shows the log's warnings and skips lines of others", {
  skip: spawnSync("jq", ["--version"]).error ? "jq is not installed" : false,
}, () => {
  const manual = readFileSync(join(ROOT, "docs/operations.md"), "utf8");
  const [, command = ""] = /`journalctl [^`]* (jq [^`]*)`/.exec(manual) ?? [];
  const log = [
    "Started livechat-relay.service.",
    '{"level":30}',
    "stopped: {",
    '{"level":40}',
    '{"level":50}',
  ];
  const { stdout, status } = spawnSync("sh", ["-c", command.replaceAll("\\|", "|")], {
    input: `${log.join("\n")}\n`,
    encoding: "utf8",
  });
  assert.deepEqual({ stdout, status }, { stdout: '{"level":40}\n{"level":50}\n', status: 0 });
});
