/** Pages are compressed one at a time, whichever route they are for. */
import assert from "node:assert/strict";
import { createHook } from "node:async_hooks";
import { it } from "node:test";
import { gunzipSync } from "node:zlib";
import { zippedPage } from "../../../src/http/zipped-page.ts";

const stays = new AbortController().signal;

it("compresses a page when the one before is done, and none for a client that left meanwhile", async (t) => {
  let begun = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === "ZLIB") begun += 1;
    },
  }).enable();
  t.after(() => hook.disable());
  const leaves = new AbortController();
  const pages = ["first", "second"].map((page) => page.repeat(10_000));
  const [first, second] = pages.map((page) => zippedPage(page, stays));
  const left = zippedPage("third", leaves.signal);
  assert.equal(begun, 1);
  leaves.abort(new Error("the client left"));
  await assert.rejects(left, /the client left/);
  const zipped = await Promise.all([first, second]);
  assert.equal(begun, 2);
  assert.deepEqual(
    zipped.map((page) => gunzipSync(page ?? "").toString()),
    pages,
  );
});
