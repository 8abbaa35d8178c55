/** What the viewer page costs a browser that has never seen it, and what it draws first. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_CHROMIUM, until } from "./support/browser.ts";
import { deletionOf, paidAction, texts } from "./support/chat-actions.ts";
import { placeAway } from "./support/distance.ts";
import { usePages } from "./support/pages.ts";

/** So long that the browser's own work hardly counts, on a busy machine, too. */
const ROUND_TRIP_MS = 1000;
/** Connections included. At 100 ms each, 0.6 s of 1.2 s are left to the browser. */
const MAX_ROUND_TRIPS = 6;
const OWN_WORK_MS = 2500;
const MAX_REQUESTS = 8;

describe("the first load of the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 700 }, { page: 1000 });

  it("shows a message after six round trips, and makes eight requests", async () => {
    const { relay, chat, browser, videoId } = pages;
    chat.say([paidAction("p", "$50.00"), ...texts("a", 60), deletionOf("a-3")]);
    await using distance = await placeAway(relay.url, ROUND_TRIP_MS);
    const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
    const page = await context.newPage();
    await page.addInitScript(`
      new MutationObserver(() => {
        if (document.querySelector("[data-message-id]")) window.firstAt ??= performance.now();
      }).observe(document, { childList: true, subtree: true });`);
    const asked: string[] = [];
    page.on("request", (request) => request.url().startsWith(distance.url) && asked.push(request.url()));
    await page.goto(`${distance.url}/?videoId=${videoId}`);
    await until(page, "document.querySelector('#ticker .paid') !== null"); // which is loaded last
    const firstMs = await page.evaluate<number>("firstAt");
    await context.close();
    assert.ok(firstMs >= 3 * ROUND_TRIP_MS, `${firstMs} ms: the service was not away`);
    assert.ok(firstMs <= MAX_ROUND_TRIPS * ROUND_TRIP_MS + OWN_WORK_MS, `${firstMs} ms`);
    assert.ok(asked.length <= MAX_REQUESTS, asked.join("\n"));
  });

  it("has the chosen theme before its own script arrives", async () => {
    const { relay, browser } = pages;
    const context = await browser.newContext({ colorScheme: "light" });
    const page = await context.newPage();
    await page.route(/main\.js/, (route) => route.abort());
    const ground = async (query: string) => {
      await page.goto(`${relay.url}/${query}`);
      return page.evaluate<string>("getComputedStyle(document.body).backgroundColor");
    };
    const [light, dark] = [await ground(""), await ground("?theme=dark")];
    assert.notEqual(dark, light);
    await page.evaluate("localStorage.setItem('theme', 'dark')");
    assert.equal(await ground(""), dark);
    assert.equal(await ground("?theme=light"), light);
    assert.equal(await ground("?theme=pink"), dark);
    await context.close();
  });
});
