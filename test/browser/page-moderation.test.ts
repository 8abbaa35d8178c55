/** What moderators took down or replaced, on the viewer page. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { idsOf, NO_CHROMIUM, rowOf } from "../support/browser.ts";
import { authorDeletionOf, deletionOf, replacementOf, textAction, texts } from "../support/chat-actions.ts";
import { usePages } from "../support/pages.ts";

describe("moderation on the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 }, { page: 1000, kinds: ["text"] });
  const { evaluate, has: shows } = pages;
  const visit = async (query?: string): Promise<void> => {
    await pages.visit(query);
    await pages.stateIs("open");
  };

  it("applies deletions and replacements, and shows later messages of a deleted author", async () => {
    const { page, chat } = pages;
    chat.say([
      textAction("a"),
      textAction("b", { channel: "UCb" }),
      textAction("c", { channel: "UCb" }),
      textAction("d"),
    ]);
    await visit();
    await shows("d");
    const cursorOf = (id: string) => page.locator(rowOf(id)).getAttribute("data-cursor");
    const cursor = await cursorOf("d");
    chat.say([
      deletionOf("a"),
      authorDeletionOf("UCb"),
      replacementOf("d", "new words"),
      textAction("e", { channel: "UCb" }),
    ]);
    await shows("e");
    const fates = await evaluate(
      "[...document.querySelectorAll('#chat [data-message-id]')].map((row) => row.dataset.deleted ?? '')",
    );
    assert.deepEqual(fates, ["message", "author", "author", "", ""]);
    assert.doesNotMatch(await page.content(), /words of [abcd]\b/);
    assert.equal(
      await page.locator(`${rowOf("d")}[data-replaced] [data-field=message]`).innerText(),
      "new words",
    );
    assert.deepEqual([await idsOf(page), await cursorOf("d")], [["a", "b", "c", "d", "e"], cursor]);
  });

  it("hides a message that comes after its deletion, and names its author there", async () => {
    const { page, chat } = pages;
    chat.say([textAction("z")]);
    await visit("&types=chat,moderation");
    await shows("z");
    chat.say([deletionOf("late")]);
    await page.locator(rowOf("deleted:late")).waitFor();
    chat.say([textAction("late", { author: "@ann" }), textAction("kept")]);
    await shows("kept");
    assert.equal(await page.locator(rowOf("late")).getAttribute("data-deleted"), "message");
    assert.doesNotMatch(await page.content(), /words of late/);
    assert.match(await page.locator(rowOf("deleted:late")).innerText(), /A message of @ann was deleted/);
    await visit("&deleted=remove"); // from the backfill
    await shows("kept");
    assert.deepEqual(await idsOf(page), ["z", "kept"]);
  });

  it("strikes out or removes deleted messages, if the URL says so", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a"), deletionOf("a"), textAction("z")]);
    await visit("&deleted=strike");
    await shows("z");
    assert.equal(await page.locator(`${rowOf("a")} del`).innerText(), "words of a");
    await visit("&deleted=remove");
    await shows("z");
    assert.deepEqual(await idsOf(page), ["z"]);
  });

  it("names the author in the moderation log, and the struck-out words", async () => {
    const { page, chat } = pages;
    chat.say([
      textAction("a", { author: "@ann", text: "spam of ann" }),
      textAction("b", { author: "@bob", channel: "UCbob" }),
      ...[deletionOf("a"), authorDeletionOf("UCbob"), authorDeletionOf("UCgone"), textAction("z")],
    ]);
    await visit("&types=chat,moderation");
    await shows("z");
    const log = () => page.locator("[data-type=deleted], [data-type=author_deleted]").allInnerTexts();
    const told = async () => (await log()).map((row) => row.replace(/^.*?[AP]M/, "").trim());
    assert.deepEqual(await told(), [
      "A message of @ann was deleted. [deleted]",
      "All messages of @bob were deleted. [deleted]",
      "All messages of UCgone were deleted. [deleted]",
    ]);
    assert.doesNotMatch(await page.content(), /spam of ann/);
    await page.locator("#looks summary").click();
    await page.locator("select[name=deleted]").selectOption("strike");
    await page.keyboard.press("Escape");
    assert.equal((await told())[0], "A message of @ann was deleted. spam of ann [deleted]");
    assert.equal(await page.locator("[data-type=deleted] del").innerText(), "spam of ann");
    assert.equal(await page.locator(`${rowOf("a")} del`).innerText(), "spam of ann");
  });

  it("marks edited messages", async () => {
    pages.chat.say([textAction("a"), replacementOf("a", "new words"), textAction("z")]);
    await visit();
    await shows("z");
    const after = (id: string) =>
      evaluate(`getComputedStyle(document.querySelector('${rowOf(id)} .said'), '::after').content`);
    assert.deepEqual([await after("a"), await after("z")], ['"edited"', "none"]);
  });

  it("shows blanked messages of the service as deleted", async () => {
    const { page, chat } = pages;
    const blank = { addChatItemAction: { item: { liveChatTextMessageRenderer: { id: "a" } } } };
    chat.say([blank, textAction("z")]);
    await visit();
    await shows("z");
    assert.match(await page.locator(`${rowOf("a")}[data-deleted=message]`).innerText(), /deleted/);
    await visit("&deleted=remove");
    await shows("z");
    assert.deepEqual(await idsOf(page), ["z"]);
  });

  it("announces no new message that was removed again", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 50));
    await visit("&deleted=remove");
    await shows("a-49");
    await page.locator("#chat").press("PageUp");
    await page.locator("#chat[data-following=false]").waitFor();
    chat.say([textAction("b"), textAction("c", { channel: "UCc" })]);
    await page.locator("#latest[data-count='2']").waitFor();
    chat.say([deletionOf("a-3"), deletionOf("b")]);
    await page.locator("#latest[data-count='1']").waitFor();
    chat.say([authorDeletionOf("UCc")]);
    await page.locator("#latest").waitFor({ state: "hidden" });
    assert.equal(await page.locator("#chat").getAttribute("data-following"), "false");
  });

  it("knows the deletion of an older message even if many others come while it is looked for", async () => {
    await visit();
    const deleted = await evaluate(`(async () => {
      const { LaterChanges } = await import("/web/page/later-changes.js");
      const laterChanges = new LaterChanges();
      const deletion = (cursor, messageId) => ({ type: "deleted", id: "d-" + cursor, cursor, details: { target: { messageId } } });
      const noteMany = (from, count) => {
        for (let at = 0; at < count; at += 1) laterChanges.note(deletion(from + at, "other-" + (from + at)));
      };
      laterChanges.begin(50_000);
      noteMany(50_001, 9990); // nearly all that it keeps
      const pages = [{ messages: [deletion(40_000, "old")], prev: 30_000 }, { messages: [], prev: null }];
      window.fetch = async () => {
        if (pages.length === 1) noteMany(70_000, 20); // the older half is forgotten
        return new Response(JSON.stringify(pages.shift()));
      };
      const message = { type: "chat", id: "old", cursor: 10, details: {} };
      await laterChanges.reach("video", [message], new AbortController().signal);
      const row = { message, fate: {} };
      laterChanges.apply(row);
      return row.fate.deleted;
    })()`);
    assert.equal(deleted, "message");
  });

  it("shows moderation as rows on request", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a"), deletionOf("a"), textAction("z")]);
    await visit();
    await shows("z");
    assert.deepEqual(await idsOf(page), ["a", "z"]);
    await page.locator("input[name=types][value=moderation]").check();
    assert.deepEqual(await idsOf(page), ["a", "deleted:a", "z"]);
    assert.equal(await evaluate("document.querySelector('[data-message-id=a]').dataset.deleted"), "message");
  });
});
