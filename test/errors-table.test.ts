import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { ERRORS } from "../src/protocol/errors.ts";

it("the documented errors are the existing ones, with their status and whether to retry", () => {
  const page = readFileSync(join(import.meta.dirname, "../docs/stream.md"), "utf8");
  const rows = [...page.matchAll(/^\| (\d{3}) \| `(\w+)` \|.*\| (yes|no|if .+) \|$/gm)];
  const documented = rows.map(([, status, code, retry]) => [code, Number(status), retry === "yes"]);
  const existing = Object.entries(ERRORS).map(([code, { status, retry }]) => [code, status, retry]);
  assert.deepEqual(documented, existing);
});
