/**
 * The viewer page in headless Chromium with a busy chat: 200 messages per second for a minute, of every kind,
 * through the service and the simulated upstream. Prints long tasks, the delay of a click, elements and heap.
 *
 *     npm run bench:page [-- SECONDS RATE]        fails if the page is not bounded, or does not keep up
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import { idsOf, launchChromium, rowOf, until } from "../test/support/browser.ts";
import { textAction } from "../test/support/chat-actions.ts";
import { startRelay } from "../test/support/relay.ts";

const [seconds = 60, rate = 200] = process.argv.slice(2).map(Number);
const MAX_ROWS = 500;
/** The browsers' definition of a long task. */
const LONG_MS = 50;
const MAX_TASK_MS = 100;
const MAX_HEAP_MB = 60;
const VIDEO = "a-busy-chat";

await using relay = await startRelay({ settings: { RELAY_POLL_MIN_MS: "500", RELAY_POLL_MAX_MS: "5000" } });
const chat = relay.upstream.chat(VIDEO, { timeoutMs: 500 });
const browser = await launchChromium();
await using _ = { [Symbol.asyncDispose]: () => browser.close() };
const page = await browser.newPage({ viewport: { width: 1100, height: 760 } });
await page.goto(`${relay.url}/?videoId=${VIDEO}&images=off`);
await until(page, "document.documentElement.dataset.state === 'open'");
const devtools = await page.context().newCDPSession(page);
const heapMb = async (): Promise<number> => {
  await devtools.send("HeapProfiler.collectGarbage");
  return (await devtools.send("Runtime.getHeapUsage")).usedSize / 1e6;
};

const firstHeap = await heapMb(); // outside the trace, because collecting all garbage takes long
await browser.startTracing(page, { categories: ["toplevel"] });
const speaker = chat.speak(rate);
const clicks: number[] = [];
for (let second = 0; second < seconds; second += 5) {
  await delay(5000);
  const since = performance.now();
  await page.locator("input[name=q]").click();
  clicks.push(performance.now() - since);
  const rows = await page.evaluate<number>("document.querySelectorAll('#chat [data-message-id]').length");
  assert.ok(rows <= MAX_ROWS, `${rows} rows`);
}
speaker.stop();
chat.say([textAction("the-last")]);
await until(page, `document.querySelector('${rowOf("the-last")}') !== null`);

const { traceEvents }: { traceEvents: TraceEvent[] } = JSON.parse(String(await browser.stopTracing()));
const mains = traceEvents.filter(({ args }) => args.name === "CrRendererMain").map(({ pid }) => pid);
const tasks = traceEvents.filter(
  ({ name, pid, tid }) => /RunTask$/.test(name) && pid === tid && mains.includes(pid),
);
const ofTasks = (key: "dur" | "tdur"): string => {
  const ms = tasks.map((task) => (task[key] ?? 0) / 1000).filter((each) => each > LONG_MS);
  return `${ms.length} over ${LONG_MS} ms, 95th percentile ${percentile95(ms).toFixed()} ms, longest ${Math.max(0, ...ms).toFixed()} ms`;
};
const lastHeap = await heapMb();
console.log(`${chat.ledger.length} messages, ${(await idsOf(page)).length} rows`);
console.log(`tasks by the page's own work: ${ofTasks("tdur")}`);
console.log(`tasks by the clock, which other programs lengthen: ${ofTasks("dur")}`);
console.log(
  `clicks: ${Math.max(...clicks).toFixed()} ms at most; heap: ${firstHeap.toFixed(1)} MB at first, ${lastHeap.toFixed(1)} MB at last`,
);
const own = tasks.map(({ tdur = 0 }) => tdur / 1000).filter((ms) => ms > LONG_MS);
assert.ok(percentile95(own) <= MAX_TASK_MS && lastHeap <= MAX_HEAP_MB, "over its bounds");

/** A part of a trace: one task of a thread, in microseconds by the clock and by the thread's own work. */
interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  args: { name?: string };
  dur?: number;
  tdur?: number;
}

function percentile95(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * 0.95)] ?? 0;
}
