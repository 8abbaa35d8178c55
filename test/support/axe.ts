/** What axe finds wrong with a page. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";

const AXE = readFileSync(fileURLToPath(import.meta.resolve("axe-core/axe.min.js")), "utf8");
const JUDGE = `axe.run({ resultTypes: ["violations"] }).then(({ violations }) => violations
  .map(({ id, nodes }) => [id, nodes.length, nodes[0].html.slice(0, 200), nodes[0].failureSummary]))`;

/** The violations: the rule, their number, and the first of them. */
export async function violationsIn(page: Page): Promise<unknown[]> {
  // It is half a megabyte of script, which a document needs once.
  if (!(await page.evaluate("'axe' in window"))) await page.evaluate(AXE);
  return page.evaluate(JUDGE);
}
