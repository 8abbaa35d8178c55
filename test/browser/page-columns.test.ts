/** The places of several chats on the viewer page, and names that the page refuses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_CHROMIUM, rowOf } from "../support/browser.ts";
import { texts } from "../support/chat-actions.ts";
import { usePages } from "../support/pages.ts";

const WIDE = { width: 1280, height: 720 };

/** In the page: the share of `main` that the columns cover, none of them twice. */
const COVERED = `(() => {
  const area = ({ width, height }) => width * height;
  const columns = [...document.querySelectorAll("main > .column")].map((each) => each.getBoundingClientRect());
  return columns.reduce((sum, each) => sum + area(each), 0) / area(document.querySelector("main").getBoundingClientRect());
})()`;

describe("the columns of several chats", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", WIDE, { kinds: ["text"] });
  const idsOf = (count: number) => Array.from({ length: count }, (_, at) => `no-chat-now${at}`.slice(-11));

  it("fill the window, whatever their number", async () => {
    const { page, relay } = pages;
    for (const count of [4, 5, 6])
      for (const width of [900, 1280, 2000]) {
        await page.setViewportSize({ width, height: 720 });
        if (width === 900) await page.goto(`${relay.url}/?videoIds=${idsOf(count).join()}`);
        const covered = await pages.evaluate<number>(COVERED);
        assert.ok(Math.abs(covered - 1) < 0.01, `${count} chats at ${width} px cover ${covered}`);
      }
    await page.setViewportSize(WIDE);
  });

  it("offer no older messages where a chat was not opened, or has none", async () => {
    const { page, relay, chat, videoId } = pages;
    chat.say(texts("a", 3));
    relay.upstream.chat("quiet-sofar");
    await page.goto(`${relay.url}/?videoIds=${videoId},quiet-sofar,no-chat-now`);
    await page.locator(rowOf("a-2")).waitFor();
    const column = (id: string) => page.locator(`[data-video-id="${id}"]`);
    await page.locator('[data-video-id="quiet-sofar"][data-state=open]').waitFor();
    await page.locator('[data-video-id="no-chat-now"][data-code]').waitFor();
    const offers = (id: string) => column(id).locator("[data-part=older]").isVisible();
    assert.deepEqual(await Promise.all([videoId, "quiet-sofar", "no-chat-now"].map(offers)), [
      true,
      false,
      false,
    ]);
    const words = await column("no-chat-now").locator("[data-part=status-words]").innerText();
    assert.match(words, /^No live chat found: .*\. It tries again at \d\d:\d\d:\d\d\.$/);
  });

  for (const [what, names, code, words] of [
    ["a name that is not a video", ["a-chat-0001", "no"], "INVALID_VIDEO_ID", /“no” is neither a video id/],
    [
      "more than six",
      Array.from({ length: 7 }, (_, at) => `many-videos${at}`.slice(-11)),
      "INVALID_REQUEST",
      /These are 7 videos, and the page shows 6 at most/,
    ],
  ] as const) {
    it(`are refused with ${what}, and a message`, async () => {
      const { page, relay } = pages;
      const streams: string[] = [];
      page.on(
        "request",
        (request) => /v1\/(merged|stream)/.test(request.url()) && streams.push(request.url()),
      );
      const warned = page.waitForEvent("console", (message) => message.type() === "warning");
      await page.goto(`${relay.url}/?videoIds=${names.join()}`);
      await pages.stateIs("failed");
      assert.equal(await page.locator("html").getAttribute("data-code"), code);
      assert.match(await page.locator("#status").innerText(), words);
      assert.match((await warned).text(), /^videoIds=/);
      assert.equal(await page.locator("#open input[name=videoId]").inputValue(), names.join(", "));
      assert.deepEqual(streams, []);
      await page.locator("#retry").click();
      await pages.stateIs("failed");
    });
  }
});
