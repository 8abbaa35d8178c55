/** What stays above the chat of the viewer page: paid messages, by their tier, and the open poll. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../../simulator/plain-json.ts";
import { idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import {
  authorDeletionOf,
  deletionOf,
  paidAction,
  replacementOf,
  textAction,
  textItem,
  texts,
} from "../support/chat-actions.ts";
import { bannered } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";
import { assertPinnedReplaced } from "../support/pinned.ts";
import {
  BANNER_REMOVED,
  POLL_CLOSED,
  POLL_IN_BANNER,
  POLL_OPENED,
  POLL_UPDATED,
} from "../support/poll-items.ts";

/** The platform's times, with the time that a message may be on its way. */
const LONGEST_MS = 3_615_000;

/** A paid message of the lowest tier, which does not stay. */
const blue = (id: string) =>
  JSON.parse(
    JSON.stringify(paidAction(id, "$1.00")).replace(/("headerBackgroundColor":)\d+/, `$1${0xff1565c0}`),
  );

describe("what stays above the chat", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 700 }, { page: 1000, kinds: ["text"] });
  const { has, visit } = pages;
  const paid = () => pages.page.locator("#ticker .paid").allInnerTexts();
  const paidAre = (...expected: string[]) =>
    until(
      pages.page,
      `[...document.querySelectorAll('#ticker .paid')].map((each) => each.innerText).join() === '${expected.join()}'`,
    );

  it("holds paid messages by their tier, the newest first, and opens the log at one", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("p1", "$50.00", { author: "@ann" }), blue("p2"), ...texts("a", 120)]);
    chat.say([paidAction("p3", "$70.00", { author: "@bob" }), ...texts("b", 30)]);
    await visit("&backfill=100");
    await has("b-29");
    await paidAre("@bob $70.00", "@ann $50.00"); // said before the backfill
    await page.getByRole("button", { name: "@ann $50.00" }).click();
    await has("p1");
    assert.equal(await page.evaluate("document.activeElement.dataset.messageId"), "p1");
    assert.equal(await page.locator("#chat").getAttribute("data-following"), "false");
    await page.locator("input[name=types][value=paid]").uncheck();
    assert.deepEqual(await paid(), []);
  });

  it("looks again at the next connection for paid messages that it could not load", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("p1", "$50.00", { author: "@ann" }), ...texts("a", 20)]);
    const requests = /v1\/messages/;
    await page.route(requests, (route) => route.abort());
    const failed = page.waitForEvent("requestfailed", (request) => requests.test(request.url()));
    await visit("&backfill=10");
    await has("a-19");
    await failed;
    await page.unroute(requests);
    chat.end("continuations-absent");
    await pages.stateIs("ended");
    await page.locator("#open button").click();
    await paidAre("@ann $50.00");
  });

  it("follows deletions and replacements, even after the log has dropped the messages", async () => {
    const { chat } = pages;
    const said = (name: string) => ({ author: name, channel: `UC${name}` });
    chat.say(["ann", "bob", "cem"].map((name) => paidAction(name, "$50.00", said(name))));
    await visit();
    await has("cem");
    chat.say(texts("a", 600));
    await has("a-599");
    assert.equal((await idsOf(pages.page)).includes("cem"), false);
    chat.say([deletionOf("ann"), authorDeletionOf("UCbob"), replacementOf("cem", "new words")]);
    await paidAre("@somebody new words");
  });

  it("replaces a pinned message, too", async () => {
    await assertPinnedReplaced(pages);
  });

  it("removes them when their time is over", async () => {
    const { page, chat } = pages;
    await page.clock.install();
    chat.say([paidAction("p1", "$50.00", { author: "@ann" })]);
    await visit();
    await has("p1");
    await paidAre("@ann $50.00");
    assert.equal(await page.locator("[data-type=superchat]").count(), 1); // the message alone
    await page.clock.fastForward(LONGEST_MS - 60_000);
    assert.equal((await paid()).length, 1);
    await page.clock.fastForward(61_000);
    await paidAre();
  });

  it("has the open poll below the pinned messages, up to date, until it is closed", async () => {
    const { page, chat } = pages;
    chat.say([POLL_OPENED, ...texts("a", 3)]);
    await visit();
    await has("a-2");
    const poll = page.locator("#pinned .poll");
    await poll.waitFor();
    chat.say([POLL_UPDATED, ...texts("b", 700)]);
    await has("b-699");
    await poll.getByText("53%").first().waitFor();
    assert.equal(await page.locator("[data-poll-id]").count(), 0); // the log has dropped it
    await page.locator("input[name=types][value=polls]").uncheck();
    assert.equal(await poll.count(), 0);
    await page.locator("input[name=types][value=polls]").check();
    assert.equal(await poll.count(), 1);
    chat.say([POLL_CLOSED, textAction("z")]);
    await has("z");
    assert.equal(await poll.count(), 0);
    assert.equal(await page.locator(rowOf("z")).count(), 1);
  });

  it("has a poll in a banner until the banner is removed, and not again after a reload", async () => {
    const { page, chat } = pages;
    chat.say([POLL_IN_BANNER, ...texts("a", 3)]);
    await visit();
    await has("a-2");
    const poll = page.locator("#pinned .poll");
    await poll.waitFor();
    chat.say([BANNER_REMOVED, textAction("y")]);
    await has("y");
    assert.equal(await poll.count(), 0);
    await visit();
    await has("y");
    assert.equal(await poll.count(), 0);
  });
});

describe("a pinned message that is older than the backfill", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 700 }, { page: 1000, kinds: ["text"] });
  const { has, visit } = pages;
  const PINNED = bannered(textItem("a", { channel: "UCann" }));
  const OTHER = bannered(textItem("b"), { actionId: "banner-2" });
  const above = () => pages.page.locator("#pinned .row").allInnerTexts();
  /** Resolves to the words of the pinned message, once the page has looked for older ones. */
  const seen = async (actions: readonly JsonObject[]): Promise<string[]> => {
    pages.chat.say([
      textAction("a", { channel: "UCann" }),
      PINNED,
      POLL_OPENED,
      ...actions,
      ...texts("c", 20),
    ]);
    await visit("&backfill=5");
    await has("c-19");
    assert.deepEqual(await idsOf(pages.page), ["c-15", "c-16", "c-17", "c-18", "c-19"]);
    await pages.page.locator("#pinned .poll").waitFor();
    return pages.page.locator("#pinned [data-field=message]").allInnerTexts();
  };

  for (const [what, actions, words] of [
    ["is the newest", () => [], ["words of a"]],
    ["has its new words if it was replaced", () => [replacementOf("a", "new words")], ["new words"]],
    ["gives way to a newer one", () => [OTHER], ["words of b"]],
    ["does not come back after a newer one", () => [OTHER, deletionOf("b")], []],
    ["is gone if it was deleted", () => [deletionOf("a")], []],
    ["is gone if all of its author’s were deleted", () => [authorDeletionOf("UCann")], []],
    ["is gone if it was taken down", () => [BANNER_REMOVED], []],
  ] as const)
    it(`${what}`, async () => {
      assert.deepEqual(await seen(actions()), words);
    });

  it("is kept up to date, and follows the filters", async () => {
    const { page, chat } = pages;
    assert.deepEqual(await seen([]), ["words of a"]);
    await page.locator("input[name=types][value=pinned]").uncheck();
    await page.locator("#pinned [data-type=banner]").waitFor({ state: "detached" });
    await page.locator("input[name=types][value=pinned]").check();
    await page.locator("#pinned [data-type=banner]").waitFor();
    chat.say([POLL_UPDATED]);
    await page.locator("#pinned .poll").getByText("53%").first().waitFor();
    chat.say([POLL_CLOSED, deletionOf("a"), textAction("z")]);
    await has("z");
    assert.deepEqual(await above(), []);
  });

  it("costs nothing in a chat that never had any", async () => {
    const { page, chat } = pages;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).searchParams.get("types") ?? ""));
    chat.say([...texts("c", 20), paidAction("p", "$50.00", { author: "@ann" })]);
    await visit("&backfill=0");
    await page.locator("#ticker .paid").waitFor(); // which is read at the same time
    assert.deepEqual(
      asked.filter((types) => /^(?:pinned|poll)$/.test(types)),
      [],
    );
  });
});
