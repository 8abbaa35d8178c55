/**
 * Holds ARCHITECTURE.md to the tree: the files that it names are there, and so are the tests that lock its
 * oddities, which the code names, too.
 */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const TEXT = readFileSync(join(ROOT, "ARCHITECTURE.md"), "utf8");
/** It is read in one sitting. */
const MAX_CHARACTERS = 14_000;
const MAX_ODDITIES = 12;

const TESTS = globSync("test/**/*.ts", { cwd: ROOT, exclude: ["**/node_modules/**"] }).map((file) =>
  readFileSync(join(ROOT, file), "utf8"),
);

/** Whether a test, or tests of a table, have this title. */
const isTested = (title: string) =>
  TESTS.some((source) =>
    [`"${title}"`, `\`${title}\``, `\`${title}\${`, `\`${title}: \${`].some((text) => source.includes(text)),
  );

/** The code's text, with the lines of its comments joined. */
const wordsOf = (file: string) => readFileSync(join(ROOT, file), "utf8").replace(/\s*\n\s*(\*|\/\/) /g, " ");

/** The lines of a section's list. */
function listed(heading: string): string[] {
  const section = TEXT.split(/^## /m).find((part) => part.startsWith(heading)) ?? "";
  return section.split("\n").filter((line) => line.startsWith("- "));
}

describe("ARCHITECTURE.md", () => {
  it("names files that exist", () => {
    const names = [...TEXT.matchAll(/`([\w./*-]+\.ts)`/g)].map(([, name = ""]) => name);
    assert.ok(names.length > 50);
    const tables = globSync("{src,.}/**/*.ts", { cwd: ROOT, exclude: ["**/node_modules", "**/dist"] });
    const isThere = (name: string) => {
      const pattern = new RegExp(`(^|/)${name.replaceAll(".", "\\.").replaceAll("*", "[^/]*")}$`);
      return tables.some((path) => pattern.test(path));
    };
    assert.deepEqual(
      names.filter((name) => !isThere(name)),
      [],
    );
  });

  it("names for each oddity the test that fails if the oddity is changed", () => {
    const titles = listed("Looks wrong").map((line) => /\[`([^`]+)`\]$/.exec(line)?.[1] ?? line);
    assert.ok(titles.length > 0 && titles.length <= MAX_ODDITIES, `${titles.length} entries`);
    assert.deepEqual(
      titles.filter((title) => !isTested(title)),
      [],
    );
  });

  it("names oddities whose files name the same test", () => {
    const oddities = listed("Looks wrong").flatMap((line) => {
      const [, name = "", title = ""] = /\((?:`\w+` in )?`([^`]+)`\) \[`([^`]+)`\]$/.exec(line) ?? [];
      return name ? [{ name, title }] : [];
    });
    assert.ok(oddities.length >= 8, `${oddities.length} with a file`);
    const withoutTest = oddities.filter(({ name, title }) => {
      const [file = ""] = globSync([`src/**/${name}`, name], { cwd: ROOT });
      return !wordsOf(file).includes(`Test: "${title}"`);
    });
    assert.deepEqual(withoutTest, []);
  });

  it(`has at most ${MAX_CHARACTERS} characters`, () => {
    assert.ok(TEXT.length <= MAX_CHARACTERS, `${TEXT.length} characters`);
  });
});

it("the tests that comments name are there", () => {
  const named = globSync("{src,client,web,simulator,terminal}/**/*.ts", {
    cwd: ROOT,
    exclude: ["**/node_modules/**", "**/dist/**"],
  }).flatMap((file) => [...wordsOf(file).matchAll(/\bTest: "([^"]+)"/g)].map(([, title = ""]) => title));
  assert.ok(named.length > 20, `${named.length} titles`);
  assert.deepEqual(
    named.filter((title) => !isTested(title)),
    [],
  );
});
