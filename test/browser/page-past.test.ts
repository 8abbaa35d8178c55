/** The viewer page while stored messages are loaded, and something else happens meanwhile. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Route } from "playwright-core";
import { idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import {
  deletionOf,
  paidAction,
  replacementOf,
  textAction,
  textItem,
  texts,
} from "../support/chat-actions.ts";
import { bannered } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";

const idsFrom = (prefix: string, count: number) =>
  Array.from({ length: count }, (_, at) => `${prefix}-${at}`);

describe("the viewer page while stored messages are loaded", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 600 }, { page: 2000, kinds: ["text"] });
  const { evaluate, has, visit } = pages;

  /**
   * Holds back the answer to the next one of these requests. `release` resolves once the page has had it, if
   * it still wants it, and has drawn again.
   */
  const hold = async (requests: RegExp) => {
    const { promise: released, resolve: letGo } = Promise.withResolvers<void>();
    const { promise: answered, resolve: end } = Promise.withResolvers<void>();
    const late = async (route: Route) => {
      const response = await route.fetch();
      await released;
      await route.fulfill({ response }).catch(() => {}); // the page may have given up
      await (await route.request().response())?.finished();
      end();
    };
    await pages.page.route(requests, late, { times: 1 });
    const release = async () => {
      letGo();
      await answered;
      await evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))");
    };
    return { asked: pages.page.waitForRequest(requests), release };
  };
  /** Presses the button where it is: to scroll to it would load by itself. */
  const loadOlder = () => pages.page.locator("#older").dispatchEvent("click");
  const scrollTo = (top: number) => evaluate(`document.querySelector('#chat').scrollTop = ${top}`);
  /** Searches for the words, and opens the log at the only result. */
  const openFound = async (words: string, id: string) => {
    await pages.page.locator("input[name=q]").fill(words);
    await pages.page.locator("#find").getByRole("button").click();
    await pages.page.locator("#found li").getByRole("button").click();
    await pages.page.locator(`${rowOf(id)}:focus`).waitFor();
  };
  /** Comes down to the last row, and waits for the rows below it. */
  const goDown = async () => {
    const last = (await idsOf(pages.page)).at(-1) ?? "";
    await scrollTo(1e6);
    await until(pages.page, `!document.querySelector('${rowOf(last)}:last-child')`);
  };

  for (const [what, top, requests] of [
    ["newer", 1e6, /after=/],
    ["older", 0, /before=/],
  ] as const)
    it(`stays with the newest messages if ${what} ones come after the reader has gone there`, async () => {
      const { page, chat } = pages;
      chat.say(texts("a", 900));
      await visit("&backfill=50");
      await has("a-899");
      await openFound("words of a-400", "a-400");
      const { asked, release } = await hold(requests);
      await scrollTo(top);
      await asked;
      await page.locator("#chat").press("End");
      await page.locator("#chat[data-following=true]").waitFor();
      const newest = idsFrom("a", 900).slice(-50);
      assert.deepEqual(await idsOf(page), newest);
      await release();
      assert.deepEqual(await idsOf(page), newest);
      await scrollTo(0);
      await has("a-650");
      assert.deepEqual(await idsOf(page), idsFrom("a", 900).slice(650));
    });

  it("opens the message that was asked for last, while an earlier one is still loaded", async () => {
    const { page, chat } = pages;
    chat.say([
      ...texts("a", 200),
      paidAction("p1", "$50.00"),
      ...texts("b", 200),
      paidAction("p2", "$70.00"),
    ]);
    chat.say(texts("c", 200));
    await visit("&backfill=50");
    await page.locator("#ticker .paid").nth(1).waitFor();
    const first = await hold(/before=/);
    await page.getByRole("button", { name: "$50.00" }).click();
    await first.asked;
    await page.getByRole("button", { name: "$70.00" }).click();
    await page.locator(`${rowOf("p2")}:focus`).waitFor();
    const ids = await idsOf(page);
    await first.release();
    assert.deepEqual(await idsOf(page), ids);
    assert.equal(await evaluate("document.activeElement.dataset.messageId"), "p2");
  });

  it("keeps the order, and leaves nothing out, when the filters change far above the newest messages", async () => {
    const { page, chat } = pages;
    const all = idsFrom("a", 1500);
    const isInOrder = (ids: string[]) => {
      const from = all.indexOf(ids[0] ?? "");
      assert.deepEqual(ids, all.slice(from, from + ids.length));
    };
    chat.say(all.map((id, at) => (at % 2 ? textAction(id) : paidAction(id, "$5.00"))));
    await visit("&backfill=50");
    await has("a-1499");
    await openFound("words of a-200", "a-200");
    for (let times = 0; times < 5; times += 1) await goDown();
    await page.locator("input[name=q]").fill("words"); // all of them
    isInOrder(await idsOf(page));
    await visit("&backfill=50&types=paid");
    await has("a-1498");
    await openFound("words of a-200", "a-200");
    for (let times = 0; times < 2; times += 1) await goDown();
    await page.locator("input[name=types][value=chat]").check();
    isInOrder(await idsOf(page));
  });

  it("has each message once if it is stored messages that bring it first", async () => {
    const { page, chat, videoId } = pages;
    chat.say(texts("a", 3));
    await page.clock.install();
    await visit("&backfill=0");
    await pages.stateIs("open");
    await page.clock.pauseAt(Date.now() + 3_600_000); // what the stream brings waits to be drawn
    const stream = page.waitForEvent("console");
    void evaluate(`import("/client.js").then(({ chat }) => chat(location.origin, { videoId: "${videoId}" })
      .on("message", ({ id }) => id === "b-1" && console.log(id)))`);
    chat.say([...texts("b", 2), deletionOf("a-0")]);
    await stream;
    await loadOlder();
    await has("b-1");
    await page.clock.runFor(5000);
    await page.clock.resume();
    await until(page, "document.querySelector('[data-stat=messages]').dataset.count === '2'");
    assert.deepEqual(await idsOf(page), ["a-0", "a-1", "a-2", "b-0", "b-1"]);
    assert.equal(await page.locator(rowOf("a-0")).getAttribute("data-deleted"), "message");
  });

  it("keeps the rows in view when another setting changes, here or in another tab", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 500));
    await visit("&backfill=50&types=chat");
    await has("a-499");
    await openFound("words of a-200", "a-200");
    await scrollTo(0);
    await page.locator("#beginning").waitFor();
    const ids = await idsOf(page);
    await page.locator("#looks summary").click();
    await page.locator("select[name=theme]").selectOption("dark");
    const read = async () => [await idsOf(page), await page.locator("#beginning").isVisible()];
    assert.deepEqual(await read(), [ids, true]);
    await evaluate("dispatchEvent(new StorageEvent('storage', { key: 'theme' }))");
    assert.deepEqual(await read(), [ids, true]);
  });

  it("leads past muted authors, however much they have said", async () => {
    const { page, chat } = pages;
    const loud = idsFrom("loud", 1400).map((id) => textAction(id, { author: "@loud" }));
    chat.say([...texts("a", 50), ...loud, ...texts("z", 10)]);
    await visit("&backfill=50&hide=@loud");
    await has("z-9");
    await loadOlder();
    await has("a-49");
    assert.deepEqual((await idsOf(page)).slice(-11), ["a-49", ...idsFrom("z", 10)]);
  });

  it("goes on where it stopped behind more muted messages than one try reads", async () => {
    const { page, chat } = pages;
    const loud = idsFrom("loud", 5100).map((id) => textAction(id, { author: "@loud" }));
    chat.say(texts("a", 3));
    await visit("&hide=@loud");
    await has("a-2");
    chat.say([...loud, ...texts("z", 10)]);
    await has("z-9");
    await visit("&backfill=20&hide=@loud");
    await has("z-9");
    const older = page.getByRole("button", { name: "Older messages", exact: true });
    await loadOlder();
    await older.waitFor(); // 25 pages of 200
    assert.deepEqual(await idsOf(page), idsFrom("z", 10));
    await loadOlder();
    await has("a-0");
    assert.deepEqual(await idsOf(page), [...idsFrom("a", 3), ...idsFrom("z", 10)]);
  });

  it("shows no other message if the one that was found cannot be loaded, but says so", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 500));
    await visit("&backfill=50");
    await has("a-499");
    await page.locator("input[name=q]").fill("words of a-200");
    await page.locator("#find").getByRole("button").click();
    const found = page.locator("#found li").getByRole("button");
    await found.waitFor();
    await page.route(/v1\/messages/, (route) => route.abort());
    await found.click();
    await page.locator("#older:focus", { hasText: "could not be loaded" }).waitFor();
    assert.deepEqual(await idsOf(page), idsFrom("a", 500).slice(-50));
    await page.unroute(/v1\/messages/);
  });

  it("leaves no empty space in a pinned message that is replaced while the reader looks at older ones", async () => {
    const { page, chat } = pages;
    chat.say([
      textAction("p"),
      bannered(textItem("p", { text: "old words ".repeat(20) }), { actionId: "one" }),
      ...texts("a", 100),
    ]);
    await visit("&backfill=500");
    await has("a-99");
    const pinned = page.locator("#pinned [data-type=banner]");
    await pinned.waitFor();
    await scrollTo(300);
    await page.locator("#chat[data-following=false]").waitFor();
    chat.say([replacementOf("p", "short"), textAction("z")]);
    await pinned.getByText("short").waitFor();
    assert.doesNotMatch((await pinned.getAttribute("style")) ?? "", /min-height/);
  });
});
