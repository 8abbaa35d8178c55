/** What the viewer page costs a browser that has never seen it, and what it draws first. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { gzipSync } from "node:zlib";
import { NO_CHROMIUM, until } from "../support/browser.ts";
import { deletionOf, paidAction, texts } from "../support/chat-actions.ts";
import { usePages } from "../support/pages.ts";

const MAX_REQUESTS = 8;
/** The document, its scripts and its stylesheet, each compressed by gzip, weigh at most this. */
const MAX_BYTES = 67_095;

/** Notes what the page asks for, and when, in the browser's own time. */
const NOTE_CALLS = `
  window.calls = [];
  const { fetch } = window;
  window.fetch = (input, init) => {
    calls.push({ url: String(input?.url ?? input), at: performance.now() });
    return fetch(input, init);
  };`;
/**
 * The round of a call that is still open: one more than the round of the resources that were loaded before it
 * began. The document is the first.
 */
const ROUND_OF = `(part) => {
  const { at } = calls.find(({ url }) => url.includes(part));
  const [{ responseEnd }] = performance.getEntriesByType("navigation");
  const loaded = performance.getEntriesByType("resource").filter((entry) => entry.responseEnd > 0);
  const roundBefore = (at) =>
    Math.max(
      responseEnd <= at ? 1 : 0,
      ...loaded.filter((entry) => entry.responseEnd <= at).map((entry) => 1 + roundBefore(entry.startTime)),
    );
  return 1 + roundBefore(at);
}`;

describe("the first load of the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 700 }, { page: 1000 });

  it("asks for the chat as soon as it has the page and its files, makes eight requests, and is small", async () => {
    const { relay, chat, browser, videoId } = pages;
    chat.say([paidAction("p", "$50.00"), ...texts("a", 60), deletionOf("a-3")]);
    const context = await browser.newContext({ viewport: { width: 1000, height: 700 } });
    const page = await context.newPage();
    await page.addInitScript(NOTE_CALLS);
    const asked: string[] = [];
    page.on("request", (request) => request.url().startsWith(relay.url) && asked.push(request.url()));
    const files: Promise<Buffer>[] = [];
    page.on("response", (answer) => {
      const isFile = answer.url().startsWith(relay.url) && !answer.url().includes("/v1/");
      if (isFile) files.push(answer.body());
    });
    await page.goto(`${relay.url}/?videoId=${videoId}`);
    await until(page, "document.querySelector('#ticker .paid') !== null"); // which is loaded last
    // 2 if the page's last bytes came after its files were asked for
    const round = await page.evaluate<number>(`(${ROUND_OF})("/v1/stream")`);
    assert.ok(round === 2 || round === 3, `round ${round}`);
    assert.ok(asked.length <= MAX_REQUESTS, asked.join("\n"));
    const sizes = (await Promise.all(files)).map((file) => gzipSync(file, { level: 9 }).length);
    const bytes = sizes.reduce((sum, size) => sum + size, 0);
    assert.ok(bytes > 0 && bytes <= MAX_BYTES, `${bytes} bytes`);
    await context.close();
  });

  it("says without JavaScript that it needs it, as the other pages with controls do", async () => {
    const { relay, browser } = pages;
    const context = await browser.newContext({
      javaScriptEnabled: false,
      viewport: { width: 390, height: 844 },
    });
    const page = await context.newPage();
    for (const path of ["/", "/probe", "/overlay/setup"]) {
      await page.goto(relay.url + path);
      assert.equal(await page.locator("noscript").innerText(), "This page needs JavaScript.");
    }
    await page.goto(`${relay.url}/overlay`); // it shows nothing to an audience
    assert.equal((await page.locator("body").innerText()).trim(), "");
    await context.close();
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
