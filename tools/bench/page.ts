/**
 * The viewer page in headless Chromium with a busy chat of every kind of message, through the service and the
 * simulated upstream: 20,000 messages at 200 per second, with paid messages and a poll above the chat, and
 * the results of a search open. Prints long tasks, the delay of a click beside that on an idle page, and the
 * heap after each part.
 *
 *     npm run bench -- page [SECONDS RATE CHATS]        fails if a message is lost, or a bound exceeded
 */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Browser, Page } from "playwright-core";
import { history } from "../../client/index.ts";
import { CHROMIUM, heapMbOf, launchChromium, rowOf, until } from "../../test/support/browser.ts";
import { paidAction, textAction } from "../../test/support/chat-actions.ts";
import { POLL_OPENED } from "../../test/support/poll-items.ts";
import { startRelay } from "../../test/support/relay.ts";
import { percentile } from "./rounds.ts";

const [seconds = 100, rate = 200, chats = 1] = process.argv.slice(2).map(Number);
const PARTS = 5;
const MAX_ROWS = 500;
/** The browsers' definition of a long task. */
const LONG_MS = 50;
const MAX_TASK_MS = 150;
const MAX_CLICK_MS = 150;
/** For each chat, as the rows in its log differ in size. */
const MAX_GROWTH_MB = 8;
/** The controls that are clicked: the chat is hidden and shown again, and a menu opened and closed. */
const CONTROLS = ["#tab-stats", "#tab-chat", "#looks summary", "#looks summary"];
/** Messages that have no row of their own, or one outside the log. */
const NO_ROWS = new Set(["poll", "banner", "banner_removed", "deleted", "author_deleted", "replaced"]);

/**
 * In the page: notes the cursors of the rows that each log is given, and how long each click waits until its
 * effect is drawn.
 */
const NOTE = `
  window.clicks = [];
  addEventListener("click", ({ timeStamp }) => {
    requestAnimationFrame(() => setTimeout(() => clicks.push(performance.now() - timeStamp)));
  }, true);
  new MutationObserver((records) => {
    for (const { target, addedNodes } of records)
      if (target.dataset?.part === "rows")
        for (const { dataset } of addedNodes)
          if (dataset.type !== "poll") (target.noted ??= []).push(Number(dataset.cursor));
  }).observe(document, { childList: true, subtree: true });`;

await using relay = await startRelay({ settings: { RELAY_POLL_MIN_MS: "500", RELAY_POLL_MAX_MS: "5000" } });
const spoken = Array.from({ length: chats }, (_, at) =>
  relay.upstream.chat(`a-busy-cha${at}`, { timeoutMs: 500 }),
);
for (const chat of spoken) chat.say([textAction("the-first"), paidAction("paid", "$50.00"), POLL_OPENED]);
const browser = await launchChromium(CHROMIUM);
await using _ = { [Symbol.asyncDispose]: () => browser.close() };
const open = async (query: string): Promise<Page> => {
  const page = await browser.newPage({ viewport: { width: 1300, height: 760 } });
  await page.addInitScript(NOTE);
  await page.goto(`${relay.url}/?images=off&${query}`);
  return page;
};
const idle = await open("");
const page = await open(
  `${chats === 1 ? "videoId" : "videoIds"}=${spoken.map(({ videoId }) => videoId).join()}`,
);
await until(page, `document.querySelectorAll('${rowOf("the-first")}').length === ${chats}`);
await page.locator("input[name=author]").fill("@somebody");
await page.keyboard.press("Enter");
await page.locator('[data-part="found"] li').first().waitFor();

const heaps: number[] = [];
const tasks: TraceEvent[] = [];
const speakers = spoken.map((chat) => chat.speak(rate / chats));
for (let part = 0; part < PARTS; part++) {
  await browser.startTracing(page, { categories: ["toplevel"] });
  const end = performance.now() + (seconds * 1000) / PARTS;
  while (performance.now() < end)
    for (const control of CONTROLS) {
      for (const each of [page, idle]) await each.locator(control).click();
      await delay(500);
    }
  tasks.push(...(await longTasksOf(browser)));
  heaps.push(await heapMbOf(page)); // outside the trace, because collecting all garbage takes long
  const rows = await page.evaluate<number[]>(
    `[...document.querySelectorAll('[data-part="rows"]')].map((rows) => rows.childElementCount)`,
  );
  assert.ok(Math.max(...rows) <= MAX_ROWS, `${rows} rows`);
}
for (const speaker of speakers) speaker.stop();
assert.ok(await page.locator('[data-part="found"]').first().isVisible(), "the results are not open");
assert.ok((await page.locator('[data-part="ticker"] .paid').count()) > 0, "nothing is above the chat");
for (const chat of spoken) chat.say([textAction("the-last")]);
await until(page, `document.querySelectorAll('${rowOf("the-last")}').length === ${chats}`);

const noted = await page.evaluate<number[][]>(
  `[...document.querySelectorAll('[data-part="rows"]')].map(({ noted }) => noted)`,
);
let messages = 0;
for (const [at, { videoId }] of spoken.entries()) {
  const expected: number[] = [];
  for await (const { type, cursor } of history(relay.url, { videoId })) {
    messages += 1;
    if (!NO_ROWS.has(type)) expected.push(cursor);
  }
  assert.deepEqual(noted[at], expected, "not each message was shown once");
}
const [clicks, idleClicks] = [
  await page.evaluate<number[]>("clicks"),
  await idle.evaluate<number[]>("clicks"),
];
const own = tasks.map(({ tdur = 0 }) => tdur / 1000);
const byClock = tasks.map(({ dur = 0 }) => dur / 1000);
/** The factor by which other programs on the machine lengthened the tasks, and so the clicks. */
const slowness = tasks.length > 0 ? sum(byClock) / sum(own) : 1;
const longest = Math.max(0, ...own);
const alone = percentile(clicks, 0.95) / slowness;
const waits = (ms: number[]): string =>
  `median ${percentile(ms, 0.5).toFixed()} ms, 95th percentile ${percentile(ms, 0.95).toFixed()} ms, longest ${Math.max(...ms).toFixed()} ms`;
console.log(`${messages} messages, each of them shown once`);
console.log(
  `${tasks.length} tasks over ${LONG_MS} ms by the page's own work, longest ${longest.toFixed()} ms; by the clock ${slowness.toFixed(1)}x`,
);
console.log(`clicks until the effect is drawn: ${waits(clicks)}; on an idle page: ${waits(idleClicks)}`);
console.log(`95th percentile without other programs: ${alone.toFixed()} ms`);
console.log(`heap after each part in MB: ${heaps.map((mb) => mb.toFixed(1)).join(" ")}`);
const [firstHeap = 0, ...laterHeaps] = heaps;
assert.ok(longest <= MAX_TASK_MS, "a task is too long");
assert.ok(alone <= MAX_CLICK_MS, "clicks wait too long");
assert.ok(Math.max(...laterHeaps) <= firstHeap + MAX_GROWTH_MB * chats, "the heap grows");

/** A part of a trace: one task of a thread, in microseconds by the clock and by the thread's own work. */
interface TraceEvent {
  name: string;
  pid: number;
  tid: number;
  args: { name?: string };
  dur?: number;
  tdur?: number;
}

/** Ends the trace. The long tasks of the pages' main threads. */
async function longTasksOf(browser: Browser): Promise<TraceEvent[]> {
  const { traceEvents }: { traceEvents: TraceEvent[] } = JSON.parse(String(await browser.stopTracing()));
  const mains = traceEvents.filter(({ args }) => args.name === "CrRendererMain").map(({ pid }) => pid);
  return traceEvents.filter(
    ({ name, pid, tid, tdur = 0 }) =>
      /RunTask$/.test(name) && pid === tid && mains.includes(pid) && tdur / 1000 > LONG_MS,
  );
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
