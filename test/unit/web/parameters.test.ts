/** What the pages say about a parameter that cannot be used, and what they use in its place. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { Parameters } from "../../../web/chat/parameters.ts";
import { readOptions } from "../../../web/overlay/options.ts";

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

it("a fraction of a message or of a tier counts as absent and is named, as any other wrong number", () => {
  const read = (query: string) => {
    const said: string[] = [];
    const options = readOptions(new URL(`http://localhost/overlay?${query}`), (words) => said.push(words));
    return { options, said };
  };
  const wrong = read("max=5.5&minTier=2.5&size=3000");
  assert.deepEqual(
    [wrong.options.max, wrong.options.filters.minTier, wrong.options.sizePx],
    [30, undefined, 24],
  );
  assert.deepEqual(wrong.said.toSorted(), [
    "max=5.5 cannot be used: use a whole number from 1 to 200.",
    "minTier=2.5 cannot be used: use a whole number from 1 to 7.",
    "size=3000 cannot be used: use a number from 8 to 96.",
  ]);
  const right = read("max=5.0&minTier=2&size=16.5&fade=0.5&backfill=2.5"); // a backfill as the API takes it
  const { max, filters, sizePx, fadeMs, backfill } = right.options;
  assert.deepEqual([max, filters.minTier, sizePx, fadeMs, backfill], [5, 2, 16.5, 500, 2]);
  assert.deepEqual(right.said, []);
});
