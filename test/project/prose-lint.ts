/** Holds the documents, and the texts that people read of the code, to the words of prose.yml. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { commentsOf, lint, stringsOf, titlesOf, WORDS } from "../support/prose.ts";

const ROOT = join(import.meta.dirname, "../..");
/** As the formatter wraps code. A quote of the specification stays on its line. */
const MAX_COLUMNS = 110;
/** The runtimes that some tests need are installed below the tests. */
const INSTALLED = ["**/node_modules/**"];

/** The files that are covered. */
const COVERED: [what: string, files: string, textOf: (source: string) => string][] = [
  ["documents", "{*,docs/*,tools/bench/*,client/*}.md", (source) => source],
  ["comments", "{examples,deploy}/*", commentsOf],
  ["comments", "src/{upstream,reading,serving,multiplex,origin,telemetry}/**/*.ts", commentsOf],
  ["comments", "src/{*.ts,{protocol,rooms,store}/**/*.ts}", commentsOf],
  ["comments", "{client,{tools,web}/**}/*.ts", commentsOf],
  ["comments", "{src/{base,http,cli}/**,simulator,terminal/**}/*.ts", commentsOf],
  ["comments", "test/**/!(soak|soak-events).ts", commentsOf],
  ["titles", "test/**/*.ts", titlesOf],
  ["strings", "{src,terminal}/**/*.ts", stringsOf],
];

for (const [what, pattern, textOf] of COVERED) {
  it(`${what} of ${pattern} say things plainly`, async () => {
    const files = globSync(pattern, { cwd: ROOT, exclude: INSTALLED });
    assert.ok(files.length > 0);
    const found = await Promise.all(
      files.map(async (file) => {
        const lines = await lint(textOf(readFileSync(join(ROOT, file), "utf8")));
        return lines.map((line) => `${file}:${line}`);
      }),
    );
    assert.deepEqual(found.flat(), []);
  });
}

it(`no line of the code with a comment is longer than ${MAX_COLUMNS} columns`, () => {
  const files = globSync("{src,simulator,terminal,client,web,test,tools}/**/*.ts", {
    cwd: ROOT,
    exclude: ["client/dist/**", ...INSTALLED],
  });
  const long = files.flatMap((file) =>
    readFileSync(join(ROOT, file), "utf8")
      .split("\n")
      .filter(
        (line) =>
          /^ *(\/\/|\/?\*)|\S \/\/ /.test(line) && line.length > MAX_COLUMNS && !line.includes("[spec]"),
      )
      .map((line) => `${file}: ${line}`),
  );
  assert.deepEqual(long, []);
});

/** A sentence that needs a second reading, and one that says the same plainly. */
const SENTENCES: [bad: string, good: string][] = [
  [
    "Whoever reads every cursor without one has read it all.",
    "A client that reads every cursor and no gap has read it all.",
  ],
  ["Who asks first is served first. Then come others.", "The first caller is served first. Who is next?"],
  ["What is read twice is stored once.", "A message that is read twice is stored once. What is stored?"],
  ["Of a chat that is over nothing is kept.", "Nothing is kept of a finished chat. Of course."],
  ["A wait of so long ends the poll.", "A wait of five seconds ends the poll, so that others may start."],
  ["The log tells when that was.", "The log says when that was."],
  ["A lost token is no failure.", "A lost token is not a failure. There is no token. It is no longer used."],
  ["A room shall close.", "A room must close."],
  ["The copy is begun anew.", "The copy restarts. A newer one follows."],
  ["It tries now and then.", "It tries from time to time. Now, and then again."],
  ["The reader waits in vain.", "The reader waits without effect."],
  ["The socket closes without a word.", "The socket closes silently. A frame without words."],
  ["Polls are late, cooldowns aside.", "Polls are late, excluding cooldowns. Set it aside."],
  ["The file lies beside the other.", "The file is beside the other. It stands in for the disk."],
  ["A batch takes some 20 ms.", "A batch takes about 20 ms. Some 'batches' take longer."],
  ["The least time between calls.", "The minimum time between calls. At least one call."],
  ["The parser is let go of, or: let go.", "The parser is released."],
  ["Each way out has a pace.", "Each egress has its own pace. It finds a way."],
  ["A hole in the history.", "A gap in the history. The whole history."],
  ["A comma list of names.", "A comma-separated list of names."],
  ["A frame takes 20 us.", "A frame takes 20 µs. It is up to us."],
  [`A sentence ${"that goes further and further, ".repeat(9)}ends late.`, "A sentence. Another one."],
];

describe("the linter of prose", () => {
  it("finds every phrase to avoid, and nothing in plain sentences", async () => {
    const found = new Set<string>();
    for (const [bad, good] of SENTENCES) {
      const [message] = await lint(bad);
      assert.ok(message, `not found: ${bad}`);
      found.add(/=> (.*)$/.exec(message)?.[1] ?? "a long sentence");
      assert.deepEqual(await lint(good), []);
    }
    const rules = WORDS.match(/(?<=- expected: ).*/g) ?? [];
    assert.deepEqual([...found].sort(), [...rules, "a long sentence"].sort());
  });

  it("reads the comments and the strings of code, and the titles of tests, with their lines", async () => {
    const code = [
      "/** The first line. */",
      "const a = 'whoever comes first'; // It is a pun.",
      'const what = "is";',
    ];
    assert.deepEqual(commentsOf(code.join("\n")), "The first line. \nIt is a pun.\n");
    assert.match((await lint(stringsOf(code.join("\n")))).join(), /^2: .*Whoever|^2: .*whoever/);
    const apart = `One.\n\n\n\n \n${SENTENCES.at(-1)?.[0]}\n\n\nWhoever comes.`;
    assert.deepEqual(
      (await lint(apart)).map((found) => /^\d+: \w+/.exec(found)?.[0]),
      ["6: sentence", "9: Whoever"],
    );
    assert.equal(commentsOf("# A line\nkey: value # its comment\n// Code"), "A line\nits comment\nCode");
    const tests = [
      'describe("a room", () => {',
      `  it(\`of \${count} is a loss\`, () => run("whoever"));`,
      "});",
    ];
    assert.equal(titlesOf(tests.join("\n")), " a room.\n of X is a loss.\n");
  });
});
