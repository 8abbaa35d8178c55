/** The token in the fragment of a page's address. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fragmentOf, tokenIn } from "../../../web/chat/token-fragment.ts";

describe("the fragment of a page's address", () => {
  for (const token of ["eyJh.eyJy.c2ln-_", "an&admin=token", "100%#?+/ö", "a"]) {
    it(`carries ${token} unchanged, in characters that a fragment may have`, () => {
      assert.match(fragmentOf(token), /^#token=[\w.~!*'()%-]+$/);
      assert.equal(tokenIn(fragmentOf(token)), token);
    });
  }

  it("has a token among other parts", () => {
    assert.deepEqual(["#a=b&token=t&c", "#token=t"].map(tokenIn), ["t", "t"]);
  });

  it("has none if its token is empty, or another part's name ends like it", () => {
    const none = ["", "#", "#token", "#token=", "#token=&x=y", "#mytoken=t", "#chat"];
    assert.deepEqual(
      none.map(tokenIn),
      none.map(() => undefined),
    );
    assert.deepEqual([fragmentOf(), fragmentOf("")], ["", ""]);
  });

  it("has the characters of a token unchanged if they are not escaped", () => {
    assert.equal(tokenIn("#token=50%"), "50%");
  });
});
