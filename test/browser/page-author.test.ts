/** The card of an author on the viewer page, and authors who are highlighted or muted. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { addressOf, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { deletionOf, textAction, textItem, texts } from "../support/chat-actions.ts";
import { adding, COMMON } from "../support/chat-items.ts";
import { bannered } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";

const ANN = { author: "@ann", channel: "UCannannannannannannanna" };
const badgedAction = (id: string) => {
  const { authorBadges } = COMMON;
  return adding({
    liveChatTextMessageRenderer: { ...textItem(id, ANN).liveChatTextMessageRenderer, authorBadges },
  });
};
const BOB = { author: "@bob", channel: "UCbob" };

describe("authors on the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 700 }, { page: 1000, kinds: ["text"] });
  const { evaluate, has, visit } = pages;
  afterEach(() => evaluate("localStorage.clear()"));
  const nameIn = (id: string) => pages.page.locator(`${rowOf(id)} [data-field=author]`);
  const said = () => pages.page.locator("#author ol li bdi").allInnerTexts();
  const words = (text: string) => pages.page.locator("#author-words").getByText(text).waitFor();

  it("have a card with all their messages here, which opens the chat at a message", async () => {
    const { page, chat } = pages;
    chat.say([textAction("old", ANN), textAction("gone", ANN), textAction("b", BOB), deletionOf("gone")]);
    chat.say([...texts("x", 120), badgedAction("new")]);
    await visit("&backfill=20");
    await has("new");
    await nameIn("new").click();
    await words("2 messages in all that is kept.");
    assert.deepEqual(await said(), ["words of new", "words of old"]);
    assert.equal(await page.locator("#author h2").innerText(), "@ann");
    assert.deepEqual(await page.locator("#author-badges li").allInnerTexts(), [
      "Moderator",
      "Member (6 months)",
    ]);
    const link = page.locator("#author-channel");
    assert.equal(await link.getAttribute("href"), `https://www.youtube.com/channel/${ANN.channel}`);
    await page.locator("#author ol li button").last().click();
    await has("old");
    assert.equal(await page.locator("#author").isVisible(), false);
    assert.equal(await evaluate("document.activeElement.dataset.messageId"), "old");
    await page.locator("#tab-stats").click();
    await page.locator("#authors button", { hasText: "@ann" }).click();
    await words("2 messages");
    chat.say([deletionOf("new")]);
    await page.locator("#author ol li").nth(1).waitFor({ state: "detached" });
    assert.deepEqual(await said(), ["words of old"]);
  });

  it("have an edited message on their card once, as it is now", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a", ANN), textAction("b", ANN)]);
    await visit();
    await has("b");
    chat.say([
      {
        replaceChatItemAction: { targetItemId: "a", replacementItem: textItem("a", { ...ANN, text: "new" }) },
      },
    ]);
    await page.locator(`${rowOf("a")}[data-replaced]`).waitFor();
    await nameIn("b").click();
    await words("2 messages in all that is kept.");
    assert.deepEqual(await said(), ["words of b", "new"]);
    await page.keyboard.press("Escape");
  });

  it("have a card for the chat in view alone: the browser's back button closes it, too", async () => {
    const { page, chat, relay } = pages;
    const other = relay.upstream.chat("other-video", { timeoutMs: 50, page: 1000, kinds: ["text"] });
    chat.say([textAction("a", ANN)]);
    other.say(Array.from({ length: 150 }, (_, at) => textAction(`o-${at}`, ANN)));
    await visit();
    await has("a");
    await page.locator("#open input[name=videoId]").fill("other-video");
    await page.locator("#open button").click();
    await has("o-149");
    await nameIn("o-149").click();
    await words("The last 100 messages.");
    await page.goBack();
    await has("a");
    assert.equal(await page.locator("#author").isVisible(), false);
    other.end("continuations-absent");
  });

  for (const [width, height] of [
    [390, 844],
    [1280, 800],
  ] as const)
    it(`have a card whose buttons stay where they are when its messages come, ${width} px wide`, async () => {
      const { page, chat } = pages;
      const said = (id: string) => textAction(id, { ...ANN, text: "words ".repeat(20) });
      chat.say([...Array.from({ length: 30 }, (_, at) => said(`a-${at}`)), badgedAction("new")]);
      await page.setViewportSize({ width, height });
      await visit();
      await has("new");
      const held = Promise.withResolvers<void>();
      await page.route(/\/v1\/messages\?.*author=/, async (route) => {
        await held.promise;
        await route.continue();
      });
      await nameIn("new").click();
      const buttons = page.locator("#author :is(.card-head, .card-buttons) :is(button, a)");
      const places = () => buttons.evaluateAll((all) => all.map((each) => each.getBoundingClientRect()));
      const before = await places();
      held.resolve();
      await words("31 messages in all that is kept.");
      await page.locator("#author-badges li").first().waitFor();
      assert.equal(before.length, 4);
      assert.deepEqual(await places(), before);
      await page.unroute(/\/v1\/messages\?.*author=/);
      await page.keyboard.press("Escape");
      await page.setViewportSize({ width: 1000, height: 700 });
    });

  it("show their messages page by page", async () => {
    const { page, chat } = pages;
    chat.say(Array.from({ length: 150 }, (_, at) => textAction(`a-${at}`, ANN)));
    await visit("&backfill=1");
    await has("a-149");
    await nameIn("a-149").click();
    await words("The last 100 messages.");
    await page.locator("#author-more").click();
    await words("150 messages in all that is kept.");
    assert.equal((await said()).at(-1), "words of a-0");
  });

  it("are opened by the keyboard, starting at the last name in view", async () => {
    const { page, chat } = pages;
    chat.say([...texts("x", 40), textAction("a", ANN), textAction("b", BOB)]);
    await visit();
    await has("b");
    await page.locator("#chat").focus();
    await page.keyboard.press("Tab");
    const focused = () => evaluate("document.activeElement.closest('.row')?.dataset.messageId");
    assert.equal(await focused(), "b");
    await page.keyboard.press("ArrowUp");
    assert.equal(await focused(), "a");
    await page.keyboard.press("Enter");
    await words("1 message in all");
    await page.keyboard.press("Escape");
    assert.deepEqual([await page.locator("#author").isVisible(), await focused()], [false, "a"]);
  });

  it("can be highlighted and muted, and this browser remembers it", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a", ANN), textAction("b", BOB), textAction("c", ANN)]);
    const pinned = (id: string, by: object) => bannered(textItem(id, by), { actionId: `pin-${id}` });
    chat.say([pinned("pinned-bob", BOB), pinned("pinned-ann", ANN)]);
    await visit();
    await has("c");
    const above = () => idsOf(page, "#pinned");
    const byAnn = ["banner:pin-pinned-ann"];
    assert.deepEqual(await above(), byAnn);
    await nameIn("b").click();
    await page.getByRole("button", { name: "Highlight" }).click();
    await page.keyboard.press("Escape");
    await nameIn("a").click();
    await page.getByRole("button", { name: "Mute" }).click();
    assert.equal(await page.locator("#author [value=hide]").getAttribute("aria-pressed"), "true");
    await page.keyboard.press("Escape");
    const shown = async () => [await idsOf(page), await page.locator("#chat [data-marked]").count()];
    assert.deepEqual(await shown(), [["b"], 1]);
    assert.deepEqual(await above(), []);
    await page.reload();
    chat.say([textAction("d", ANN), textAction("e", BOB)]);
    await has("e");
    assert.deepEqual(await shown(), [["b", "e"], 2]);
    await page.locator("#people summary").click();
    await page.getByRole("button", { name: "Muted: @ann. Remove" }).click();
    await until(page, "document.querySelectorAll('#chat [data-message-id]').length === 5");
    assert.equal(await page.locator("#people li").count(), 1);
    assert.deepEqual(await above(), byAnn);
  });

  it("are named by the parameters, by name, channel id or pattern", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a", ANN), textAction("b", BOB), textAction("c", { text: "free followers" })]);
    await visit("&hide=@ANN,/free f/&mark=UCbob");
    await has("b");
    assert.deepEqual(await idsOf(page), ["b"]);
    assert.equal(await page.locator(rowOf("b")).getAttribute("data-marked"), "");
  });

  it("have a card that says why it is empty, if there is no channel id", async () => {
    pages.chat.say([textAction("b", BOB)]);
    await visit();
    await has("b");
    await nameIn("b").click();
    await words("without a channel id cannot be found");
    await pages.page.keyboard.press("Escape");
  });

  it("are shown if this browser remembers nonsense", async () => {
    await evaluate(
      "localStorage.setItem('hide', '[null, 3, [\"UCbob\"]]'); localStorage.setItem('mark', '{')",
    );
    pages.chat.say([textAction("a", ANN), textAction("b", BOB)]);
    await visit();
    await has("a");
    assert.deepEqual(await idsOf(pages.page), ["a"]);
  });

  it("can be muted, and pictures switched off, if this browser can store nothing more", async () => {
    const { page, chat } = pages;
    await visit();
    await evaluate(
      "{ let size = 1e6; for (let key = 0; size >= 1; key += 1) try { localStorage.setItem(key, 'x'.repeat(size)); } catch { size /= 10; } }",
    );
    chat.say([textAction("a", ANN), textAction("b", BOB)]);
    await visit();
    await has("b");
    await page.locator("input[name=images]").uncheck();
    assert.equal((await addressOf(page)).searchParams.get("images"), "off");
    await nameIn("a").click();
    await page.locator("#author [value=hide]").click();
    assert.deepEqual(await idsOf(page), ["b"]);
    await page.keyboard.press("Escape");
  });
});
