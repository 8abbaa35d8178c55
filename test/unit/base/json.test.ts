/** The numbers in the upstream's JSON. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asPositiveInteger } from "../../../src/base/json.ts";

test("a positive integer is read from text or number; 0 and nonsense are none", () => {
  assert.equal(asPositiveInteger("1767323045678901"), 1767323045678901);
  assert.equal(asPositiveInteger(1767323045678901), 1767323045678901);
  for (const odd of [
    undefined,
    null,
    0,
    "0",
    -1,
    "",
    "soon",
    1.5,
    Number.NaN,
    1e300,
    "9999999999999999",
    {},
  ]) {
    assert.equal(asPositiveInteger(odd), undefined, String(odd));
  }
});
