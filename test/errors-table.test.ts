import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { it } from "node:test";
import { mayPass } from "../src/http/streams/merged-chat.ts";
import { ERRORS, type ErrorCode } from "../src/protocol/errors.ts";

const PAGE = readFileSync(join(import.meta.dirname, "../docs/stream.md"), "utf8");

it("the documented errors are the existing ones, with their status and whether to retry", () => {
  const rows = [...PAGE.matchAll(/^\| (\d{3}) \| `(\w+)` \|.*\| (yes|no|if .+) \|$/gm)];
  const documented = rows.map(([, status, code, retry]) => [code, Number(status), retry === "yes"]);
  const existing = Object.entries(ERRORS).map(([code, { status, retry }]) => [code, status, retry]);
  assert.deepEqual(documented, existing);
});

it("the documented errors after which a merged chat is retried are the temporary ones", () => {
  const [, list = ""] = /^.* After (.*), the service tries to open it again/m.exec(PAGE) ?? [];
  const documented = [...list.matchAll(/`(\w+)`/g)].map(([, code]) => code);
  const mayHappen = (Object.keys(ERRORS) as ErrorCode[]).filter((code) => code !== "REQUEST_TIMEOUT");
  assert.deepEqual(new Set(documented), new Set(mayHappen.filter(mayPass)));
});
