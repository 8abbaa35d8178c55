/** The workflows of `.github/`, by GitHub's own parser of them; what they name must exist here. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { ROOT } from "../support/command.ts";

const FOLDER = join(ROOT, ".github");
const WORKFLOWS = globSync("workflows/*.yml", { cwd: FOLDER });
const textOf = (path: string) => readFileSync(join(FOLDER, path), "utf8");
const { scripts, engines, devDependencies } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));

// The parser imports its schema without the attribute that Node.js wants.
registerHooks({
  load: (url, context, next) =>
    next(url, url.endsWith(".json") ? { ...context, importAttributes: { type: "json" } } : context),
});
const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await import(
  "@actions/workflow-parser"
);

/** The errors of a workflow, by its schema and its expressions. */
async function errorsOf(content: string): Promise<string[]> {
  const { context, value } = parseWorkflow({ name: "workflow.yml", content }, new NoOperationTraceWriter());
  const errors = context.errors.getErrors().map((error) => error.message);
  if (!value || errors.length > 0) return errors;
  const { errors: others = [] } = await convertWorkflowTemplate(context, value);
  return others.map(({ Message }) => Message);
}

describe("a workflow", () => {
  it("is there for changes and for releases", () => {
    assert.deepEqual(WORKFLOWS.sort(), ["workflows/check.yml", "workflows/release.yml"]);
  });

  for (const path of WORKFLOWS) {
    const text = textOf(path);

    it(`${path} is valid, and its mistakes would be noticed`, async () => {
      assert.deepEqual(await errorsOf(text), []);
      for (const [right, wrong] of [
        ["runs-on:", "run-on:"],
        ["timeout-minutes: ", "timeout-minutes: soon"],
        ["- uses:", "- use:"],
        ["permissions:\n  contents: read", "permissions:\n  contents: reading"],
      ] as const) {
        assert.ok(text.includes(right), right);
        assert.notDeepEqual(await errorsOf(text.replace(right, wrong)), [], wrong);
      }
      assert.notDeepEqual(await errorsOf(`${text}\n      - run: echo \${{ gihub.ref }}\n`), []);
    });

    it(`${path} pins each action to a commit, and names its version`, () => {
      for (const [, action = ""] of text.matchAll(/uses: *(.*)/g))
        assert.match(action, /^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    });

    it(`${path} runs what there is`, () => {
      for (const [, script = ""] of text.matchAll(/\bnpm run (?:-s )?([\w:]+)/g))
        assert.ok(script in scripts, script);
      for (const [, file = ""] of text.matchAll(/(?:^|\s)(\.ci\/\w+)/g))
        assert.ok(existsSync(join(ROOT, file)), file);
    });
  }

  it("tries the package with each Node.js that package.json names", () => {
    const [oldest] = /\d+/.exec(engines.node) ?? [];
    const own = Number.parseInt(devDependencies.node, 10);
    assert.deepEqual(parse(textOf("workflows/check.yml")).jobs.package.strategy.matrix.node, [
      `${oldest}.0.0`,
      `${own}`,
    ]);
    for (const path of WORKFLOWS)
      for (const [, version] of textOf(path).matchAll(/(?:node-version: |image: node:)(\d+)/g))
        assert.equal(Number(version), own, path);
  });
});
