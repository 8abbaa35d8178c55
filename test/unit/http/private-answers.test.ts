/** The header `Cache-Control` of an answer to a request with a token. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { privately } from "../../../src/http/access/private-answers.ts";

test("an answer to a token is private once, also if the origin of an edge has said so", () => {
  const table = {
    "public, max-age=31536000, immutable": "private, max-age=31536000, immutable",
    "private, no-cache": "private, no-cache",
    "no-cache": "private, no-cache",
    "no-store": "no-store",
  };
  for (const [header, expected] of Object.entries(table)) assert.equal(privately(header), expected);
  assert.equal(privately(undefined), "private");
});
