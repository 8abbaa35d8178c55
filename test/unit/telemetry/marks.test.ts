/** The marks of rare branches: the table and the code name the same ones. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { MARKS } from "../../../src/telemetry/marks.ts";

const SRC = join(import.meta.dirname, "../../../src");

test("each mark is in one place of the code, and once in the table", () => {
  const code = globSync("**/*.ts", { cwd: SRC, exclude: ["telemetry/marks.ts"] })
    .map((file) => readFileSync(join(SRC, file), "utf8"))
    .join("");
  const places = MARKS.map((mark) => [mark, code.split(`"${mark}"`).length - 1]);
  assert.deepEqual(
    places,
    MARKS.map((mark) => [mark, 1]),
  );
  assert.equal(new Set<string>(MARKS).size, MARKS.length);
});
