/** What the pages say about a parameter that cannot be used. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Parameters } from "../../../web/chat/parameters.ts";

it("the sentence about a parameter ends with one mark", () => {
  const said: string[] = [];
  const parameters = new Parameters("?channel=foo", (words) => said.push(words));
  for (const why of ["it is none", "it is none.", "it is none. Did you mean @foo?"])
    parameters.refuse("channel", why);
  assert.deepEqual(said, [
    "channel=foo cannot be used: it is none.",
    "channel=foo cannot be used: it is none.",
    "channel=foo cannot be used: it is none. Did you mean @foo?",
  ]);
});
