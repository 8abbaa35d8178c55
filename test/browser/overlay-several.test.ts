/** Several chats in one list of the overlay. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { authorDeletionOf, deletionOf, textAction, textItem, texts } from "../support/chat-actions.ts";
import { bannered, SENT } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";
import { POLL_CLOSED, POLL_OPENED } from "../support/poll-items.ts";
import { Stream } from "../support/stream.ts";

describe("the overlay of several chats", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 700 });
  const { evaluate, has } = pages;
  /** The test's video, and another with its chat. */
  const two = () => {
    const other = pages.videoId.replace("page", "wide");
    return { other, second: pages.relay.upstream.chat(other, { timeoutMs: 50 }) };
  };
  const open = (query: string) => pages.page.goto(`${pages.relay.url}/overlay?${query}`);
  /** A message of ten minutes ago, and that number of seconds later. */
  const at = (id: string, seconds: number) => textAction(id, { at: Date.now() - 600_000 + seconds * 1000 });

  it("begins with the last messages of all by their time, and goes on as they arrive", async () => {
    const { page, chat, videoId } = pages;
    const { other, second } = two();
    chat.say([at("a-1", 1), at("a-3", 3), at("a-5", 5)]);
    second.say([at("b-2", 2), at("b-4", 4), at("b-6", 6)]);
    await open(
      `videoIds=${videoId},${other}&labels=${videoId}:Wide,${encodeURIComponent(other)}:Up%20right&max=5`,
    );
    await has("b-6");
    await has("a-5");
    await until(page, "document.querySelectorAll('#chat > .row').length === 5");
    assert.deepEqual(await idsOf(page), ["b-2", "a-3", "b-4", "a-5", "b-6"]);
    second.say([textAction("c")]);
    await has("c");
    chat.say([textAction("d")]);
    await has("d");
    assert.deepEqual(await idsOf(page), ["b-4", "a-5", "b-6", "c", "d"]);
    const marks = await evaluate(`[...document.querySelectorAll("#chat > .row")].slice(-2).map((row) =>
      [row.dataset.videoId, row.querySelector("[data-source]").textContent])`);
    assert.deepEqual(marks, [
      [other, "Up right"],
      [videoId, "Wide"],
    ]);
    await page.addStyleTag({ content: ":root { --source-color-2: rgb(1, 2, 3) }" });
    assert.equal(
      await evaluate(
        `getComputedStyle(document.querySelector('${rowOf("c")} [data-source]')).backgroundColor`,
      ),
      "rgb(1, 2, 3)",
    );
  });

  it("mixes the backfills of a slow machine by time, whichever chat comes first", async () => {
    const { page, chat, videoId } = pages;
    const { other, second } = two();
    chat.say([at("a-1", 1), at("a-3", 3)]);
    second.say([at("b-2", 2), at("b-4", 4)]);
    // All that is done takes as long as on a machine of a thousandth of the speed.
    await page.addInitScript(`const now = performance.now.bind(performance);
      performance.now = () => now() * 1000;`);
    for (const ids of [
      [videoId, other],
      [other, videoId],
    ]) {
      await open(`videoIds=${ids.join()}`);
      for (const id of ["a-3", "b-4"]) await has(id);
      await until(page, "document.querySelectorAll('#chat > .row').length === 4");
      assert.deepEqual(await idsOf(page), ["a-1", "b-2", "a-3", "b-4"]);
    }
  });

  it("leaves messages without a time where their chat has them", async () => {
    const { page, chat, videoId } = pages;
    const { other, second } = two();
    chat.say([at("a-1", 1), at("a-5", 5)]);
    second.say([at("b-2", 2), { ...SENT.raid[0] }, at("b-4", 4)]);
    await open(`videoIds=${videoId},${other}`);
    for (const id of ["a-5", "b-4"]) await has(id);
    await until(page, "document.querySelectorAll('#chat > .row').length === 5");
    const ids = await idsOf(page);
    assert.deepEqual(ids.toSpliced(2, 1), ["a-1", "b-2", "b-4", "a-5"], ids.join());
  });

  it("keeps the order of arrival where a poll closes", async () => {
    const { page, chat, videoId } = pages;
    const { other, second } = two();
    second.say(texts("old", 9)); // so its cursors are ahead of those of the other chat
    await open(`videoIds=${other},${videoId}&backfill=0`);
    await pages.stateIs("open");
    for (const at of [0, 1, 2]) {
      second.say([textAction(`b-${at}`)]);
      await has(`b-${at}`);
      chat.say([textAction(`a-${at}`)]);
      await has(`a-${at}`);
    }
    chat.say([POLL_OPENED]);
    await page.locator("#pinned [data-poll-id='poll:poll-1']").waitFor();
    second.say([textAction("b-9")]);
    await has("b-9");
    chat.say([POLL_CLOSED]);
    await page.locator("#chat [data-poll-state=closed]").waitFor();
    const ids = (await idsOf(page)).map((id) => id.replace(/^poll:.*/, "poll"));
    assert.deepEqual(ids, ["b-0", "a-0", "b-1", "a-1", "b-2", "a-2", "b-9", "poll"]);
  });

  it("moves no row when others join it", async () => {
    const { page, chat, videoId } = pages;
    const { other, second } = two();
    chat.say([at("a-1", 1), at("a-3", 3)]);
    second.say([at("b-2", 2)]);
    await page.addInitScript(`document.addEventListener("animationstart", ({ target }) => {
      const id = target.dataset?.messageId;
      if (id) (window.entered ??= []).push(id);
    })`);
    await open(`videoIds=${videoId},${other}`);
    for (const id of ["a-3", "b-2"]) await has(id);
    chat.say([textAction("z")]);
    await has("z");
    await until(page, "window.entered?.includes('z')");
    const entered = await evaluate<string[]>("entered");
    assert.equal(new Set(entered).size, entered.length, entered.join());
  });

  it("deletes in the chat of the deletion alone, and has the newest pinned message of all", async () => {
    const { page, chat, videoId } = pages;
    const { other, second } = two();
    await open(`videoIds=${videoId},${other}`);
    await pages.stateIs("open");
    const author = { channel: "UCthe-same" };
    chat.say([textAction("a", author), bannered(textItem("p"), { actionId: "one" })]);
    await has("banner:one");
    second.say([textAction("b", author), bannered(textItem("q"), { actionId: "two" })]);
    await has("banner:two");
    assert.deepEqual(await idsOf(page, "#pinned"), ["banner:two"]);
    chat.say([authorDeletionOf(author.channel), textAction("z")]);
    await has("z");
    assert.deepEqual(await idsOf(page), ["b", "z"]);
    second.say([deletionOf("q"), textAction("y")]);
    await has("y");
    assert.deepEqual(await idsOf(page, "#pinned"), []);
  });

  it("has the newest pinned message of all, also if it is older than what it begins with", async () => {
    const { page, chat, videoId, relay } = pages;
    const { other, second } = two();
    const pin = async (id: string, of: typeof chat, videoId: string) => {
      of.say([textAction(`before-${id}`), bannered(textItem(id), { actionId: id })]);
      await using stream = await Stream.open(relay.url, { videoId, backfill: 500 });
      await stream.untilMessages(2);
    };
    await pin("one", chat, videoId);
    await pin("two", second, other);
    for (const ids of [`${videoId},${other}`, `${other},${videoId}`]) {
      await open(`videoIds=${ids}&fade=3600`);
      await has("banner:two");
      await page.locator(`#pinned [data-video-id="${other}"]`).waitFor();
      assert.deepEqual(await idsOf(page, "#pinned"), ["banner:two"]);
    }
  });

  for (const [status, code] of [
    [401, "UNAUTHORIZED"],
    [404, "NOT_STORED"],
  ] as const)
    it(`has failed if the service refuses all with ${status}`, async () => {
      const { page, videoId } = pages;
      const json = { code, message: "They are refused." };
      await page.route(/v1.merged/, (route) => route.fulfill({ status, json }));
      await open(`videoIds=${videoId},${two().other}`);
      await page.locator(`html[data-state=failed][data-code=${code}]`).waitFor({ state: "attached" });
      // Words are for the person that sets it up.
      assert.equal(await page.locator("#status").isVisible(), status === 401);
      await page.unroute(/v1.merged/);
    });

  it("asks again 30 s after a refusal, and begins then", async () => {
    const { browser, chat, relay, videoId } = pages;
    await using page = await browser.newPage();
    await page.clock.install();
    await page.addInitScript(`
      window.waits = [];
      const wait = window.setTimeout;
      window.setTimeout = (callback, ms) => { waits.push(ms); return wait(callback, ms); };`);
    const json = { code: "FORBIDDEN", message: "They are refused." };
    await page.route(/v1.merged/, (route) => route.fulfill({ status: 403, json }));
    await page.goto(`${relay.url}/overlay?videoIds=${videoId},${two().other}`);
    await page.locator("html[data-state=failed]").waitFor({ state: "attached" });
    assert.ok(await page.evaluate("waits.includes(30_000)"));
    await page.unroute(/v1.merged/);
    chat.say([textAction("a")]);
    await page.clock.fastForward(30_000);
    await page.locator(rowOf("a")).waitFor();
  });

  it("goes on with the others when one ends, or has not begun, and names what it leaves out", async () => {
    const { page, chat, videoId, relay } = pages;
    const { other, second } = two();
    const warnings: string[] = [];
    page.on("console", (message) => warnings.push(message.text()));
    relay.upstream.chat("not-yet-000", { kind: "none" });
    const extra = ["extra-00001", "extra-00002", "extra-00003", "extra-00004"];
    await open(`videoIds=${[videoId, other, "not-yet-000", "no-id", ...extra].join()}`);
    second.say([textAction("b")]);
    await has("b");
    second.end("continuations-absent");
    chat.say(texts("a", 3));
    await has("a-2");
    assert.deepEqual(await idsOf(page), ["b", "a-0", "a-1", "a-2"]);
    await pages.stateIs("open");
    assert.equal(await page.locator("#status").isVisible(), false);
    const named = warnings.filter((text) => text.startsWith("videoIds="));
    assert.equal(named.length, 2, warnings.join());
    assert.match(named.join(), /no-id/);
    assert.match(named.join(), /extra-00004/);
  });
});
