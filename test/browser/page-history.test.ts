/** The viewer page and what the service has stored: times, downloads, older messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import {
  authorDeletionOf,
  deletionOf,
  paidAction,
  replacementOf,
  textAction,
  texts,
} from "../support/chat-actions.ts";
import { usePages } from "../support/pages.ts";
import { POLL_CLOSED, POLL_OPENED, POLL_UPDATED } from "../support/poll-items.ts";
import { Stream } from "../support/stream.ts";

describe("the viewer page and the stored messages", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 600 }, { page: 1000, kinds: ["text"] });
  const { evaluate, has, visit } = pages;

  it("shows times in the zone of the reader, or of the service, or none", async () => {
    const { chat, relay, browser, videoId } = pages;
    chat.say([textAction("a")]);
    const context = await browser.newContext({ timezoneId: "Asia/Kolkata" });
    const page = await context.newPage();
    await page.goto(`${relay.url}/?videoId=${videoId}`);
    const time = page.locator(`${rowOf("a")} time[data-field=timestamp]`);
    const said = new Date((await time.getAttribute("datetime")) ?? "");
    const timeIn = (timeZone: string) =>
      new Intl.DateTimeFormat("en", { timeStyle: "short", timeZone }).format(said).replace("\u202f", " ");
    assert.equal(await time.innerText(), timeIn("Asia/Kolkata"));
    assert.match((await time.getAttribute("title")) ?? "", new RegExp(`/${said.getFullYear()}, .*:\\d\\d`));
    await page.locator("#looks summary").click();
    await page.locator("select[name=timestamps]").selectOption("service");
    assert.equal(await time.innerText(), timeIn("UTC"));
    await page.reload();
    assert.equal(await time.innerText(), timeIn("UTC"));
    await page.locator("#looks summary").click();
    await page.locator("select[name=timestamps]").selectOption("off");
    assert.equal(await time.count(), 0);
    await context.close();
  });

  it("offers the stored messages as files, and the paid ones", async () => {
    const { page, chat, relay } = pages;
    chat.say([...texts("a", 2), paidAction("paid", "$5.00")]);
    await visit();
    await has("paid");
    await page.locator("#download summary").click();
    const hrefs = await page.locator("#download a").evaluateAll((links) => links.map((link) => String(link)));
    const files = await Promise.all(hrefs.map(async (href) => (await fetch(href)).text()));
    const [csv = "", lines = "", text = "", ledger = ""] = files;
    assert.match(csv, /^cursor,type,id,/);
    assert.equal(csv.trim().split("\n").length, 4);
    assert.deepEqual(
      lines
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line).id),
      ["a-0", "a-1", "paid"],
    );
    assert.ok(JSON.parse(lines.split("\n")[0] ?? "").details);
    assert.match(text, /words of a-0/);
    assert.match(ledger, /words of paid/);
    assert.equal(ledger.trim().split("\n").length, 2);
    await page.goto(relay.url);
    assert.equal(await page.locator("#download").isVisible(), false);
  });

  /** The place of a row, after a script. */
  const topOf = (id: string, first = "") =>
    pages.evaluate<number>(
      `(() => { ${first}; return document.querySelector('${rowOf(id)}').getBoundingClientRect().top })()`,
    );
  const UP = "document.querySelector('#chat').scrollTop = 0";
  /** Comes down to the last row, and waits for the rows below it. */
  const goDown = async () => {
    const last = (await idsOf(pages.page)).at(-1) ?? "";
    await evaluate("document.querySelector('#chat').scrollTop = 1e6");
    await until(pages.page, `!document.querySelector('${rowOf(last)}:last-child')`);
  };
  const idsFrom = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

  /** Presses the button where it is: to scroll to it would load by itself, and take the button away. */
  const loadOlder = () => pages.page.locator("#older").dispatchEvent("click");

  it("loads older messages at the top without moving the view, to the beginning and back", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 900));
    // The page must not open the room: what an opening reads after the video's page comes as live messages.
    await using reader = await Stream.open(pages.relay.url, { videoId: pages.videoId, lastEventId: 0 });
    await reader.untilMessages(900);
    await visit("&backfill=50");
    await has("a-899");
    assert.equal((await idsOf(page)).length, 50);
    chat.say(texts("b", 500));
    await has("b-499");
    const all = [...idsFrom("a", 900), ...idsFrom("b", 500), ...idsFrom("c", 300)];
    const last = all.indexOf("b-499");
    for (let oldest = last - 499; oldest > 0; ) {
      assert.equal(await page.locator("#beginning").isVisible(), false);
      const read = all[oldest] ?? "";
      const before = await topOf(read, UP);
      oldest = Math.max(0, oldest - 200);
      await has(all[oldest] ?? "");
      assert.ok(Math.abs((await topOf(read)) - before) <= 2);
      assert.deepEqual(await idsOf(page), all.slice(oldest, Math.min(oldest + 1000, last + 1)));
    }
    await page.locator("#beginning").waitFor();
    assert.equal(await page.locator("#older").isVisible(), false);
    chat.say(texts("c", 300)); // of those that wait, the oldest make place
    await until(page, "document.querySelector('#latest').dataset.count === '300'");
    for (let seen = 1000; seen < all.length; ) {
      await goDown();
      const ids = await idsOf(page);
      const from = all.indexOf(ids[0] ?? "");
      assert.ok(from <= seen, "it leads past nothing");
      seen = from + ids.length;
      assert.deepEqual(ids, all.slice(from, from + ids.length));
      assert.ok(ids.length <= 1000);
    }
    await evaluate("document.querySelector('#chat').scrollTop = 1e6");
    await page.locator("#chat[data-following=true]").waitFor();
    assert.deepEqual(await idsOf(page), all.slice(-500));
    assert.equal(await page.locator("#beginning").isVisible(), false);
  });

  it("shows older messages in their present state: deleted, replaced, and filtered", async () => {
    const { page, chat } = pages;
    chat.say([
      ...["a", "b", "c"].map((id) => textAction(id)),
      textAction("d", { channel: "UCd" }),
      paidAction("paid-1", "$5.00"),
      ...texts("x", 60),
      paidAction("paid-2", "$6.00"),
      ...texts("y", 60),
      deletionOf("a"),
      replacementOf("b", "new words"),
      authorDeletionOf("UCd"),
      textAction("e", { channel: "UCd" }), // said after the deletion
      ...texts("z", 60),
    ]);
    await visit("&backfill=50");
    await has("z-59");
    await loadOlder();
    await has("a");
    const fates = ["a", "b", "c", "d", "e"].map((id) =>
      evaluate(
        `[...'deleted replaced'.split(' ')].map((name) => document.querySelector('${rowOf(id)}').dataset[name])`,
      ),
    );
    assert.deepEqual(await Promise.all(fates), [
      ["message", undefined],
      [undefined, ""],
      [undefined, undefined],
      ["author", undefined],
      [undefined, undefined],
    ]);
    assert.doesNotMatch(await page.content(), /words of [abd]\b/);
    await page.locator("input[name=types][value=moderation]").check();
    for (const type of ["deleted", "author_deleted"])
      assert.match(await page.locator(`[data-type=${type}]`).innerText(), /messages? of @somebody w/);
    await visit("&backfill=50&types=paid");
    await loadOlder();
    await has("paid-1");
    assert.deepEqual(await idsOf(page), ["paid-1", "paid-2"]);
    await page.locator("#beginning").waitFor();
    await page.locator("input[name=types][value=chat]").check();
    await loadOlder();
    await has("a");
    assert.equal((await idsOf(page)).length, 4 + 1 + 60 + 1 + 60 + 1 + 60);
  });

  it("shows the newest state of a poll whose row was dropped before it ended", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a"), POLL_OPENED]);
    await visit();
    const poll = page.locator("[data-poll-id='poll:poll-1']");
    await poll.waitFor();
    chat.say(texts("x", 450));
    await has("x-449");
    chat.say([POLL_UPDATED, POLL_CLOSED, ...texts("y", 100)]);
    await has("y-99");
    assert.equal(await poll.count(), 0);
    await evaluate(UP);
    await has("a");
    assert.equal(await page.locator("#rows [data-poll-state=closed]").count(), 1);
    assert.match(await poll.innerText(), /53%.*1,972 votes/s);
    assert.equal(await poll.count(), 1);
  });

  it("stays at the bottom while the beginning of the chat leaves the top", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 60));
    await visit("&backfill=100");
    await has("a-59");
    await evaluate(UP);
    await page.locator("#beginning").waitFor();
    await page.locator("#chat").press("End");
    await page.locator("input[name=q]").fill("words");
    await page.locator("#beginning").waitFor({ state: "hidden" });
    const below = "(({ scrollHeight, scrollTop, clientHeight }) => scrollHeight - scrollTop - clientHeight)";
    assert.ok((await evaluate<number>(`${below}(document.querySelector("#chat"))`)) <= 2);
  });

  it("keeps only the newest decisions, and reads earlier ones again for older messages", async () => {
    const { page, chat, videoId } = pages;
    chat.say([textAction("a"), textAction("b"), deletionOf("a"), ...texts("z", 3)]);
    await visit();
    await has("z-2");
    const devtools = await page.context().newCDPSession(page);
    const heapMb = async () => {
      await devtools.send("HeapProfiler.collectGarbage");
      return (await devtools.send("Runtime.getHeapUsage")).usedSize / 2 ** 20;
    };
    const before = await heapMb();
    const fates = await evaluate(`(async () => {
      const { LaterChanges } = await import("/web/page/later-changes.js");
      const signal = new AbortController().signal;
      const { messages } = await (await fetch("v1/messages?details=true&videoId=${videoId}")).json();
      const laterChanges = window.laterChanges = new LaterChanges();
      laterChanges.begin(messages[0].cursor - 1);
      for (const message of messages) laterChanges.note(message);
      const fates = async () => messages.slice(0, 2).map((message) => {
        const row = { message, fate: {} };
        laterChanges.apply(row);
        return row.fate.deleted;
      });
      const known = await fates();
      // As many as leave no room for others.
      for (let at = 0; at < 199_999; at += 1) {
        const details = { target: { messageId: "gone-" + at } };
        laterChanges.note({ type: "deleted", id: "deleted:gone-" + at, cursor: messages[0].cursor + 100 + at, details });
      }
      const forgotten = await fates();
      await laterChanges.reach("${videoId}", messages.slice(0, 2), signal);
      return [known, forgotten, await fates()];
    })()`);
    assert.deepEqual(fates, [
      ["message", undefined],
      [undefined, undefined],
      ["message", undefined],
    ]);
    const grown = (await heapMb()) - before;
    assert.ok(grown < 8, `${grown} MB`);
  });

  it("says if older messages cannot be loaded, and tries again", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 60));
    await page.route(/v1\/messages/, (route) => route.abort());
    await visit("&backfill=50");
    await has("a-59");
    await loadOlder();
    await page.getByRole("button", { name: /could not be loaded/ }).waitFor();
    await page.unroute(/v1\/messages/);
    await loadOlder();
    await has("a-0");
    await page.locator("#beginning").waitFor();
  });

  it("searches all stored messages by words, author and type, and opens the log at a result", async () => {
    const { page, chat } = pages;
    const needle = (id: string, author: string) => textAction(id, { text: `a Needle ${id}`, author });
    chat.say([needle("n-1", "@ines"), needle("n-2", "@olga"), needle("n-3", "@ines"), deletionOf("n-3")]);
    chat.say([
      ...texts("a", 800),
      paidAction("paid", "$5.00", { text: "needle paid" }),
      needle("n-4", "@ines"),
    ]);
    await visit("&backfill=20");
    await has("n-4");
    chat.say(texts("b", 300));
    await has("b-299");
    const found = page.locator("#found li");
    const words = page.locator("#found-words");
    const results = async (expected: RegExp) => {
      await page.locator("#find").getByRole("button").click();
      await words.getByText(expected).waitFor();
      return (await found.allInnerTexts()).map((text) => /needle \S+$/i.exec(text)?.[0]);
    };
    await page.locator("input[name=q]").fill("needle");
    const everything = /^4 messages found\. Searched everything that is kept\.$/;
    assert.deepEqual(await results(everything), ["Needle n-4", "needle paid", "Needle n-2", "Needle n-1"]);
    assert.match(await found.first().innerText(), new RegExp(`${new Date().getFullYear()}, \\d+:\\d\\d`));
    chat.say([deletionOf("n-2"), textAction("after")]);
    await until(page, "document.querySelectorAll('#found li').length === 3");
    assert.equal(await words.innerText(), "3 messages found. Searched everything that is kept.");
    await page.locator("input[name=author]").fill("@INES");
    assert.deepEqual(await results(/^2 messages found/), ["Needle n-4", "Needle n-1"]);
    await page.locator("input[name=author]").fill("");
    await page.locator("input[name=types][value=chat]").uncheck();
    assert.deepEqual(await results(/^1 message found/), ["needle paid"]);
    await page.locator("input[name=types][value=chat]").check();
    await results(/^3 messages found/);
    await found.last().getByRole("button").click();
    await page.locator(`${rowOf("n-1")}:focus`).waitFor();
    assert.equal(await page.locator("#found").isVisible(), false);
    assert.equal(await page.locator("#chat").getAttribute("data-following"), "false");
    const all = ["n-1", "n-2", "n-3", ...idsFrom("a", 800), "paid", "n-4", ...idsFrom("b", 300), "after"];
    assert.deepEqual((await idsOf(page)).slice(0, 90), all.slice(0, 90));
    for (let seen = 90; seen < all.length; ) {
      await goDown();
      const ids = await idsOf(page);
      const from = all.indexOf(ids[0] ?? "");
      assert.deepEqual(ids, all.slice(from, from + ids.length));
      seen = from + ids.length;
    }
    await page.locator("#beginning").waitFor({ state: "hidden" });
  });

  it("closes the results of a search once another chat is opened", async () => {
    const { page, chat, relay } = pages;
    relay.upstream.chat("other-found", { timeoutMs: 50 }).say([textAction("other")]);
    chat.say(texts("a", 3));
    await visit();
    await has("a-2");
    await page.locator("#find").getByRole("button").click();
    await page.locator("#found li").first().waitFor();
    await page.locator("#open input[name=videoId]").fill("other-found");
    await page.keyboard.press("Enter");
    await page.locator(rowOf("other")).waitFor({ state: "attached" });
    assert.equal(await page.locator("#found").isVisible(), false);
  });

  it("says how far it has searched, and continues", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 150));
    await visit("&q=words");
    await has("a-149");
    await page.locator("#find").getByRole("button").click();
    const first = page.locator("#found li").first();
    await first.getByText("words of a-149").waitFor();
    await page.getByText(/^100 messages found\. Searched back to \w+ \d+, \d{4}, \d+:\d\d/).waitFor();
    await page.locator("#found-more").click();
    await page.getByText("150 messages found. Searched everything that is kept.").waitFor();
    assert.equal(await page.locator("#found-more").isVisible(), false);
    // All requests fail, and then only the one for the messages behind the page.
    for (const [failing, found] of [
      [/v1\/messages/, /^100 messages found/],
      [/limit=1\b/, /^150 messages found/],
    ] as const) {
      await page.locator("#found-close").click();
      await page.route(failing, (route) => route.abort());
      await page.locator("#find").getByRole("button").click();
      await page.getByText(/^The search failed/).waitFor();
      await page.unroute(failing);
      await page.locator("#found-more").click();
      await page.getByText(found).waitFor();
    }
    assert.equal(await page.locator("#found li").count(), 150);
  });
});
