/** The viewer page of a video whose live chat and replay are both stored. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { violationsIn } from "../support/axe.ts";
import { addressOf, idsOf, NO_CHROMIUM, until } from "../support/browser.ts";
import { usePages } from "../support/pages.ts";
import { roomsIn, startRelay } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

describe("the viewer page of a video with two stored chats", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 600 });

  /** A relay that has stored a live chat of two messages, which are `said`. */
  async function withLiveChat() {
    const { videoId } = pages;
    await using starting = new AsyncDisposableStack();
    const relay = starting.use(await startRelay({ settings: { RELAY_GRACE_MS: "1" } }));
    const chat = relay.upstream.chat(videoId, { kinds: ["text"] });
    const said = chat.say(2);
    await using live = await Stream.open(relay.url, { videoId });
    await live.untilMessages(2);
    chat.end("reload-only");
    await live.ended();
    await roomsIn(relay, "ended", 0);
    return Object.assign(starting.move(), { relay, chat, said });
  }

  it("shows one of them, says which, and the other one if the reader chooses it", async () => {
    const { page, videoId } = pages;
    await using stored = await withLiveChat();
    const { relay, chat, said } = stored;
    const later = chat.say(2);
    chat.change({ kind: "replay" });

    await page.goto(`${relay.url}/?videoId=${videoId}`);
    await pages.has(later[1] ?? "");
    const choice = page.locator("#which-chat select");
    await choice.waitFor();
    assert.equal(await choice.inputValue(), "replay");
    assert.deepEqual(await idsOf(page), [...said, ...later]);
    await choice.selectOption("live");
    await pages.stateIs("ended");
    await until(
      page,
      `document.querySelector("#status").textContent.includes("The live chat, as it is stored.")`,
    );
    assert.deepEqual(await idsOf(page), said);
    assert.match(new URL(page.url()).search, /chat=live/);
    await page.reload();
    await pages.has(said[1] ?? "");
    await choice.waitFor();
    assert.equal(await choice.inputValue(), "live");
    assert.deepEqual(await idsOf(page), said);
  });

  it("looks again for stored messages after a look that failed", async () => {
    const { page, videoId } = pages;
    await using stored = await withLiveChat();
    const failed = page.waitForEvent("requestfailed", (request) => request.url().includes("/v1/rooms/"));
    await page.route("**/v1/rooms/**", (route) => route.abort());
    await page.goto(`${stored.relay.url}/?videoId=${videoId}`);
    await failed;
    await pages.stateIs("waiting");
    await page.unroute("**/v1/rooms/**");
    await page.locator("#retry").click();
    await page.getByRole("link", { name: "Show its stored messages" }).waitFor();
  });

  it("leads to the stored live chat of a stream that is over and has no replay", async () => {
    const { page, videoId } = pages;
    await using stored = await withLiveChat();
    const { relay, said } = stored;
    await page.goto(`${relay.url}/?videoId=https://youtu.be/${videoId}&density=compact`);
    const link = page.getByRole("link", { name: "Show its stored messages" });
    await link.waitFor();
    await pages.stateIs("waiting");
    await page.locator("#retry").click();
    await until(page, "document.documentElement.dataset.code === 'NO_LIVE_CHAT'");
    await link.waitFor();
    assert.equal(await link.count(), 1);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      assert.deepEqual(await violationsIn(page), [], colorScheme);
    }
    await link.click();
    await pages.stateIs("ended");
    await pages.has(said[1] ?? "");
    assert.deepEqual(await idsOf(page), said);
    assert.equal(await link.count(), 0);
    assert.equal((await addressOf(page)).searchParams.get("density"), "compact");
  });

  it("leads from a replay of which nothing is stored to the stored live chat", async () => {
    const { page, videoId } = pages;
    await using stored = await withLiveChat();
    await page.goto(`${stored.relay.url}/?videoId=${videoId}&chat=replay`);
    await page.getByRole("link", { name: "Show its live chat" }).click();
    await pages.has(stored.said[1] ?? "");
    await page.goBack();
    await pages.stateIs("failed");
    const words = `Nothing is stored of the replay chat of video ${videoId}. Show its live chat.`;
    await page.locator("#status", { hasText: words }).waitFor();
  });

  it("leads to no stored messages where there are none", async () => {
    const { page, chat } = pages;
    chat.change({ kind: "none" });
    const answered = page.waitForResponse(/v1\/rooms/);
    await pages.visit();
    await pages.stateIs("waiting");
    await answered;
    await page.locator("#retry").click();
    await until(page, "document.documentElement.dataset.code === 'NO_LIVE_CHAT'");
    assert.equal(await page.locator("#status a").count(), 0);
  });

  it("offers no choice of a video with one stored chat", async () => {
    pages.chat.say(3);
    await pages.visit();
    await pages.stateIs("open");
    assert.equal(await pages.page.locator("#which-chat").isHidden(), true);
  });
});
