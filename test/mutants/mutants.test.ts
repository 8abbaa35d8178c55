/**
 * What `npm run mutants` holds its tables to before it plays any row, and how it judges what a play has seen.
 */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { PROMISES } from "../harness/promises.ts";
import { draw } from "./draw.ts";
import { audit, type Memory, readMemories, withoutStrays } from "./memory.ts";
import { judge } from "./play.ts";
import { allRows, expectedOf, PROJECT, type Row, versionOf } from "./tables.ts";

const ROWS = allRows();
/** The number of rows of each table: a row that is gone no longer tests its judge. */
const COUNTS = { simulation: 538, chaos: 30, cluster: 12 };

function row(changed: Partial<Row> = {}): Row {
  const first = ROWS.find(({ test }) => test === undefined);
  assert.ok(first);
  return { ...first, promises: ["log"], ...changed };
}

/** The texts of a file of tests and of those that it imports from beside it or `unit/`, with its suites. */
function textsOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const text = readFileSync(file, "utf8");
  const imported = Array.from(
    text.matchAll(/ from "(\.\/[^/"]+|\.\.\/unit\/[^"]+)";/g),
    ([, name = ""]) => name,
  );
  return [text, ...imported.flatMap((name) => textsOf(join(dirname(file), name), seen))];
}

/** The memory of a row in its present form. */
function caught(as: Row, by = "log: id 7 is stored twice"): Memory {
  return { seed: 3, caught: { version: versionOf(as), by, virtualSeconds: 61.2, seconds: 9 } };
}

describe("the tables of mutants", () => {
  it("apply, and each row was caught in its present form", () => {
    assert.deepEqual(audit(ROWS, readMemories()), []);
  });

  it("have a known number of rows, so that none is dropped unnoticed", () => {
    const tables = Map.groupBy(ROWS, ({ key }) => key.split("/")[0] ?? "");
    assert.deepEqual(Object.fromEntries([...tables].map(([name, rows]) => [name, rows.length])), COUNTS);
  });

  it("name tests that exist", () => {
    const named = ROWS.filter(({ test }) => test !== undefined);
    assert.ok(named.length > 10);
    for (const each of named) {
      const { key, test = "" } = each;
      assert.ok(existsSync(join(PROJECT, test)), key);
      const title = expectedOf(each);
      assert.ok(
        textsOf(join(PROJECT, test)).some((text) => title.test(text)),
        `${key}: no test of ${test} has the title ${title}`,
      );
    }
  });

  it("name each file of tests in test/unit and test/relay", () => {
    const named = new Set(ROWS.map(({ test }) => test));
    const files = globSync("test/{unit,relay}/**/*.test.ts", { cwd: PROJECT });
    assert.ok(files.length > 200);
    assert.deepEqual(
      files.filter((file) => !named.has(file)),
      [],
    );
  });

  it("break each promise that the judges know, and no other", () => {
    const broken = ROWS.flatMap(({ promises = [] }) => promises);
    assert.deepEqual([...new Set(broken)].sort(), Object.keys(PROMISES));
  });

  it("name either promises or a test", () => {
    for (const { key, promises, test, title } of ROWS) {
      assert.equal(promises === undefined, test !== undefined, key);
      assert.equal(test === undefined, title === undefined, key);
    }
  });
});

describe("the record of the mutants", () => {
  const one = row();
  const audited = (rows: readonly Row[], memories: Record<string, Memory>) => audit(rows, memories).join();

  it("is silent about a row that was caught in its present form", () => {
    assert.equal(audited([one], { [one.key]: caught(one) }), "");
  });

  it("fails for a row that does not apply, a row that is there twice, and a record without a row", () => {
    const gone = row({ find: "this text stands nowhere" });
    assert.match(audited([gone], { [gone.key]: caught(gone) }), /does not stand exactly once/);
    assert.match(audited([], { [one.key]: caught(one) }), /no table has the row/);
    assert.match(audited([one, one], { [one.key]: caught(one) }), /there are two such rows/);
  });

  const NOT_CAUGHT: [how: string, as: Row, memories: Record<string, Memory>][] = [
    ["never caught", one, {}],
    ["changed since caught", row({ replace: "something else" }), { [one.key]: caught(one) }],
    ["caught by something else", one, { [one.key]: caught(one, "stream: id 7 is sent twice") }],
  ];
  for (const [how, as, memories] of NOT_CAUGHT) {
    it(`fails for a row that was ${how}`, () => {
      assert.equal(audited([as], memories), `${as.key}: ${how}; play it with --record`);
    });
  }

  it("drops the records of deleted rows", () => {
    const memories = { [one.key]: caught(one), "simulation/gone": caught(one) };
    assert.deepEqual(withoutStrays(memories, [one]), { [one.key]: caught(one) });
  });
});

describe("a draw of mutants", () => {
  const memories = readMemories();
  const commits = Array.from({ length: 50 }, (_, i) => `commit ${i}`);
  const isLive = ({ key }: Row) => !key.startsWith("simulation/");

  it("has as many rows as asked for, each once, by the commit", () => {
    const draws = commits.map((commit) => draw(ROWS, memories, 4, commit).map(({ key }) => key));
    for (const keys of draws) assert.equal(new Set(keys).size, 4);
    assert.ok(new Set(draws.flat()).size > 50);
    assert.deepEqual(
      draw(ROWS.toReversed(), memories, 4, "commit 0").map(({ key }) => key),
      draws[0],
    );
  });

  it("has rows of the files that have changed first, as many as there are", () => {
    const [changed = row()] = ROWS.filter((each) => !isLive(each) && memories[each.key]);
    const own = ROWS.filter(({ file }) => file === changed.file).length;
    for (const commit of commits) {
      const drawn = draw(ROWS, memories, own + 3, commit, [changed.file, "docs/api.md"]);
      assert.ok(drawn.includes(changed), commit);
      assert.ok(drawn.some(({ file }) => file !== changed.file));
    }
    assert.ok(commits.some((commit) => !draw(ROWS, memories, own + 3, commit).includes(changed)));
  });

  it("has a row that needs real processes, and no row that takes a minute", () => {
    for (const commit of commits) assert.ok(draw(ROWS, memories, 4, commit).some(isLive), commit);
    for (const commit of commits) {
      const [only] = draw(ROWS, memories, 1, commit);
      assert.ok(only && isLive(only));
    }
    const [simulated = row()] = ROWS.filter((each) => !isLive(each));
    const [live = row()] = ROWS.filter(isLive);
    const after = (seconds: number) => {
      const record = { caught: { version: "", by: "", seconds } };
      const both = { [simulated.key]: caught(simulated), [live.key]: record };
      return new Set(commits.flatMap((commit) => draw([simulated, live], both, 1, commit)));
    };
    assert.deepEqual(after(59), new Set([live]));
    assert.deepEqual(after(60), new Set([simulated]));
  });
});

describe("a mutant that was played", () => {
  const one = row();
  const seen = (...violations: string[]) => ({ violations, seconds: 5 });

  it("is recorded with the seed, the virtual time and the violation of its promise", () => {
    const violations = seen(
      "seed 8, after 2.000 s, stream: a: lost",
      "seed 9, after 12.345 s, log: b: id 7 is stored twice",
    );
    assert.deepEqual(judge(one, violations, 4, undefined), {
      seed: 9,
      caught: {
        version: versionOf(one),
        by: "log: b: id 7 is stored twice",
        virtualSeconds: 12.345,
        seconds: 5,
      },
    });
    assert.deepEqual(judge(one, seen("log: id 7 is stored twice"), 4, undefined), {
      seed: 4,
      caught: { version: versionOf(one), by: "log: id 7 is stored twice", seconds: 5 },
    });
  });

  it("fails if nothing catches it, or something else does, and names what caught it before", () => {
    const failure = (...violations: string[]) => {
      const played = judge(one, seen(...violations), 4, caught(one));
      return "failure" in played ? played.failure : "";
    };
    assert.match(failure(), /^caught by nothing; before it was caught by: log: id 7 is stored twice$/);
    assert.match(failure("TypeError: it does not start"), /^caught not by \/\^\(log\): \/, but: TypeError/);
  });

  it("has no seed if a test catches it", () => {
    const tested = row({ test: "test/unit/upstream/egress/gate.test.ts", title: "3 of 4 slots" });
    const played = judge(tested, seen("a row of 3 of 4 slots (12ms)"), 4, undefined);
    assert.deepEqual(Object.keys(played), ["caught"]);
  });
});
