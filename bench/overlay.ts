/**
 * The overlay with a filter in headless Chromium, over 300,000 messages that the filter leaves out: those of
 * other types, which the service does not send it, and commands, which the page leaves out itself. Prints the
 * heap after each tenth of them.
 *
 *     npm run bench:overlay [-- MESSAGES]        fails if the heap grows
 */
import assert from "node:assert/strict";
import { launchChromium, rowOf, until } from "../test/support/browser.ts";
import { paidAction, textAction } from "../test/support/chat-actions.ts";
import { startRelay } from "../test/support/relay.ts";

const [messages = 300_000] = process.argv.slice(2).map(Number);
const STEPS = 10;
/** As many as the upstream says at once. */
const BATCH = 500;
const MAX_GROWTH_MB = 1;

await using relay = await startRelay({ settings: { RELAY_POLL_MIN_MS: "5" } });
const browser = await launchChromium();
await using _ = { [Symbol.asyncDispose]: () => browser.close() };

for (const filter of ["types=paid", "commands=off"]) {
  const videoId = filter.replace("=", "-").padEnd(11, "-").slice(0, 11);
  const chat = relay.upstream.chat(videoId, { timeoutMs: 5 });
  const page = await browser.newPage({ viewport: { width: 600, height: 700 } });
  await page.goto(`${relay.url}/overlay?videoId=${videoId}&images=off&${filter}`);
  await until(page, "document.documentElement.dataset.state === 'open'");
  const devtools = await page.context().newCDPSession(page);
  const heaps: number[] = [];
  const since = performance.now();
  for (let step = 1; step <= STEPS; step++) {
    for (let batch = 0; batch < messages / STEPS; batch += BATCH) {
      const id = `${step}-${batch}`;
      chat.say([
        ...Array.from({ length: BATCH }, (_, at) => textAction(`${id}-${at}`, { text: `!say ${id} ${at}` })),
        paidAction(id, "$5.00"),
      ]);
      await until(page, `document.querySelector('${rowOf(id)}') !== null`);
    }
    await devtools.send("HeapProfiler.collectGarbage");
    heaps.push((await devtools.send("Runtime.getHeapUsage")).usedSize / 1e6);
  }
  const seconds = (performance.now() - since) / 1000;
  console.log(
    `${filter}: ${messages} messages in ${seconds.toFixed()} s, heap in MB: ${heaps.map((mb) => mb.toFixed(2)).join(" ")}`,
  );
  const [first = 0, ...others] = heaps;
  assert.ok(Math.max(...others) <= first + MAX_GROWTH_MB, "the heap grows");
  await page.close();
}
