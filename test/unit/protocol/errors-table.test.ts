/** The errors in the documents, and what the SDK does after each error, against the table in the code. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { FINAL_FOR_CHAT } from "../../../client/chat-error.ts";
import { ChatError } from "../../../client/index.ts";
import { ERRORS, type ErrorCode } from "../../../src/protocol/errors.ts";

const CODES = Object.keys(ERRORS) as ErrorCode[];
const PAGE = readFileSync(join(import.meta.dirname, "../../../docs/stream.md"), "utf8");

it("the documented errors are the existing ones, with their status and whether to retry", () => {
  const rows = [...PAGE.matchAll(/^\| (\d{3}) \| `(\w+)` \|.*\| (yes|no|if .+) \|$/gm)];
  const documented = rows.map(([, status, code, retry]) => [code, Number(status), retry === "yes"]);
  const existing = Object.entries(ERRORS).map(([code, { status, retry }]) => [
    code,
    status,
    retry !== "never",
  ]);
  assert.deepEqual(documented, existing);
});

it("the documented errors after which a merged chat is retried are the temporary ones", () => {
  const [, list = ""] = /^.* After (.*), the service tries to open it again/m.exec(PAGE) ?? [];
  const documented = [...list.matchAll(/`(\w+)`/g)].map(([, code]) => code);
  assert.deepEqual(new Set(documented), new Set(CODES.filter((code) => ERRORS[code].retry === "relay")));
});

it("the SDK gives up after errors that nobody retries, and waits where the service retries", () => {
  for (const code of CODES) {
    const { status, retry, cause } = ERRORS[code];
    const { isFinal } = new ChatError(code, "", { status });
    const isRetried = !FINAL_FOR_CHAT.includes(code);
    assert.equal(isFinal, retry === "never", code);
    if (cause !== "request") assert.equal(isRetried, retry === "relay", code);
  }
});
