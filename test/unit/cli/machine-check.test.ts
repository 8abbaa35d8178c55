/** What `serve --check` says of a store, where no store of today leads to it. */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Finding } from "../../../src/cli/check/finding.ts";
import { tellStore } from "../../../src/cli/check/machine-check.ts";

it("a store that the next start upgrades is reported, with the advice to make a backup", () => {
  const common = { place: "relay.db", rooms: 0, bytes: 0, freeBytes: undefined };
  const of = (schema: number, known: number) => {
    const findings: Finding[] = [];
    const summary = { ...common, schema, known, isInUse: false, isForeign: false };
    tellStore(summary, 0, (finding) => void findings.push(finding));
    return findings.filter(({ state }) => state === "warn");
  };
  assert.deepEqual(of(8, 8), []);
  assert.deepEqual(of(7, 8), [
    {
      state: "warn",
      of: "store",
      text: "the next start upgrades it to schema 8",
      advice: "Make a backup first: an older version cannot use it afterwards",
    },
  ]);
});
