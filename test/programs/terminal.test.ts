/** A real terminal, and the log's lines in the command of the documents. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { AnsweringServer, END, init, message, streams } from "../support/answering-server.ts";
import { outcomeOnTerminal, ROOT } from "../support/command.ts";
import { without } from "../support/needs.ts";

const VIDEO = "dQw4w9WgXcQ";

it("output on a terminal has colour", { skip: without("script") }, async () => {
  await using server = await AnsweringServer.start(
    streams(init(0), message(1, { timestamp: "9:05 PM", author: "@ann", amount: "" }), END),
  );
  const { code, out } = await outcomeOnTerminal(["watch", VIDEO, "--server", server.url]);
  assert.equal(code, 0, out);
  assert.match(out, /@ann: x\r\n/);
  assert.ok(out.includes("\x1b"));
});

it("the documented command shows the log's warnings and skips lines of others", {
  skip: without("jq"),
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
