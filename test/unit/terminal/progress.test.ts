/** The progress of a command on standard error. */
import assert from "node:assert/strict";
import { PassThrough } from "node:stream";
import { it } from "node:test";
import type { ProcessIo } from "../../../src/cli/process-io.ts";
import { showProgress } from "../../../terminal/reader/progress.ts";

it("showProgress writes a line every five seconds outside a terminal, if the command asks for it", (t) => {
  t.mock.timers.enable({ apis: ["setInterval"] });
  const stderr = new PassThrough() as unknown as ProcessIo["stderr"];
  const lines: string[] = [];
  let count = 0;
  const hide = showProgress(
    { stderr, env: {} },
    () => `${count} messages`,
    (line) => lines.push(line),
  );
  const silent = showProgress({ stderr, env: {} }, () => "unasked");
  for (count = 1; count <= 10; count++) t.mock.timers.tick(1000);
  assert.deepEqual(lines, ["5 messages", "10 messages"]);
  hide();
  silent();
  t.mock.timers.tick(60_000);
  assert.equal(lines.length, 2);
  assert.equal((stderr as unknown as PassThrough).read(), null);
});
