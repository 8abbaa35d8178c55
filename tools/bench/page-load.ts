/**
 * The cold load of the viewer page in headless Chromium: the time from the request to the first message, and
 * the number of requests, with a round trip of 100 ms (connections included) and beside it without any. The
 * second is the browser's and the service's own work, which other programs on the machine lengthen.
 *
 *     npm run bench -- page-load
 */
import { loadavg } from "node:os";
import { CHROMIUM, launchChromium, until } from "../../test/support/browser.ts";
import { paidAction, texts } from "../../test/support/chat-actions.ts";
import { placeAway } from "../../test/support/distance.ts";
import { startRelay } from "../../test/support/relay.ts";
import { inRounds, median } from "./rounds.ts";

const ROUND_TRIP_MS = 100;
const VIDEO = "a-cold-load";
/** In the page: the time of the first message, from the beginning of the navigation. */
const NOTE = `
  new MutationObserver(() => {
    if (document.querySelector("[data-message-id]")) window.firstAt ??= performance.now();
  }).observe(document, { childList: true, subtree: true });`;

await using relay = await startRelay();
relay.upstream.chat(VIDEO, { page: 1000 }).say([paidAction("p", "$50.00"), ...texts("a", 60)]);
await using away = await placeAway(relay.url, ROUND_TRIP_MS);
await using near = await placeAway(relay.url, 0);
const browser = await launchChromium(CHROMIUM);
await using _ = { [Symbol.asyncDispose]: () => browser.close() };

let requests = 0;
const load = async (url: string): Promise<number> => {
  const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
  const page = await context.newPage();
  await page.addInitScript(NOTE);
  requests = 0;
  page.on("request", (request) => {
    requests += Number(request.url().startsWith(url));
  });
  await page.goto(`${url}/?videoId=${VIDEO}`);
  await until(page, "document.querySelector('#ticker .paid') !== null"); // which is loaded last
  const firstMs = await page.evaluate<number>("firstAt");
  await context.close();
  return firstMs;
};

await load(near.url); // the first one opens the chat, and the service compresses the files
const measured = await inRounds({ away: () => load(away.url), near: () => load(near.url) });
const figures = (ms: readonly number[]): string =>
  `${median(ms).toFixed()} ms (${Math.min(...ms).toFixed()} to ${Math.max(...ms).toFixed()})`;
console.log(`first message at ${ROUND_TRIP_MS} ms of round trip: ${figures(measured.away)}`);
console.log(`first message without a round trip: ${figures(measured.near)}`);
console.log(`${requests} requests; system load ${loadavg()[0]?.toFixed(1)}`);
