/**
 * What `npm run mutants` holds its tables to before it plays any row, and how it judges what a play has seen.
 */
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { draw } from "../mutants/draw.ts";
import { audit, completed, type Memory, readMemories } from "../mutants/memory.ts";
import { judge } from "../mutants/play.ts";
import { allRows, PROJECT, type Row, versionOf } from "../mutants/tables.ts";

const ROWS = allRows();
/** The number of rows of each table: a row that is gone no longer tests its judge. */
const COUNTS = { simulation: 105, chaos: 33, cluster: 12 };
/** The number of rows that say why no play has caught them. Lower it with each row that a play has caught. */
const UNPLAYED = 25;

function row(changed: Partial<Row> = {}): Row {
  const first = ROWS.find(({ test }) => test === undefined);
  assert.ok(first);
  return { ...first, expects: "is stored twice", ...changed };
}

/** The texts of a test's file and of the files beside it that it imports, which may have its suites. */
function textsOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const text = readFileSync(file, "utf8");
  const imported = Array.from(text.matchAll(/ from "(\.\/[^/"]+)";/g), ([, name = ""]) => name);
  return [text, ...imported.flatMap((name) => textsOf(join(dirname(file), name), seen))];
}

/** The memory of a row in its present form. */
function caught(as: Row, by = "id 7 is stored twice"): Memory {
  return { seed: 3, caught: { version: versionOf(as), by, virtualSeconds: 61.2, seconds: 9 } };
}

describe("the tables of mutants", () => {
  it("apply, and each row was caught in its present form or says why not", () => {
    assert.deepEqual(audit(ROWS, readMemories()).failures, []);
  });

  it("have a known number of rows, so that none is dropped unnoticed", () => {
    const tables = Map.groupBy(ROWS, ({ key }) => key.split("/")[0] ?? "");
    assert.deepEqual(Object.fromEntries([...tables].map(([name, rows]) => [name, rows.length])), COUNTS);
  });

  it("have ever fewer rows that were not caught", () => {
    const unplayed = ROWS.filter((each) => each.unplayed !== undefined).map(({ key }) => key);
    assert.equal(unplayed.length, UNPLAYED, unplayed.join(", "));
  });

  it("name tests that exist", () => {
    const named = ROWS.filter(({ test }) => test !== undefined);
    assert.ok(named.length > 10);
    for (const { key, test = "", expects } of named) {
      assert.ok(existsSync(join(PROJECT, test)), key);
      const title = new RegExp(expects);
      assert.ok(
        textsOf(join(PROJECT, test)).some((text) => title.test(text)),
        `${key}: no test of ${test} has the title ${title}`,
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

  const NOT_CAUGHT: [how: string, as: Row, memory: Memory][] = [
    ["never caught", one, { caught: "never" }],
    ["changed since caught", row({ replace: "something else" }), caught(one)],
    ["caught by other words", one, caught(one, "id 7 stands there twice")],
  ];
  for (const [how, as, memory] of NOT_CAUGHT) {
    it(`fails for a row that was ${how}, and reports it alone if the row says why`, () => {
      const { failures, unplayed } = audit([as], { [as.key]: memory });
      assert.match(failures.join(), new RegExp(`^${as.key}: ${how}; play it`));
      assert.equal(unplayed.get(as.key), how);
      const excused = audit([{ ...as, unplayed: "it takes an hour" }], { [as.key]: memory });
      assert.deepEqual([excused.failures, excused.unplayed.get(as.key)], [[], how]);
    });
  }

  it("fails for a row that was caught and still says why not", () => {
    const excused = row({ unplayed: "it takes an hour" });
    assert.match(audited([excused], { [one.key]: caught(excused) }).join(), /it was caught, but its field/);
  });

  it("gains new rows, and drops deleted ones", () => {
    assert.deepEqual(completed({ "simulation/gone": caught(one) }, [one]), {
      [one.key]: { caught: "never" },
    });
  });
});

describe("a draw of mutants", () => {
  const memories = readMemories();
  const known = ROWS.filter(({ unplayed }) => unplayed === undefined);
  const commits = Array.from({ length: 50 }, (_, i) => `commit ${i}`);
  const isLive = ({ key }: Row) => !key.startsWith("simulation/");

  it("has as many rows as asked for, each once, by the commit", () => {
    const draws = commits.map((commit) => draw(known, memories, 4, commit).map(({ key }) => key));
    for (const keys of draws) assert.equal(new Set(keys).size, 4);
    assert.ok(new Set(draws.flat()).size > 50);
    assert.deepEqual(
      draw(known.toReversed(), memories, 4, "commit 0").map(({ key }) => key),
      draws[0],
    );
  });

  it("has a row of chaos or the cluster, which takes less than a minute if it was not drawn anyway", () => {
    for (const commit of commits) assert.ok(draw(known, memories, 4, commit).some(isLive), commit);
    for (const commit of commits) {
      const [only] = draw(known, memories, 1, commit);
      assert.ok(only && isLive(only));
    }
    const [simulated = row()] = known.filter((each) => !isLive(each));
    const [live = row()] = known.filter(isLive);
    const slow = { [live.key]: { caught: { version: "", by: "", seconds: 60 } } };
    assert.deepEqual(draw([simulated], memories, 4, "commit"), [simulated]);
    const drawn = new Set(commits.flatMap((commit) => draw([simulated, live], slow, 1, commit)));
    assert.deepEqual(drawn, new Set([simulated, live]));
    const quick = { [live.key]: { caught: { version: "", by: "", seconds: 59 } } };
    assert.deepEqual(
      new Set(commits.flatMap((commit) => draw([simulated, live], quick, 1, commit))),
      new Set([live]),
    );
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
