/** The viewer page in a browser, over the simulator: messages and their changes, following, filters, URL. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressOf, faultsOf, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import {
  deletionOf,
  linkRun,
  paidAction,
  replacementOf,
  textAction,
  textItem,
  texts,
} from "../support/chat-actions.ts";
import { adding, MEMBER } from "../support/chat-items.ts";
import { bannered } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";
import { POLL_CLOSED, POLL_OPENED, POLL_UPDATED } from "../support/poll-items.ts";
import { Stream } from "../support/stream.ts";

describe("the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 }, { page: 1000, kinds: ["text"] });
  const { evaluate, has } = pages;
  const visit = async (query?: string): Promise<void> => {
    await pages.visit(query);
    await pages.stateIs("open");
  };
  const shows = (id: string) => pages.page.locator(rowOf(id)).waitFor();

  it("shows every kind of message once and in the order of the stream", async () => {
    const { page, chat, relay, videoId } = pages;
    const faults = faultsOf(page);
    chat.change({ kinds: undefined });
    chat.say(400);
    await visit("&backfill=500");
    await using stream = await Stream.open(relay.url, { videoId, backfill: 500, details: true });
    chat.say([textAction("last")]);
    await shows("last");
    await stream.until(() => stream.ids.includes("last"));
    const events = new Set(["deleted", "author_deleted", "replaced", "banner_removed", "banner"]);
    const polls = new Map<string, string>();
    const expected: string[] = [];
    for (const { message } of stream.messages) {
      if (events.has(message.type)) continue;
      const poll = message.type === "poll" ? message.id.replace(/:[^:]*$/, "") : undefined;
      const shown = poll && polls.get(poll);
      if (poll) polls.set(poll, message.id);
      if (shown) expected[expected.indexOf(shown)] = message.id;
      else expected.push(message.id);
    }
    const rows = await evaluate<string[]>(
      "[...document.querySelectorAll('#chat [data-message-id]')].map((r) => r.dataset.messageId)",
    );
    assert.deepEqual(rows, expected);
    const cursors = await evaluate<number[]>(
      "[...document.querySelectorAll('#chat [data-cursor]')].map((row) => Number(row.dataset.cursor))",
    );
    assert.deepEqual(
      cursors,
      cursors.toSorted((a, b) => a - b),
    );
    assert.deepEqual(faults, []);
  });

  it("shows one element for a poll, in all its states", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a"), POLL_OPENED]);
    await visit();
    const poll = page.locator("[data-poll-id='poll:poll-1']");
    await poll.waitFor();
    chat.say([textAction("b"), POLL_UPDATED]);
    await poll.getByText("53%").first().waitFor();
    chat.say([POLL_CLOSED, textAction("c")]);
    await page.locator("[data-poll-id][data-poll-state=closed]").waitFor();
    await shows("c");
    assert.equal(await poll.count(), 1);
    assert.deepEqual(
      (await idsOf(page)).map((id) => id.split(":")[0]),
      ["a", "poll", "b", "c"],
    );
  });

  it("keeps the newest pinned message above the chat until it is taken down or deleted", async () => {
    const { page, chat } = pages;
    const pin = (name: string) => bannered(textItem(name), { actionId: `banner-${name}` });
    const unpin = (name: string) => ({
      removeBannerForLiveChatCommand: { targetActionId: `banner-${name}` },
    });
    chat.say([pin("one"), pin("two"), textAction("a")]);
    await visit();
    await has("a");
    const pinned = () => idsOf(page, "#pinned");
    assert.deepEqual(await pinned(), ["banner:banner-two"]);
    assert.equal(await page.locator("#pinned [data-field=message]").innerText(), "words of two");
    assert.deepEqual(await idsOf(page), ["a"]);
    chat.say([unpin("one"), textAction("b")]);
    await has("b");
    assert.deepEqual(await pinned(), ["banner:banner-two"]);
    await page.locator("input[name=types][value=pinned]").uncheck();
    assert.deepEqual(await pinned(), []);
    await page.locator("input[name=types][value=pinned]").check();
    assert.deepEqual(await pinned(), ["banner:banner-two"]);
    chat.say([unpin("two"), textAction("c")]);
    await has("c");
    assert.deepEqual(await pinned(), []);
    for (const deleted of ["hide", "strike", "remove"]) {
      const [old, next] = [`old-${deleted}`, `next-${deleted}`];
      chat.say([pin(old), pin(next)]);
      await visit(`&deleted=${deleted}`);
      await until(page, `document.querySelector('${rowOf(`banner:banner-${next}`)}') !== null`);
      chat.say([deletionOf(next), textAction(`after-${deleted}`)]);
      await has(`after-${deleted}`);
      assert.deepEqual(await pinned(), [], deleted);
    }
    await visit(); // the deleted one that a new page is sent does not leave the place to an older one
    await has("after-remove");
    assert.deepEqual(await pinned(), []);
  });

  it("goes on following while rows change their height by themselves", async () => {
    pages.chat.say(texts("a", 80));
    await visit("&backfill=80");
    await has("a-79");
    // As with pictures that fail: the view is moved once more before the page hears that it was moved.
    const state = await evaluate<string>(`new Promise((resolve) => {
      const chat = document.querySelector("#chat");
      const [first, second] = chat.querySelectorAll(".row");
      second.style.paddingBlock = "50px";
      chat.dispatchEvent(new KeyboardEvent("keydown", { key: "End" }));
      const { scrollTop } = chat;
      first.hidden = true;
      const isMoved = chat.scrollTop < scrollTop;
      second.style.paddingBlock = "100px";
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(
        [isMoved, chat.dataset.following, chat.scrollHeight - chat.scrollTop - chat.clientHeight <= 4].join())));
    })`);
    assert.equal(state, "true,true,true");
  });

  it("follows at the bottom, and stays in place while an older part is read", async () => {
    const { page, chat } = pages;
    chat.say(texts("old", 80));
    await visit("&backfill=80");
    await has("old-79");
    const gap =
      "(() => { const c = document.querySelector('#chat'); return c.scrollHeight - c.clientHeight - c.scrollTop })()";
    await until(page, `${gap} < 3`);
    assert.equal(await page.locator("#chat").getAttribute("data-following"), "true");
    assert.equal(await page.locator("#latest").isVisible(), false);
    await page.locator("#chat").hover();
    const scrolled = evaluate(
      "new Promise((done) => document.querySelector('#chat').addEventListener('scrollend', () => done(1), { once: true }))",
    );
    await page.mouse.wheel(0, -600);
    await page.locator("#chat[data-following=false]").waitFor();
    await scrolled; // a wheel scrolls smoothly
    const topOf = (id: string) =>
      evaluate<number>(`document.querySelector('${rowOf(id)}').getBoundingClientRect().top`);
    const read = await evaluate<string>(
      "[...document.querySelectorAll('#chat .row')].find((row) => row.getBoundingClientRect().top > 300).dataset.messageId",
    );
    const before = await topOf(read);
    chat.say([
      ...texts("new", 30),
      deletionOf("old-3"),
      deletionOf("old-50"),
      replacementOf("old-4", "x\ny\nz\n".repeat(9)),
    ]);
    await has("new-29");
    await page.locator(`${rowOf("old-4")}[data-replaced]`).waitFor();
    assert.ok(Math.abs((await topOf(read)) - before) <= 2);
    assert.equal(await page.locator("#latest").getAttribute("data-count"), "30");
    await page.locator("#latest").click();
    await until(page, `${gap} < 3`);
    assert.equal(await page.locator("#chat").getAttribute("data-following"), "true");
    assert.equal(await page.locator("#latest").isVisible(), false);
    await page.locator("#chat").focus();
    await page.keyboard.press("PageUp");
    await page.locator("#chat[data-following=false]").waitFor();
    chat.say([textAction("later")]);
    await page.locator(rowOf("later")).waitFor({ state: "attached" });
    assert.equal(await page.locator("#latest").getAttribute("data-count"), "1");
    await page.keyboard.press("End");
    await page.locator("#chat[data-following=true]").waitFor();
    await evaluate("document.querySelector('#chat').scrollTop = 0");
    await page.locator("#chat[data-following=false]").waitFor();
    await page.locator("#chat").dispatchEvent("keydown", { key: "End" }); // before the browser has scrolled
    await page.locator("#chat[data-following=true]").waitFor();
  });

  it("is bounded, whether it follows or not, and resumes with the newest 500 in order", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 500));
    await visit("&backfill=500");
    await has("a-499");
    const count = "document.querySelectorAll('#chat [data-message-id]').length";
    chat.say(texts("b", 200));
    await has("b-199");
    assert.equal(await evaluate(count), 500);
    await evaluate("document.querySelector('#chat').scrollTop = 0");
    await page.locator("#chat[data-following=false]").waitFor();
    chat.say(texts("c", 600));
    await until(page, "document.querySelector('#latest').dataset.count === '600'");
    assert.equal(await evaluate(count), 1000);
    chat.say([...texts("d", 500), deletionOf("d-400")]);
    await until(page, "document.querySelector('#latest').dataset.count === '1100'");
    assert.equal(await evaluate(count), 1000);
    await page.locator("#latest").click();
    assert.deepEqual(
      await idsOf(page),
      Array.from({ length: 500 }, (_, at) => `d-${at}`),
    );
    assert.equal(
      await evaluate("document.querySelector('[data-message-id=d-400]').dataset.deleted"),
      "message",
    );
  });

  it("filters the present messages at once, keeps rare ones, and writes the choice into the URL", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("paid-1", "$5.00"), ...texts("a", 40), textAction("needle", { author: "@Needle" })]);
    await visit();
    await has("needle");
    for (const group of ["chat", "members", "polls", "pinned", "notices"]) {
      await page.locator(`input[name=types][value=${group}]`).uncheck();
    }
    assert.deepEqual(await idsOf(page), ["paid-1"]);
    assert.equal((await addressOf(page)).searchParams.get("types"), "paid");
    chat.say(texts("flood", 600));
    await until(page, "document.querySelector('[data-stat=messages]').dataset.count === '642'");
    assert.deepEqual(await idsOf(page), ["paid-1"]);
    await page.locator("input[name=types][value=chat]").check();
    await has("flood-599");
    assert.equal((await idsOf(page)).length, 500);
    await page.goBack();
    assert.deepEqual(await idsOf(page), []); // it was not among the newest 500
    chat.say([paidAction("paid-2", "$7.00"), textAction("late")]);
    await has("paid-2");
    assert.deepEqual(await idsOf(page), ["paid-2"]);
    await page.reload();
    await until(page, "document.documentElement.dataset.state === 'open'");
    assert.equal(await page.locator("input[name=types][value=chat]").isChecked(), false);
    await visit("&types=gap");
    assert.equal(await page.locator("input[name=types]:checked").count(), 0);
    await visit("&q=nEEdle&backfill=500");
    chat.say([textAction("x", { text: "a NEEDLE here" }), textAction("y")]);
    await has("x");
    assert.equal((await idsOf(page)).includes("y"), false);
    await page.locator("input[name=q]").fill("words of y");
    assert.deepEqual(await idsOf(page), ["y"]);
    assert.equal((await addressOf(page)).searchParams.get("q"), "words of y");
  });

  it("finds words and authors in any Unicode form, in what it shows and in the history", async () => {
    const { page, chat } = pages;
    const decomposed = { author: "@E\u0301mili", text: "か\u3099き\u3099, a\u0300 l'E\u0301col" };
    const others = [textAction("b", { author: "@İlker", text: "ＡＢＣ in İstanbul" }), textAction("c")];
    chat.say([textAction("a", decomposed), ...others]);
    await visit("&backfill=500");
    await has("c");
    const rows: [q: string, ids: string[]][] = [
      ["L'ÉCOL", ["a"]],
      ["がぎ", ["a"]],
      ["ÉMILI", ["a"]],
      ["abc", ["b"]],
      ["istanbul", ["b"]],
      ["ecol", []],
      ["e", ["b", "c"]],
      ["e\u0301", ["a"]], // shows what the filter before hides, although the word begins with that
    ];
    for (const [q, ids] of rows) {
      await page.locator("input[name=q]").fill(q);
      await until(page, `new URLSearchParams(location.search).get("q") === ${JSON.stringify(q)}`);
      assert.deepEqual(await idsOf(page), ids, q);
    }
    await page.locator("#find input[name=author]").fill("Émili");
    await page.locator("#find").getByRole("button").click();
    await page.getByText(/^1 message found\./).waitFor();
    await visit("&backfill=500&hide=émili,/istanbul/&mark=@İLKER");
    await has("c");
    assert.deepEqual(
      (await idsOf(page)).filter((id) => "abc".includes(id)),
      ["c"],
    );
  });

  it("finds a shortened link by its hidden part, and as it is shown", async () => {
    const { page, chat } = pages;
    const runs = [
      { text: "see " },
      linkRun("https://example.org/a/long/pa...", "https://example.org/a/long/path"),
    ];
    chat.say([
      textAction("a", { runs }),
      textAction("b"),
      textAction("c", { text: "example.org/a/long/path" }),
    ]);
    for (const [q, ids] of [
      ["see https://example.org/a/long/path", ["a"]],
      ["org/a/long/pa...", ["a"]],
      ["long/path", ["a", "c"]],
    ] as const) {
      await visit(`&backfill=500&q=${encodeURIComponent(q)}`);
      await has("a");
      assert.deepEqual(await idsOf(page), ids, q);
      await page.locator("#find").getByRole("button").click();
      await page.getByText(new RegExp(`^${ids.length} messages? found\\.`)).waitFor();
    }
    assert.equal(await page.locator(`${rowOf("a")} a[href="https://example.org/a/long/path"]`).count(), 1);
  });

  it("filters replaced messages again, and shows nothing if no type is chosen", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a", { text: "a needle" }), textAction("b"), textAction("c", { text: "needle c" })]);
    await visit("&q=needle");
    await has("c");
    assert.deepEqual(await idsOf(page), ["a", "c"]);
    chat.say([replacementOf("a", "other words"), replacementOf("b", "a needle"), textAction("z")]);
    await has("b");
    assert.deepEqual(await idsOf(page), ["b", "c"]);
    await page.locator("input[name=q]").fill("");
    const none = async () => [
      await page.locator("input[name=types]:checked").count(),
      (await idsOf(page)).length,
    ];
    while ((await none())[0] !== 0) await page.locator("input[name=types]:checked").first().uncheck();
    assert.deepEqual(await none(), [0, 0]);
    await page.reload();
    await pages.stateIs("open");
    assert.deepEqual(await none(), [0, 0]);
  });

  it("drops old rows when a filter is widened, because messages between them were dropped", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("old", "$5.00"), adding(MEMBER)]);
    await visit("&types=paid&backfill=500");
    await has("old");
    chat.say(texts("flood", 600));
    chat.say([paidAction("new", "$6.00")]);
    await has("new");
    assert.deepEqual(await idsOf(page), ["old", "new"]);
    await page.locator("input[name=q]").fill("words of");
    assert.deepEqual(await idsOf(page), ["old", "new"]);
    await page.locator("input[name=types][value=members]").check();
    assert.deepEqual(await idsOf(page), ["new"]);
  });

  it("takes the default for an unusable parameter, and names it in the console, as the overlay does", async () => {
    const { page, chat, relay, videoId } = pages;
    chat.say([textAction("a")]);
    const named = new Set<string>();
    page.on("console", (message) => {
      const [, name] = /^(\w+)=9x cannot be used/.exec(message.text()) ?? [];
      if (name) named.add(name);
    });
    for (const [path, names] of [
      ["/", ["types", "theme", "images", "timestamps", "density", "colors", "size", "layout", "deleted"]],
      ["/", ["backfill", "tab"]],
      ["/overlay", ["types", "theme", "view", "max", "fade", "hold", "backfill", "direction", "align"]],
      ["/overlay", ["size", "images", "avatars", "badges", "timestamps", "commands", "deleted", "demo"]],
    ] as const) {
      named.clear();
      const query = names.map((name) => `&${name}=9x`).join("");
      await page.goto(`${relay.url}${path}?videoId=${videoId}&unknown=9x${query}`);
      await has("a");
      assert.deepEqual(named, new Set(names));
    }
    page.removeAllListeners("console");
  });

  it("takes the URL of a video, too", async () => {
    const { page, chat, relay, videoId } = pages;
    chat.say([textAction("a")]);
    for (const path of ["/", "/overlay"]) {
      const url = `https://www.youtube.com/live/${videoId}?si=x`;
      await page.goto(`${relay.url}${path}?${new URLSearchParams({ videoId: url })}`);
      await has("a");
    }
  });

  it("loads no pictures with images=off, and remembers that and the theme", async () => {
    const { page, chat, relay, videoId } = pages;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url()));
    chat.change({ kinds: ["text", "paid", "sticker", "milestone"] });
    chat.say(100);
    chat.say([textAction("z")]);
    await visit("&images=off&backfill=500");
    await has("z");
    await page.locator("#looks summary").click();
    await page.locator("select[name=theme]").selectOption("dark");
    await page.locator("input[name=images]").check();
    await page.locator("input[name=images]").uncheck();
    asked.length = 0;
    await page.goto(`${relay.url}/?videoId=${videoId}&backfill=500&theme=pink`);
    await has("z");
    assert.equal(await evaluate("document.documentElement.dataset.theme"), "dark");
    assert.deepEqual(
      asked.filter((url) => !url.startsWith(relay.url)),
      [],
    );
    assert.equal(await page.locator("input[name=images]").isChecked(), false);
    await visit("&images=on");
    assert.equal(await page.locator("input[name=images]").isChecked(), true);
    await evaluate("localStorage.clear()");
    page.removeAllListeners("request");
  });
});
