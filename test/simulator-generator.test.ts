import assert from "node:assert/strict";
import { test } from "node:test";
import { Generator, type Species } from "../src/simulator/generator.ts";
import { identify } from "../src/simulator/log.ts";
import { Random } from "../src/simulator/random.ts";

const NOW = Date.parse("2026-01-02T03:04:05Z");

function generate(seed: number, count: number, kinds?: readonly Species[]) {
  const generator = new Generator(new Random(seed, "test"), "UCsimulated");
  return Array.from({ length: count }, (_, index) => generator.next(NOW + index, kinds).action);
}

test("a seed always gives the same actions, and another seed others", () => {
  assert.deepEqual(generate(7, 500), generate(7, 500));
  assert.notDeepEqual(generate(7, 5), generate(8, 5));
});

test("items have ids of their own", () => {
  const kinds = ["text", "paid", "sticker", "membership", "milestone", "gift"] as const;
  const ids = generate(1, 20_000, kinds).map((action) => identify(action).id);
  assert.equal(new Set(ids).size, 20_000);
});

test("every kind of the wire comes, most of it text", () => {
  const counts = new Map<string, number>();
  for (const action of generate(1, 30_000)) {
    const { kind } = identify(action);
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  }
  assert.equal(counts.size, 28);
  const share = (counts.get("liveChatTextMessageRenderer") ?? 0) / 30_000;
  assert.ok(share > 0.85 && share < 0.91, `${share} is text`);
});

test("the kinds can be restricted", () => {
  const kinds = new Set(generate(1, 500, ["paid", "sticker"]).map((action) => identify(action).kind));
  assert.deepEqual([...kinds].sort(), ["liveChatPaidMessageRenderer", "liveChatPaidStickerRenderer"]);
});

test("a ticker repeats an item that was said, under its id", () => {
  const said = new Set<string>();
  let repeated = 0;
  for (const action of generate(1, 20_000)) {
    const { id, kind } = identify(action);
    if (!kind.startsWith("liveChatTicker")) said.add(id);
    else if (said.has(id)) repeated += 1;
  }
  assert.ok(repeated > 100, `${repeated} repeated`);
});
