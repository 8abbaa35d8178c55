/**
 * Overlays in headless Chromium over four hours of a chat of every kind with 20 messages a second, as fast as
 * they go: the overlays' clocks are stopped, and moved on for each batch of messages. Prints the memory of
 * each overlay in MB after each tenth.
 *
 *     npm run bench -- overlay [HOURS]        fails if the memory of one of them grows
 */
import assert from "node:assert/strict";
import type { Page } from "playwright-core";
import type { JsonObject } from "../../simulator/plain-json.ts";
import { CHROMIUM, heapMbOf, launchChromium, rowOf, until } from "../../test/support/browser.ts";
import { paidAction } from "../../test/support/chat-actions.ts";
import { startRelay } from "../../test/support/relay.ts";

const [hours = 4] = process.argv.slice(2).map(Number);
const PER_SECOND = 20;
const VIDEO = "four-hours-";
const TENTHS = 10;
/** As many as the upstream says at once. */
const BATCH = 500;
const BATCH_MS = (BATCH / PER_SECOND) * 1000;
const STEP_MS = 5000;
/** A hundred alerts wait at most, of eight seconds each and the change to the next. */
const MAX_QUEUE_MS = 900_000;
const MAX_GROWTH_MB = 3;
/** With `hide`, the overlay leaves out by itself what the service has sent. */
const QUERIES = ["", "types=paid", "view=alerts", "hide=/[ao]/"];

await using relay = await startRelay({ settings: { RELAY_POLL_MIN_MS: "5" } });
const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
const browser = await launchChromium(CHROMIUM);
await using _ = { [Symbol.asyncDispose]: () => browser.close() };
const overlays = await Promise.all(QUERIES.map(open));
const heaps: number[][] = QUERIES.map(() => []);
const since = performance.now();
for (let tenth = 1; tenth <= TENTHS; tenth += 1) {
  for (let ms = 0; ms < (hours * 3_600_000) / TENTHS; ms += BATCH_MS) await say(`${tenth}-${ms}`);
  for (const [at, page] of overlays.entries()) heaps[at]?.push(await heapMbOf(page));
  const now = heaps.map((each, at) => `${QUERIES[at] || "default"} ${each.at(-1)?.toFixed(2)}`);
  console.log(`${(tenth * hours) / TENTHS} h: ${now.join(", ")}`);
}
const seconds = (performance.now() - since) / 1000;
chat.say([marker("the-last")]);
for (let ms = 0; !(await areShowing("the-last", overlays)); ms += STEP_MS) {
  assert.ok(ms <= MAX_QUEUE_MS, "a message was lost");
  await run(STEP_MS);
}
const played = (await overlays[0]?.evaluate<number>("performance.now()")) ?? 0;
console.log(
  `${chat.ledger.length} messages, ${(played / 3_600_000).toFixed(2)} hours by the overlays' clocks, in ${seconds.toFixed()} s`,
);
for (const [first = 0, ...others] of heaps)
  assert.ok(Math.max(...others) <= first + MAX_GROWTH_MB, "the memory grows");

async function open(query: string): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 600, height: 700 } });
  await page.clock.pauseAt(Date.now() + 60_000);
  await page.goto(`${relay.url}/overlay?videoId=${VIDEO}&images=off&${query}`);
  await until(page, "document.documentElement.dataset.state === 'open'");
  return page;
}

/** A message that no overlay leaves out. */
function marker(id: string): JsonObject {
  return paidAction(id, "$5.00", { author: "@x", text: "" });
}

/**
 * Says a batch, and moves the clocks on by its time, and further until its last message is shown; but for
 * alerts, which wait for their turn.
 */
async function say(id: string): Promise<void> {
  chat.say(BATCH - 1);
  chat.say([marker(id)]);
  const atOnce = overlays.filter((_, at) => QUERIES[at] !== "view=alerts");
  for (let ms = 0; ms < BATCH_MS || !(await areShowing(id, atOnce)); ms += STEP_MS) await run(STEP_MS);
}

async function areShowing(id: string, pages: readonly Page[]): Promise<boolean> {
  const counts = await Promise.all(pages.map((page) => page.locator(rowOf(id)).count()));
  return counts.every((count) => count > 0);
}

async function run(ms: number): Promise<void> {
  await Promise.all(overlays.map((page) => page.clock.runFor(ms)));
}
