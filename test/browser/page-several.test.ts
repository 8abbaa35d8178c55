/** Several chats on the viewer page: side by side or by tabs, each with its own state, on one connection. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Page } from "playwright-core";
import { treeOf } from "../support/accessibility.ts";
import { violationsIn } from "../support/axe.ts";
import { addressOf, idsOf, NO_CHROMIUM, until } from "../support/browser.ts";
import { paidAction, textItem, texts } from "../support/chat-actions.ts";
import { placeAway } from "../support/distance.ts";
import { bannered } from "../support/every-kind.ts";
import { type Chat, usePages } from "../support/pages.ts";
import { Stream } from "../support/stream.ts";

const WIDE = { width: 1280, height: 720 };
const NARROW = { width: 899, height: 720 };
const MAX_WAIT_MS = 30_000; // before the SDK connects again
/** A chat with this fault fails. */
const UNREADABLE = {
  on: ["get_live_chat", "popout", "watch"],
  times: Number.POSITIVE_INFINITY,
  as: { status: 500 },
} as const;

describe("several chats on the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", WIDE, { kinds: ["text"], page: 1000 });
  let videoIds: [string, string, string];
  let chats: [Chat, Chat, Chat];
  beforeEach(async () => {
    const { relay, videoId } = pages;
    videoIds = ["a", "b", "c"].map((letter) =>
      videoId.replace("page-00", `${letter}-chat-`),
    ) as typeof videoIds;
    chats = videoIds.map((each) =>
      relay.upstream.chat(each, { timeoutMs: 50, kinds: ["text"] }),
    ) as typeof chats;
    for (const [at, chat] of chats.entries()) chat.say(texts(`${"abc"[at]}-old`, 2));
    await pages.page.setViewportSize(WIDE);
  });
  // Else they are polled beside those of the next test.
  afterEach(() => {
    for (const chat of chats) chat.end("continuations-absent");
  });

  const query = () => `/?videoIds=${videoIds.join()}`;
  const within = (at: number) => `[data-video-id="${videoIds[at]}"]`;
  const idsIn = (at: number, page = pages.page) => idsOf(page, `${within(at)} [data-part=chat]`);
  const has = (id: string, at: number, page = pages.page) =>
    page.locator(`${within(at)} [data-part=chat] [data-message-id="${id}"]`).waitFor({ state: "attached" });
  const stateIs = (state: string, at: number, page = pages.page) =>
    until(page, `document.querySelector('${within(at)}').dataset.state === '${state}'`);
  const wordsIn = (at: number) => pages.page.locator(`${within(at)} [data-part=status]`).innerText();
  const visit = async () => {
    await pages.page.goto(pages.relay.url + query());
    for (const at of [0, 1, 2]) await has(`${"abc"[at]}-old-1`, at);
  };
  /** Resolves once the page shows it. */
  const say = async (name: string, places: readonly (0 | 1 | 2)[] = [0, 1, 2], count = 1) => {
    for (const at of places) {
      chats[at].say(texts(`${"abc"[at]}-${name}`, count));
      await has(`${"abc"[at]}-${name}-${count - 1}`, at);
    }
  };
  /** The streams that the page asks for. */
  const streamsOf = (page: Page): { videoIds: string | null; lastEventId: string | undefined }[] => {
    const asked: ReturnType<typeof streamsOf> = [];
    page.on("request", (request) => {
      const { pathname, searchParams } = new URL(request.url());
      const lastEventId = request.headers()["last-event-id"];
      if (/^\/v1\/(merged|stream)$/.test(pathname))
        asked.push({ videoIds: searchParams.get("videoIds"), lastEventId });
    });
    return asked;
  };

  it("are side by side, each with its own messages, over one connection", async () => {
    const { page } = pages;
    const streams = streamsOf(page);
    await visit();
    await say("new", [1], 3);
    chats[0].say([paidAction("paid", "$50.00", { author: "@ann" })]);
    await page.locator(`${within(0)} [data-part=ticker] .paid`).waitFor();
    assert.deepEqual(
      [await idsIn(0), await idsIn(1), await idsIn(2)],
      [
        ["a-old-0", "a-old-1", "paid"],
        ["b-old-0", "b-old-1", "b-new-0", "b-new-1", "b-new-2"],
        ["c-old-0", "c-old-1"],
      ],
    );
    assert.equal(await page.locator(".paid").count(), 1);
    assert.deepEqual(streams, [{ videoIds: videoIds.join(), lastEventId: undefined }]);
    const places = await Promise.all(
      videoIds.map((name) => page.getByRole("region", { name, exact: true }).boundingBox()),
    );
    assert.deepEqual(
      places.map((place) => Math.round(place?.x ?? Number.NaN)),
      [0, 427, 853],
    );
    assert.equal(await page.getByRole("tablist", { name: "Chats" }).count(), 0);
    assert.equal(await page.locator("html").getAttribute("data-state"), "open");
    const ids = await pages.evaluate<string[]>("[...document.querySelectorAll('[id]')].map(({ id }) => id)");
    assert.equal(new Set(ids).size, ids.length);
    assert.equal(await page.title(), `${videoIds.join(", ")} · Live chat`);
  });

  it("have the titles of their videos as names, and the ids, too, where two titles are the same", async () => {
    const { page, relay, videoId } = pages;
    const ids = ["u", "v", "w"].map((letter) => videoId.replace("page-00", `${letter}-chat-`));
    const titles = ["Wide \u202eand\u202c upright", "A\u0007 title", "A title"];
    const channel = relay.upstream.channel(`@titles-${videoId}`);
    for (const [at, id] of ids.entries()) {
      const chat = { timeoutMs: 50, kinds: ["text"], foundOn: "watch" } as const;
      channel.broadcast(id, { title: titles[at] ?? "", chat }).chat.say(texts(`${"uvw"[at]}-old`, 1));
    }
    await page.goto(`${relay.url}/?videoIds=${ids.join()}`);
    const names = ["Wide and upright", `A title ${ids[1]}`, `A title ${ids[2]}`];
    for (const name of names) {
      await page.getByRole("region", { name, exact: true }).waitFor();
      await page.getByRole("link", { name, exact: true }).waitFor();
    }
    assert.equal(await page.title(), `${names.join(", ")} · Live chat`);
    const listed = await pages.evaluate(
      "[...document.querySelectorAll('#download > ul > li > bdi')].map((each) => each.textContent)",
    );
    assert.deepEqual(listed, names);
    await page.setViewportSize(NARROW);
    const tabs = page.getByRole("tablist", { name: "Chats" });
    for (const name of names) await tabs.getByRole("tab", { name, exact: true }).waitFor();
    await tabs.getByRole("tab", { name: `A title ${ids[1]}`, exact: true }).click();
    assert.equal((await addressOf(page)).searchParams.get("chat"), ids[1]);
    assert.deepEqual(await violationsIn(page), []);
    assert.ok(await pages.evaluate("document.documentElement.scrollWidth <= innerWidth"));
  });

  it("have their own search, card, statistics and downloads", async () => {
    const { page } = pages;
    await visit();
    await page.locator("input[name=q]").fill("b-old-0");
    assert.deepEqual([await idsIn(0), await idsIn(1)], [[], ["b-old-0"]]);
    await page.locator("#find").getByRole("button").click();
    const found = (at: number) => page.locator(`${within(at)} [data-part=found]`);
    await found(1).getByText("1 message found.").waitFor();
    await found(0).getByText("0 messages found.").waitFor();
    assert.equal(await pages.evaluate("document.activeElement.id"), `found-${videoIds[0]}`);
    for (const at of [0, 2]) await found(at).getByRole("button", { name: "Close" }).click();
    await found(1).locator("li button").click();
    await has("a-old-1", 0); // the words of the filter have gone
    assert.equal(await pages.evaluate("document.activeElement.dataset.messageId"), "b-old-0");
    await page.locator(`${within(2)} [data-message-id=c-old-0] [data-field=author]`).click();
    await page.locator("#author h2").getByText("@somebody").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("#tab-stats").click();
    for (const at of [0, 1, 2])
      await page.locator(`${within(at)} [data-stat=messages][data-count="2"]`).waitFor();
    const files = await pages.evaluate<string[]>(
      "[...document.querySelectorAll('#download a')].map(({ href }) => new URL(href).searchParams.get('videoId'))",
    );
    assert.deepEqual([...new Set(files)], videoIds);
  });

  it("continue while a video has no chat, which is looked up until it appears", async () => {
    const { page } = pages;
    const streams = streamsOf(page);
    chats[2].change({ kind: "none" });
    await page.goto(pages.relay.url + query());
    await has("a-old-1", 0);
    await page.locator(`${within(2)}[data-state=waiting][data-code=NO_LIVE_CHAT]`).waitFor();
    assert.match(await wordsIn(2), / no live chat\. It tries again at \d\d:\d\d:\d\d\.\s+Try now/);
    await say("meanwhile", [0]);
    chats[2].change({ kind: "live" });
    await page
      .locator(`${within(2)}`)
      .getByRole("button", { name: "Try now" })
      .click();
    await has("c-old-1", 2);
    await stateIs("open", 2);
    await say("after");
    assert.deepEqual(await idsIn(0), ["a-old-0", "a-old-1", "a-meanwhile-0", "a-after-0"]);
    assert.deepEqual(await idsIn(2), ["c-old-0", "c-old-1", "c-after-0"]);
    assert.deepEqual(
      streams.map(({ videoIds }) => videoIds).filter((names) => names !== null),
      [videoIds.join(), videoIds.join()],
    );
    assert.match(streams.at(-1)?.lastEventId ?? "", /^\w+\.\w+\._$/);
    assert.equal(await page.locator("[data-gap]").count(), 0);
  });

  it("continue while one fails and one ends, and the failed one resumes on request", async () => {
    const { page, relay } = pages;
    const streams = streamsOf(page);
    await visit();
    const fault = relay.upstream.fault({ ...UNREADABLE, videoId: videoIds[1] });
    await stateIs("failed", 1);
    chats[2].end("continuations-absent");
    await stateIs("ended", 2);
    assert.match(await wordsIn(2), /The chat is over\. All that was said stays here\./);
    assert.equal(await page.locator("html").getAttribute("data-state"), "open");
    await say("meanwhile", [0]);
    fault.cancel();
    chats[1].say(texts("b-after", 1));
    await page.locator(within(1)).getByRole("button", { name: "Try again" }).click();
    await has("b-after-0", 1);
    await stateIs("open", 1);
    await say("after", [0]);
    assert.deepEqual(await idsIn(0), ["a-old-0", "a-old-1", "a-meanwhile-0", "a-after-0"]);
    assert.deepEqual(
      (await idsIn(1)).filter((id) => !id.startsWith("gap:")),
      ["b-old-0", "b-old-1", "b-after-0"],
    );
    assert.deepEqual(
      streams.map(({ videoIds }) => videoIds),
      [videoIds.join(), videoIds.slice(0, 2).join()],
    );
    assert.match(streams[1]?.lastEventId ?? "", /^\w+\.\w+$/);
    await stateIs("ended", 2);
  });

  it("go on together after all have failed, when they are opened again", async () => {
    const { page, relay, videoId } = pages;
    // While every call of the service fails, its chats wait. This one is read without a failure.
    await using _ = await Stream.open(relay.url, { videoId });
    await visit();
    const faults = videoIds.map((videoId) => relay.upstream.fault({ ...UNREADABLE, videoId }));
    await pages.stateIs("failed");
    assert.equal(await page.locator("html").getAttribute("data-code"), "UPSTREAM_ERROR");
    for (const fault of faults) fault.cancel();
    await page.locator("#open button").click();
    for (const at of [0, 1, 2]) await stateIs("open", at);
    await say("after");
    assert.equal(await page.locator("html").getAttribute("data-code"), null);
  });

  it("show until when they wait for a full service, and can try now", async () => {
    const { page, relay } = pages;
    await page.route(/v1\/merged/, (route) =>
      route.fulfill({
        status: 503,
        headers: { "retry-after": "7200" },
        json: { code: "CAPACITY", message: "Full." },
      }),
    );
    await page.goto(relay.url + query());
    for (const at of [0, 1, 2]) {
      await page.locator(`${within(at)}[data-state=connecting][data-code=CAPACITY]`).waitFor();
      assert.match(await wordsIn(at), /Full\. It tries again at \d\d:\d\d\.\s+Try now/);
    }
    await page.unroute(/v1\/merged/);
    await page.locator(within(1)).getByRole("button", { name: "Try now" }).click();
    for (const at of [0, 1, 2]) await has(`${"abc"[at]}-old-1`, at);
    assert.equal(await page.getByRole("button", { name: "Try now" }).count(), 0);
  });

  it("lose and repeat nothing over a cut", async () => {
    await using distance = await placeAway(pages.relay.url, 0);
    const page = await pages.browser.newPage({ viewport: WIDE });
    await page.clock.install();
    await page.goto(distance.url + query());
    for (const at of [0, 1, 2]) await has(`${"abc"[at]}-old-1`, at, page);
    for (const round of ["one", "two"]) {
      distance.cut();
      for (const at of [0, 1, 2]) await stateIs("reconnecting", at, page);
      assert.equal(await page.locator("html").getAttribute("data-state"), "reconnecting");
      for (const [at, chat] of chats.entries()) chat.say(texts(`${"abc"[at]}-${round}`, 2));
      await page.clock.fastForward(MAX_WAIT_MS);
      for (const at of [0, 1, 2]) await has(`${"abc"[at]}-${round}-1`, at, page);
      for (const at of [0, 1, 2]) await stateIs("open", at, page);
    }
    for (const at of [0, 1, 2])
      assert.deepEqual(
        await idsIn(at, page),
        ["old", "one", "two"].flatMap((name) => [0, 1].map((each) => `${"abc"[at]}-${name}-${each}`)),
      );
    assert.equal(await page.locator("[data-gap]").count(), 0);
    await page.close();
  });

  it("say at once that the device is offline, and go on as soon as it is not", async () => {
    const page = await pages.browser.newPage({ viewport: WIDE });
    await page.goto(pages.relay.url + query());
    for (const at of [0, 1, 2]) await has(`${"abc"[at]}-old-1`, at, page);
    await page.context().setOffline(true);
    for (const at of [0, 1, 2]) await stateIs("reconnecting", at, page);
    assert.equal(await page.getByText("This device is offline.").count(), 3);
    for (const [at, chat] of chats.entries()) chat.say(texts(`${"abc"[at]}-offline`, 2));
    await page.context().setOffline(false);
    for (const at of [0, 1, 2]) await has(`${"abc"[at]}-offline-1`, at, page);
    for (const at of [0, 1, 2]) await stateIs("open", at, page);
    await page.close();
  });

  it("have one tab each below 900 px, which the arrow keys choose and the URL keeps", async () => {
    const { page } = pages;
    await page.setViewportSize(NARROW);
    await visit();
    const shown = () =>
      pages.evaluate(
        `[...document.querySelectorAll('[data-video-id]')].filter((each) => each.querySelector('footer').checkVisibility({ visibilityProperty: true })).map((each) => each.dataset.videoId)`,
      );
    const tabs = page.getByRole("tablist", { name: "Chats" });
    assert.deepEqual(await shown(), [videoIds[0]]);
    await tabs.getByRole("tab", { name: videoIds[0] }).focus();
    await page.keyboard.press("ArrowRight");
    assert.deepEqual(await shown(), [videoIds[1]]);
    assert.equal((await addressOf(page)).searchParams.get("chat"), videoIds[1]);
    await page.keyboard.press("ArrowLeft");
    await page.keyboard.press("ArrowLeft");
    assert.deepEqual(await shown(), [videoIds[2]]);
    assert.doesNotMatch(await treeOf(page, "main"), new RegExp(`tabpanel "${videoIds[0]}"|log.*log`, "s"));
    const panel = page.getByRole("tabpanel", { name: videoIds[2], exact: true });
    assert.deepEqual(await panel.locator("[data-part=chat] [data-message-id]").count(), 2);
    await page.reload();
    await has("c-old-1", 2);
    assert.deepEqual(await shown(), [videoIds[2]]);
    chats[1].end("continuations-absent");
    await tabs.getByRole("tab", { name: `${videoIds[1]} · ended` }).waitFor();
    await page.setViewportSize({ ...NARROW, width: NARROW.width + 1 });
    assert.deepEqual(await shown(), videoIds);
    await page.getByRole("region", { name: videoIds[1], exact: true }).waitFor();
    await page.setViewportSize(NARROW);
    await page.getByRole("tabpanel", { name: videoIds[2], exact: true }).waitFor();
  });

  it("are announced only while all visible messages come slowly", async () => {
    const { page } = pages;
    await page.clock.install();
    for (const [viewport, live] of [
      [WIDE, "off"],
      [NARROW, "polite"],
    ] as const) {
      await page.setViewportSize(viewport);
      await visit();
      await page.clock.fastForward(3000);
      const log = `${within(0)} [data-part=chat]`;
      await page.locator(`${log}[aria-live=polite]`).waitFor();
      await say(live, [1, 0], 5);
      assert.equal(await page.locator(log).getAttribute("aria-live"), live);
    }
  });

  it("pass axe, and scroll nothing sideways", async () => {
    const { page } = pages;
    await page.emulateMedia({ reducedMotion: "reduce" });
    chats[2].change({ kind: "none" });
    // Each of two chats has a pinned message, and one that is found.
    for (const at of [0, 1] as const) chats[at].say([bannered(textItem(`pinned-${at}`))]);
    for (const [theme, width] of [
      ["light", 320],
      ["dark", 900],
    ] as const) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${pages.relay.url}${query()}&theme=${theme}`);
      await has("a-old-1", 0);
      await page.locator(`${within(2)}[data-code]`).waitFor({ state: "attached" });
      if (width === 900) {
        for (const at of [0, 1]) await page.locator(`${within(at)} [data-part=pinned] .row`).waitFor();
        await page.getByRole("button", { name: "Find in all" }).click();
        for (const at of [0, 1]) await page.locator(`${within(at)} [data-part=found]`).waitFor();
      }
      assert.deepEqual(await violationsIn(page), [], `${theme} ${width}`);
      assert.ok(await pages.evaluate("document.documentElement.scrollWidth <= innerWidth"), `${width}`);
    }
  });

  it("are opened from the field, by ids and URLs; a single one opens the page of one chat", async () => {
    const { page, relay } = pages;
    await page.goto(relay.url);
    const field = page.locator("#open input[name=videoId]");
    await field.fill(`https://youtu.be/${videoIds[0]}  ${videoIds[1]}, ${videoIds[1]}`);
    await page.keyboard.press("Enter");
    await has("a-old-1", 0);
    await has("b-old-1", 1);
    assert.equal(await page.locator("[data-video-id]").count(), 2);
    await page.locator(`${within(1)} [data-part=name] a`).click();
    await page.locator("#chat [data-message-id='b-old-1']").waitFor();
    assert.equal(await page.locator("[data-video-id]").count(), 0);
    await page.goBack();
    await has("b-old-1", 1);
    for (const names of [videoIds[2], `${videoIds[2]},https://youtu.be/${videoIds[2]}`]) {
      await page.goto(`${relay.url}/?videoIds=${names}`);
      await page.locator("#chat [data-message-id='c-old-1']").waitFor();
      assert.equal(await field.inputValue(), names.replace(",", ", "));
      assert.equal(await page.title(), `${videoIds[2]} · Live chat`);
    }
  });
});
