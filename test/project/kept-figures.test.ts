/** The figures of the benches that must not get worse, and when one counts as worse. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { KEPT, worseFigures } from "../../tools/bench/kept-figures.ts";
import { ROOT } from "../support/command.ts";

const [FIRST = "", SECOND = ""] = KEPT.reading ?? [];
const ratios = (first: number[], second: number[]) =>
  new Map([
    [FIRST, first],
    [SECOND, second],
  ]);

describe("the figures of a bench that must not get worse", () => {
  for (const [bench, figures] of Object.entries(KEPT)) {
    it(`are among those that ${bench} writes`, () => {
      const path = join(ROOT, `tools/bench/results/${bench}.json`);
      const { rows }: { rows: Record<string, unknown>[] } = JSON.parse(readFileSync(path, "utf8"));
      const written = rows.flatMap((row, at) => Object.keys(row).map((name) => `${bench} ${at + 1} ${name}`));
      assert.deepEqual(
        figures.filter((figure) => !written.includes(figure)),
        [],
      );
    });
  }

  for (const [what, first, second, worse] of [
    ["over the limit in each turn", [1.11, 1.3, 1.2], [1, 1, 1], [FIRST]],
    ["both over the limit in each turn", [1.11, 1.3, 1.2], [2, 2, 2], [FIRST, SECOND]],
    ["over the limit in all turns but one", [1.5, 1.1, 1.5], [1, 1.2, 1.2], []],
    ["better in each turn", [0.5, 0.6, 0.7], [0.9, 0.9, 0.9], []],
  ] as const) {
    it(`are worse if they are ${what}: ${worse.length} of 2`, () => {
      assert.deepEqual(worseFigures("reading", ratios([...first], [...second]), 1.1), worse);
    });
  }

  it("cannot be left out by a bench, or asked of one that keeps none", () => {
    assert.throws(() => worseFigures("reading", new Map([[FIRST, [1, 1, 1]]]), 1.1), /gave no "reading 2/);
    assert.throws(() => worseFigures("export", new Map(), 1.1), /export keeps no figures/);
  });
});
