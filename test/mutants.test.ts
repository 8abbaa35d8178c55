/**
 * What `npm run mutants` holds its tables to before it plays any row, and how it judges what a play has seen.
 */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { audit, completed, type Memory, readMemories } from "../mutants/memory.ts";
import { judge } from "../mutants/play.ts";
import { allRows, PROJECT, type Row, versionOf } from "../mutants/tables.ts";

const ROWS = allRows();

function row(changed: Partial<Row> = {}): Row {
  const first = ROWS.find(({ test }) => test === undefined);
  assert.ok(first);
  return { ...first, expects: "is stored twice", ...changed };
}

/** The memory of a row in its present form. */
function caught(as: Row, by = "id 7 is stored twice"): Memory {
  return { seed: 3, caught: { version: versionOf(as), by, virtualSeconds: 61.2, seconds: 9 } };
}

describe("the tables of mutants", () => {
  it("apply, and each row has a record", () => {
    assert.deepEqual(audit(ROWS, readMemories()).failures, []);
  });

  it("name tests that exist", () => {
    const named = ROWS.filter(({ test }) => test !== undefined);
    assert.ok(named.length > 10);
    const files = readdirSync(join(PROJECT, "test")).filter((name) => name.endsWith(".ts"));
    const texts = files.map((name) => readFileSync(join(PROJECT, "test", name), "utf8"));
    for (const { key, test = "", expects } of named) {
      assert.ok(existsSync(join(PROJECT, test)), key);
      // It may be the title of a suite in another file.
      const title = new RegExp(expects);
      assert.ok(
        texts.some((text) => title.test(text)),
        `${key}: no test has the title ${title}`,
      );
    }
  });
});

describe("the record of the mutants", () => {
  const one = row();
  const audited = (rows: readonly Row[], memories: Record<string, Memory>) => {
    const { failures, unplayed } = audit(rows, memories);
    return [...failures, ...unplayed].map(String);
  };

  it("is silent about a row that was caught in its present form", () => {
    assert.deepEqual(audited([one], { [one.key]: caught(one) }), []);
  });

  it("fails for a row that does not apply, a row without a record, and a record without a row", () => {
    const gone = row({ find: "this text stands nowhere" });
    assert.match(audited([gone], { [gone.key]: caught(gone) }).join(), /does not stand exactly once/);
    assert.match(audited([one], {}).join(), /has no record of it/);
    assert.match(audited([], { [one.key]: caught(one) }).join(), /no table has the row/);
    assert.match(audited([one, one], { [one.key]: caught(one) }).join(), /there are two such rows/);
  });

  it("reports rows that were never caught, and rows that have changed since", () => {
    const never = audit([one], { [one.key]: { caught: "never" } });
    assert.deepEqual([never.failures, never.unplayed.get(one.key)], [[], "never caught"]);
    const changed = audit([row({ replace: "something else" })], { [one.key]: caught(one) });
    assert.deepEqual([changed.failures, changed.unplayed.get(one.key)], [[], "changed since caught"]);
    const reworded = audit([one], { [one.key]: caught(one, "id 7 stands there twice") });
    assert.deepEqual([reworded.failures, reworded.unplayed.get(one.key)], [[], "caught by other words"]);
  });

  it("gains new rows, and drops deleted ones", () => {
    assert.deepEqual(completed({ "simulation/gone": caught(one) }, [one]), {
      [one.key]: { caught: "never" },
    });
  });
});

describe("a mutant that was played", () => {
  const one = row();
  const seen = (...violations: string[]) => ({ violations, seconds: 5 });

  it("is recorded with the seed, the virtual time and the violation that its row expects", () => {
    const violations = seen(
      "seed 8, after 2.000 s, a: lost",
      "seed 9, after 12.345 s, b: id 7 is stored twice",
    );
    assert.deepEqual(judge(one, violations, 4, undefined), {
      seed: 9,
      caught: { version: versionOf(one), by: "b: id 7 is stored twice", virtualSeconds: 12.345, seconds: 5 },
    });
    assert.deepEqual(judge(one, seen("viewer 3: id 7 is stored twice"), 4, undefined), {
      seed: 4,
      caught: { version: versionOf(one), by: "viewer 3: id 7 is stored twice", seconds: 5 },
    });
  });

  it("fails if nothing catches it, or something else does, and names what caught it before", () => {
    const failure = (...violations: string[]) => {
      const played = judge(one, seen(...violations), 4, caught(one));
      return "failure" in played ? played.failure : "";
    };
    assert.match(failure(), /^caught by nothing; before it was caught by: id 7 is stored twice$/);
    assert.match(
      failure("TypeError: it does not start"),
      /^caught not by \/is stored twice\/, but: TypeError/,
    );
  });

  it("has no seed if a test catches it", () => {
    const tested = row({ test: "test/gate.test.ts", expects: "3 of 4 slots" });
    const played = judge(tested, seen("a row of 3 of 4 slots (12ms)"), 4, undefined);
    assert.deepEqual(Object.keys(played), ["caught"]);
  });
});
