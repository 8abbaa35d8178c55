/** The log on a terminal: readable lines, in colour if it shows colours. */
import assert from "node:assert/strict";
import { Writable } from "node:stream";
import { describe, it } from "node:test";
import { createLogger } from "../../src/telemetry/logger.ts";

/** The lines written to a terminal of this many colours (in bits), without the times. */
function linesOn(colorDepth: number): string[] {
  let out = "";
  const terminal = new Writable({
    write(chunk, _encoding, done) {
      out += chunk;
      done();
    },
  });
  const log = createLogger("info", Object.assign(terminal, { isTTY: true, getColorDepth: () => colorDepth }));
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
