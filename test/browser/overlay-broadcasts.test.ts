/** All live broadcasts of a channel in one list of the overlay. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { Browser, Page } from "playwright-core";
import { idsOf, launchChromium, NO_CHROMIUM, rowOf } from "../support/browser.ts";
import { textAction } from "../support/chat-actions.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";

describe("the overlay of all live broadcasts of a channel", { skip: NO_CHROMIUM }, () => {
  let relay: TestRelay;
  let browser: Browser;
  before(async () => {
    const settings = { RELAY_CHANNEL_MS: "1000" };
    [relay, browser] = await Promise.all([startRelay({ settings }), launchChromium()]);
  });
  after(() => Promise.all([browser?.close(), relay?.[Symbol.asyncDispose]()]));

  const has = (page: Page, id: string) => page.locator(rowOf(id)).waitFor({ state: "attached" });
  const marks = (page: Page) =>
    page.evaluate<[string, string | undefined][]>(
      `[...document.querySelectorAll("#chat > .row")].map((row) =>
        [row.dataset.videoId, row.querySelector("[data-source]")?.textContent])`,
    );

  it("has those that are live, takes one in that begins, and keeps the rows of one that ends", async () => {
    const channel = relay.upstream.channel("@upright");
    const chat = { timeoutMs: 50 };
    const [wide, upright] = ["all-wide-01", "all-uprigh1"].map((id) => channel.broadcast(id, { chat }));
    assert.ok(wide && upright);
    wide.chat.say([textAction("w-1")]);
    upright.chat.say([textAction("u-1")]);
    const page = await browser.newPage({ viewport: { width: 600, height: 700 } });
    await page.goto(`${relay.url}/overlay?channel=@upright&all=on&labels=all-wide-01:Wide`);
    await has(page, "w-1");
    await has(page, "u-1");
    const third = channel.broadcast("all-third-1", { chat });
    third.chat.say([textAction("t-1")]);
    await has(page, "t-1");
    wide.end();
    upright.chat.say([textAction("u-2")]);
    await has(page, "u-2");
    third.chat.say([textAction("t-2")]);
    await has(page, "t-2");
    assert.deepEqual((await idsOf(page)).toSorted(), ["t-1", "t-2", "u-1", "u-2", "w-1"]);
    assert.deepEqual(Object.fromEntries(await marks(page)), {
      "all-wide-01": "Wide",
      "all-uprigh1": undefined,
      "all-third-1": undefined,
    });
    await page.close();
  });

  it("waits where none is live, has at most six, and shares the stream of other sources", async () => {
    const channel = relay.upstream.channel("@crowded");
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`${relay.url}/overlay?channel=@crowded&all=on`);
    await page.locator("html[data-state=waiting]").waitFor({ state: "attached" });
    const other = await context.newPage();
    await other.goto(`${relay.url}/overlay?channel=@crowded`);
    await page.locator("html[data-shared=on]").waitFor({ state: "attached" });
    const broadcasts = Array.from({ length: 7 }, (_, at) =>
      channel.broadcast(`crowd-000-${at}`, { chat: { timeoutMs: 50 } }),
    );
    for (const [at, { chat }] of broadcasts.entries()) chat.say([textAction(`c-${at}`)]);
    await page.locator("#chat > .row").nth(5).waitFor({ state: "attached" });
    for (const [at, { chat }] of broadcasts.entries()) chat.say([textAction(`d-${at}`)]);
    await page.locator("#chat > .row").nth(11).waitFor({ state: "attached" });
    assert.equal(new Set((await marks(page)).map(([videoId]) => videoId)).size, 6);
    await context.close();
  });
});
