/** The sources and tabs of one service in one browser share one stream. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { BrowserContext, Page } from "playwright-core";
import { idsOf, NO_CHROMIUM, rowOf } from "../support/browser.ts";
import { paidAction, textAction, texts } from "../support/chat-actions.ts";
import { replaying } from "../support/chat-items.ts";
import { eventually } from "../support/eventually.ts";
import { type Pages, usePages } from "../support/pages.ts";
import { roomsIn, startRelay } from "../support/relay.ts";

/** Ten pages load at once, beside other tests. */
const MAX_MS = 120_000;

/** Event streams that are open: answers of `/v1/stream` and `/v1/merged` that have not ended. */
async function streamsOf({ relay }: Pick<Pages, "relay">): Promise<number> {
  const metrics = await (await fetch(`${relay.url}/metrics`)).text();
  return Number(/^relay_viewers(?:\{[^}]*\})? (\d+)$/m.exec(metrics)?.[1] ?? Number.NaN);
}

describe("sources of one service in one browser", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 400 });
  let context: BrowserContext;
  before(async () => {
    context = await pages.browser.newContext();
    context.setDefaultTimeout(MAX_MS);
  });
  after(() => context?.close());

  const open = async (path: string, { url } = pages.relay): Promise<Page> => {
    const page = await context.newPage();
    await page.goto(url + path);
    return page;
  };
  const isShared = (page: Page) =>
    page.locator("html[data-shared=on][data-state=open]").waitFor({ state: "attached" });

  const workerOf = async (page: Page) => {
    const devtools = await context.newCDPSession(page);
    await devtools.send("Target.setDiscoverTargets", { discover: true });
    const { targetInfos } = await devtools.send("Target.getTargets");
    const worker = targetInfos.find(({ type }) => type === "shared_worker");
    assert.ok(worker, JSON.stringify(targetInfos));
    return { devtools, targetId: worker.targetId };
  };

  it("share one stream among ten, and each shows its own backfill and filter", async () => {
    const { chat, relay, videoId } = pages;
    const other = videoId.replace("page", "also");
    const second = relay.upstream.chat(other, { timeoutMs: 50 });
    chat.say([...texts("old", 5), paidAction("old-paid", "$5.00")]);
    second.say(texts("second", 2));
    const first = await open(`/overlay?videoId=${videoId}`);
    await first.locator(rowOf("old-4")).waitFor();
    assert.equal(await first.locator("html").getAttribute("data-shared"), "off");
    const paths = [
      ...["", "&types=paid", "&view=ticker", "&view=alerts&hold=600", "&max=3"].map(
        (query) => `/overlay?videoId=${videoId}${query}`,
      ),
      `/overlay?videoId=${other}`,
      `/?videoId=${videoId}`,
      `/?videoIds=${videoId},${other}`,
      `/overlay?videoIds=${videoId},${other}`,
    ];
    const [whole, paid, , alerts, three, others, page, several, list] = await Promise.all(
      paths.map((path) => open(path)),
    );
    assert.ok(whole && paid && alerts && three && others && page && several && list);
    const all = [first, whole, paid, three, others, page, several, list];
    await Promise.all(all.map(isShared));
    await eventually(2, () => streamsOf(pages)); // one connection, which is a viewer of each of its two chats
    chat.say([...texts("new", 3), paidAction("new-paid", "$6.00")]);
    second.say(texts("second-new", 2));
    const has = (each: Page, id: string) => each.locator(rowOf(id)).first().waitFor({ state: "attached" });
    await Promise.all([first, whole, paid, alerts, page, several, list].map((each) => has(each, "new-paid")));
    await Promise.all([others, several, list].map((each) => has(each, "second-new-1")));
    const ofChat = [
      "old-0",
      "old-1",
      "old-2",
      "old-3",
      "old-4",
      "old-paid",
      "new-0",
      "new-1",
      "new-2",
      "new-paid",
    ];
    for (const each of [first, whole, page]) assert.deepEqual(await idsOf(each), ofChat);
    assert.deepEqual(await idsOf(paid), ["old-paid", "new-paid"]);
    assert.deepEqual(await idsOf(three), ofChat.slice(-3));
    assert.deepEqual(await idsOf(alerts), ["new-paid"]);
    assert.deepEqual(await idsOf(others), ["second-0", "second-1", "second-new-0", "second-new-1"]);
    assert.equal((await idsOf(list)).length, 14);

    // One that goes, and one that comes, cut none of the others.
    await whole.evaluate(`window.states = [];
      new MutationObserver(() => states.push(document.documentElement.dataset.state))
        .observe(document.documentElement, { attributeFilter: ["data-state"] })`);
    await others.close();
    const late = await open(`/overlay?videoId=${videoId.replace("page", "late")}`);
    relay.upstream.chat(videoId.replace("page", "late"), { timeoutMs: 50 }).say([textAction("late")]);
    chat.say([textAction("after")]);
    await has(whole, "after");
    assert.deepEqual(await whole.evaluate("states"), []);
    await late.close();

    // Another worker takes the place of one that dies.
    const { devtools, targetId } = await workerOf(whole);
    await devtools.send("Target.closeTarget", { targetId });
    chat.say([textAction("meanwhile")]);
    await has(whole, "meanwhile");
    await has(page, "meanwhile");
    assert.deepEqual(await idsOf(whole), [...ofChat, "after", "meanwhile"]);
  });

  it("show all of a chat that is over, and of a replay", async () => {
    const { chat, relay, videoId } = pages;
    const over = relay.upstream.chat(videoId.replace("page", "over"), { timeoutMs: 50 });
    const replay = relay.upstream.chat(videoId.replace("page", "repl"), { timeoutMs: 50 });
    over.say(texts("over", 3));
    await pages.page.goto(`${relay.url}/overlay?videoId=${videoId.replace("page", "over")}`);
    await pages.has("over-2");
    over.end("continuations-absent");
    await pages.stateIs("ended");
    replay.change({ kind: "replay" });
    replay.say(Array.from({ length: 60 }, (_, n) => replaying(`${1000 * n}`, textAction(`replay-${n}`))));
    const first = await open(`/overlay?videoId=${videoId}`);
    const ended = await open(`/?videoId=${videoId.replace("page", "over")}`);
    const source = await open(`/overlay?videoId=${videoId.replace("page", "over")}`);
    const whole = await open(`/?videoId=${videoId.replace("page", "repl")}`);
    for (const page of [ended, source, whole])
      await page.locator("html[data-shared=on][data-state=ended]").waitFor({ state: "attached" });
    for (const page of [ended, source]) assert.deepEqual(await idsOf(page), ["over-0", "over-1", "over-2"]);
    assert.equal((await idsOf(whole)).length, 60);
    chat.say([textAction("on")]);
    await first.locator(rowOf("on")).waitFor();
    for (const page of [first, ended, source, whole]) await page.close();
  });

  it("wait for a chat that a full service opens later, and try at once", async () => {
    const { videoId } = pages;
    await using relay = await startRelay({ settings: { RELAY_MAX_ROOMS: "1", RELAY_GRACE_MS: "2000" } });
    const later = videoId.replace("page", "late");
    relay.upstream.chat(videoId, { timeoutMs: 50 });
    relay.upstream.chat(later, { timeoutMs: 50 }).say([textAction("late")]);
    const first = await open(`/?videoId=${videoId}`, relay);
    const second = await open(`/?videoId=${later}`, relay);
    await second.locator("html[data-state=connecting][data-code=CAPACITY]").waitFor({ state: "attached" });
    await second
      .locator("#status")
      .getByText(/It tries again at/)
      .waitFor();
    await isShared(first);
    await first.close();
    await roomsIn(relay, "polling", 0);
    await roomsIn(relay, "lingering", 0);
    await second.getByRole("button", { name: "Try now" }).click();
    await isShared(second);
    await second.locator(rowOf("late")).waitFor();
    await second.close();
  });

  it("open a second page of a chat although the service takes no more viewers", async () => {
    const { videoId } = pages;
    await using relay = await startRelay({ settings: { RELAY_MAX_VIEWERS_PER_ADDRESS: "1" } });
    const chat = relay.upstream.chat(videoId, { timeoutMs: 50 });
    chat.say(texts("old", 2));
    const first = await open(`/?videoId=${videoId}`, relay);
    await first.locator(rowOf("old-1")).waitFor();
    const second = await open(`/?videoId=${videoId}`, relay);
    await Promise.all([first, second].map(isShared));
    chat.say([textAction("new")]);
    for (const page of [first, second]) await page.locator(rowOf("new")).waitFor();
    assert.deepEqual(await idsOf(first), ["old-0", "old-1", "new"]);
    await first.close(); // the second one keeps the stream
    chat.say([textAction("last")]);
    const isThere = async () => (await second.locator(rowOf("last")).count()) > 0;
    await eventually(true, async () => (await isThere()) || (await streamsOf({ relay })) === 0);
    assert.deepEqual((await idsOf(second)).slice(-2), ["new", "last"]);
    await second.close();
  });

  it("go on if the service refuses the chat of another page", async () => {
    const { videoId } = pages;
    await using relay = await startRelay({
      settings: { RELAY_PUBLIC: `watch:${videoId}`, RELAY_ADMIN_TOKEN: "x".repeat(20) },
    });
    const chat = relay.upstream.chat(videoId, { timeoutMs: 50 });
    const [first, source] = [
      await open(`/?videoId=${videoId}`, relay),
      await open(`/overlay?videoId=${videoId}`, relay),
    ];
    await Promise.all([first, source].map(isShared));
    const refused = await open(`/?videoId=${videoId.replace("page", "priv")}`, relay);
    await refused.locator("html[data-state=failed][data-code=UNAUTHORIZED]").waitFor({ state: "attached" });
    chat.say([textAction("later")]);
    for (const page of [first, source]) {
      await page.locator(rowOf("later")).waitFor();
      await isShared(page);
    }
    for (const page of [first, source, refused]) await page.close();
  });

  it("go on in a page that the worker took for gone", async () => {
    const { videoId } = pages;
    await using relay = await startRelay();
    const chat = relay.upstream.chat(videoId, { timeoutMs: 50 });
    chat.say(texts("old", 2));
    const busy = await open(`/?videoId=${videoId}`, relay);
    const other = await open(`/?videoId=${videoId}`, relay);
    await Promise.all([busy, other].map(isShared));
    const { devtools, targetId } = await workerOf(other);
    const { sessionId } = await devtools.send("Target.attachToTarget", { targetId });
    // The worker's clock goes 55 s ahead, so the page must be busy for only ten seconds instead of a minute.
    const expression =
      "{ const now = performance.now.bind(performance); performance.now = () => now() + 55e3 }";
    const message = JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } });
    const isBusy = busy.evaluate(
      "{ const end = performance.now() + 14e3; while (performance.now() < end); }",
    );
    await devtools.send("Target.sendMessageToTarget", { sessionId, message });
    await isBusy;
    chat.say([textAction("new")]);
    for (const page of [other, busy]) {
      await page.locator(rowOf("new")).waitFor();
      assert.deepEqual(await idsOf(page), ["old-0", "old-1", "new"]);
      await page.close();
    }
  });

  it("share one stream for at most twenty chats", async () => {
    await using relay = await startRelay({ settings: { RELAY_POLL_MAX_MS: "15000" } });
    const { videoId } = pages;
    const ids = Array.from({ length: 21 }, (_, n) =>
      videoId.replace("page", `n-${String(n).padStart(2, "0")}`),
    );
    const chats = ids.map((id) => relay.upstream.chat(id, { timeoutMs: 2000 }));
    const sources = [ids.slice(0, 6), ids.slice(6, 12), ids.slice(12, 18), ids.slice(18, 20)];
    const openOf = (videoIds: readonly string[]) => open(`/overlay?videoIds=${videoIds.join()}`, relay);
    const [first, ...others] = await Promise.all(sources.map(openOf));
    assert.ok(first);
    await Promise.all([first, ...others].map(isShared));
    await eventually(20, () => streamsOf({ relay }));
    const last = await open(`/overlay?videoId=${ids[20]}`, relay);
    await last.locator("html[data-shared=off][data-state=open]").waitFor({ state: "attached" });
    await eventually(21, () => streamsOf({ relay }));
    for (const [n, chat] of chats.entries()) chat.say([textAction(`of-${n}`)]);
    const saying = [...sources, [ids[20]]].map((own) => own.map((id = "") => `of-${ids.indexOf(id)}`));
    for (const [n, page] of [first, ...others, last].entries()) {
      for (const id of saying[n] ?? []) await page.locator(rowOf(id)).waitFor({ state: "attached" });
      assert.deepEqual((await idsOf(page)).sort(), saying[n]?.sort());
    }
    for (const page of [first, ...others])
      assert.equal(await page.locator("html[data-shared=on]").count(), 1);
    await first.close();
    await eventually(15, () => streamsOf({ relay }));
    const again = await open(`/overlay?videoId=${ids[20]}`, relay);
    await isShared(again);
    await again.locator(rowOf("of-20")).waitFor({ state: "attached" });
    for (const page of [...others, last, again]) await page.close();
  });

  it("open a stream each if the browser has no shared workers, and say after 3 s why they wait", async () => {
    const { chat, relay, videoId } = pages;
    chat.say([textAction("a")]);
    const other = videoId.replace("page", "also");
    relay.upstream.chat(other, { timeoutMs: 50 });
    const broadcast = relay.upstream.channel("@slow").broadcast("slow-chan-1", { chat: { timeoutMs: 50 } });
    broadcast.chat.say([textAction("a")]);
    for (const path of [
      `/overlay?videoId=${videoId}`,
      `/?videoId=${videoId}`,
      `/overlay?videoIds=${videoId},${other}`,
      "/overlay?channel=@slow&all=on",
    ]) {
      const page = await pages.browser.newPage();
      await page.clock.install();
      await page.addInitScript("delete window.SharedWorker");
      let isAsked = false;
      const answered = Promise.withResolvers<void>();
      await page.route(/v1\/(?:stream|merged)/, async (route) => {
        isAsked = true;
        await answered.promise;
        await route.continue();
      });
      await page.goto(relay.url + path);
      await eventually(true, () => isAsked);
      assert.doesNotMatch(await page.locator("#status").innerText(), /six streams/);
      await page.clock.fastForward(3000);
      await page
        .locator("#status")
        .getByText(/six streams to one host/)
        .waitFor();
      answered.resolve();
      await page.locator(rowOf("a")).waitFor();
      assert.doesNotMatch(await page.locator("#status").innerText(), /six streams/);
      assert.equal(await page.locator("html").getAttribute("data-shared"), "off");
      await page.close();
    }
  });
});
