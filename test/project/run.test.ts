/** The command that plays all tests: one failure among many files that share processes is not lost. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { ROOT } from "../support/command.ts";
import { missingBut } from "../support/needs.ts";
import { temporaryFolder } from "../support/store-subject.ts";

const PASSES = 'it("passes", () => {}); it.skip("is skipped", () => {});';

/** Plays files with these contents. Gives the output, the exit code, and the numbers of the summary. */
async function play(t: TestContext, contents: readonly string[], ...args: string[]) {
  const folder = await temporaryFolder(t);
  const paths = contents.map((_, i) => join(folder, `${i}.test.mjs`));
  for (const [i, content] of contents.entries())
    await writeFile(paths[i] ?? "", `import { it } from "node:test"; ${content}`);
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const preload = ["--import", "./test/support/compile-cache.js"];
  const child = spawn(process.execPath, [...preload, "test/run.ts", ...args, ...paths], { cwd: ROOT, env });
  const [out, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
  const count = (what: string) => Number(new RegExp(`^ℹ ${what} (\\d+)$`, "m").exec(out)?.[1]);
  return { out, code, counts: ["tests", "pass", "fail", "skipped"].map(count) };
}

describe("npm test", () => {
  it("counts the tests of all files, and shows each", async (t) => {
    const { out, code, counts } = await play(t, Array(20).fill(PASSES));
    assert.equal(code, 0);
    assert.deepEqual(counts, [40, 20, 0, 20]);
    assert.equal(out.match(/^✔ passes/gm)?.length, 20);
    assert.equal(out.match(/^﹣ is skipped/gm)?.length, 20);
  });

  it("names once at the end what skipped tests need, with the commands that install it", async (t) => {
    const skipping = (...reasons: string[]) =>
      reasons.map((skip, i) => `it("${i}", ${JSON.stringify({ skip })}, () => {});`).join("\n");
    const needs = (program: string) => missingBut(program, `apt-get install ${program}`);
    const { out, code } = await play(t, [
      skipping(needs("nginx"), missingBut("Bun", "npm run runtimes")),
      skipping(
        needs("nginx"),
        needs("caddy"),
        missingBut("Deno", "npm run runtimes"),
        "mounting was refused",
      ),
    ]);
    assert.equal(code, 0);
    const said = [
      "6 tests or suites were SKIPPED. They need:",
      "  mounting was refused",
      "  apt-get install nginx caddy",
      "  npm run runtimes   # Bun, Deno",
    ];
    assert.ok(out.endsWith(`\n${said.join("\n")}\n`), out);
  });

  it("plays with --documents only the files that read one", async (t) => {
    const contents = ['it("reads", () => "docs/api.md");', 'it("reads none", () => {}); // docs/api.md'];
    const { out, counts } = await play(t, contents, "--documents");
    assert.deepEqual(counts, [1, 1, 0, 0]);
    assert.match(out, /^✔ reads \(/m);
  });

  it("fails with --whole if a test or a suite is skipped", async (t) => {
    for (const [content, expected] of [
      [PASSES, 1],
      [
        'import { describe } from "node:test"; describe("s", { skip: "x" }, () => void it("y", () => {}));',
        1,
      ],
      ['it("passes", () => {});', 0],
    ] as const)
      assert.equal((await play(t, [content], "--whole")).code, expected, content);
  });

  for (const [what, content, shown] of [
    ["a failed test", 'it("fails", () => { throw new Error("told"); });', /told/],
    [
      "a rejection that nobody handles",
      'it("x", async () => { await 1; Promise.reject(new Error("told")); });',
      /told/,
    ],
    [
      "an error that nobody catches",
      'it("x", () => { setTimeout(() => { throw new Error("told"); }); });',
      /told/,
    ],
    ["a file that cannot be loaded", 'import "./none.mjs";', /none\.mjs/],
    ["a process that ends early", 'it("x", () => process.exit(0));', /ended before its last test/],
  ] as const) {
    it(`fails after ${what}, and says so`, async (t) => {
      const { out, code } = await play(t, [PASSES, content]);
      assert.equal(code, 1);
      assert.match(out, shown);
    });
  }
});
