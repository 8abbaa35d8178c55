/**
 * Holds the titles of tests to a form: files share processes, and the list of the played tests names no file.
 * So a title either names its subject, or is in a `describe` that does.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { type Expression, parseSync, type Statement } from "oxc-parser";

const ROOT = join(import.meta.dirname, "../..");

/** A title that begins with a verb or with half a sentence has its subject elsewhere. */
const SUBJECTLESS = /^(?:are|at|count|do|have|in|of|reach|that|which|with|[a-z]+s)(?: |$)/;
/** The plurals with which a title may begin all the same. */
const PLURALS = [
  ...["actions", "bytes", "counters", "instances", "lines", "messages", "metrics", "microseconds", "names"],
  ...["packets", "panels", "pieces", "polls", "ranks", "readiness", "rooms", "seeds", "sessions", "streams"],
  ...["viewers", "votes", "walls"],
];

/** A statement that may contain a title outside of any `describe`, in a file as the formatter leaves it. */
const OUTSIDE = /^(?:it\b|test\b|for\b|if\b|\{)/m;

/** The titles outside of any `describe`, also those of loops and branches. */
function outerTitles(file: string, source: string): string[] {
  const text = ({ start, end }: Expression) => source.slice(start, end);
  const inside = (statement: Statement): string[] => {
    if (statement.type === "BlockStatement") return statement.body.flatMap(inside);
    if (statement.type === "ForOfStatement") return inside(statement.body);
    if (statement.type === "IfStatement")
      return [statement.consequent, ...(statement.alternate ? [statement.alternate] : [])].flatMap(inside);
    if (statement.type !== "ExpressionStatement" || statement.expression.type !== "CallExpression") return [];
    const { callee, arguments: given } = statement.expression;
    const [title] = given;
    if (!/^(?:it|test)\b/.test(text(callee)) || !title || title.type === "SpreadElement") return [];
    return [text(title).slice(1, -1)];
  };
  const { program, errors } = parseSync(file, source);
  assert.deepEqual(errors, [], file);
  return program.body.flatMap((statement) =>
    statement.type.startsWith("Import") ? [] : inside(statement as Statement),
  );
}

function hasSubject(title: string): boolean {
  const [word] = SUBJECTLESS.exec(title) ?? [];
  return word === undefined || PLURALS.includes(word.trimEnd());
}

describe("the title of a test", () => {
  it("names its subject, unless a describe around it does", () => {
    const files = globSync("test/**/*.ts", { cwd: ROOT, exclude: ["**/node_modules/**"] });
    const titles = files.flatMap((file) => {
      const source = readFileSync(join(ROOT, file), "utf8");
      return OUTSIDE.test(source) ? outerTitles(file, source).map((title) => `${file}: ${title}`) : [];
    });
    assert.ok(titles.length > 100);
    const subjectless = titles.filter((line) => !hasSubject(line.replace(/^[^:]*: /, "")));
    assert.deepEqual(subjectless, [], "wrap it in a describe");
  });

  it("is found wherever it is outside of a describe", () => {
    const source = `
      it("a");
      test.skip("b", {}, () => {});
      for (const each of all) it(\`c \${each}\`, () => {});
      if (skip) { test("d"); } else it("e");
      describe("f", () => { it("g"); });`;
    assert.deepEqual(outerTitles("some.ts", source), ["a", "b", `c \${each}`, "d", "e"]);
  });

  it("has no subject if it begins with a verb or with half a sentence", () => {
    for (const title of ["is read again", "keeps a room", "with a gap is continued", "in memory"])
      assert.equal(hasSubject(title), false, title);
    for (const title of ["a room is read again", "rooms are handed on", "Firefox shows it"])
      assert.equal(hasSubject(title), true, title);
  });
});
