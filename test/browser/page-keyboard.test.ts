/** The keyboard on the viewer page: the way to the chat, and a focus that is never lost. */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import { addressOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { paidAction, textAction, textItem, texts } from "../support/chat-actions.ts";
import { adding } from "../support/chat-items.ts";
import { usePages } from "../support/pages.ts";

const ANN = { author: "@ann", channel: "UCannannannannannannanna" };
const linkAction = (id: string, ...hosts: string[]) => {
  const { liveChatTextMessageRenderer: item } = textItem(id);
  const runs = hosts.map((text) => ({
    text,
    navigationEndpoint: { urlEndpoint: { url: `https://${text}/` } },
  }));
  return adding({ liveChatTextMessageRenderer: { ...item, message: { runs } } });
};

describe("the keyboard on the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1000, height: 700 }, { page: 1000, kinds: ["text"] });
  const { evaluate, has, visit } = pages;
  afterEach(() => evaluate("localStorage.clear()"));
  const press = async (...keys: string[]): Promise<void> => {
    for (const key of keys) await pages.page.keyboard.press(key);
  };
  /** The id of the element with the focus, or else its name, its words, or its tag. */
  const focused = () =>
    evaluate<string>(
      "(({ id, name, tagName, innerText }) => id || name || innerText || tagName)(document.activeElement)",
    );

  it("skips to the chat, or to the statistics in its place", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 1));
    await visit();
    await has("a-0");
    await press("Tab");
    assert.equal(await focused(), "skip");
    const { x = 0, width = 0 } = (await page.locator("#skip").boundingBox()) ?? {};
    assert.ok(x > 0 && width > 50 && (await page.locator("#skip").isVisible()));
    await press("Enter");
    assert.equal(await focused(), "chat");
    assert.equal((await addressOf(page)).hash, "");
    await page.locator("#tab-stats").click();
    await page.locator("#skip").focus();
    await press("Enter");
    assert.equal(await focused(), "panel-stats");
  });

  it("takes one stop for all paid messages, and stays at one while others come", async () => {
    const { page, chat } = pages;
    chat.say(Array.from({ length: 5 }, (_, at) => paidAction(`p-${at}`, `$5${at}.00`, ANN)));
    await visit();
    await page.locator("#ticker .paid").nth(4).waitFor();
    await page.locator("input[name=aloud]").focus();
    await press("Tab");
    assert.equal(await focused(), "@ann $54.00");
    await press("ArrowRight", "ArrowRight", "ArrowLeft");
    assert.equal(await focused(), "@ann $53.00");
    chat.say([paidAction("new", "$99.00", ANN)]);
    await page.locator("#ticker .paid").nth(5).waitFor();
    assert.equal(await focused(), "@ann $53.00");
    await press("Tab");
    assert.equal(await focused(), "chat");
    await press("Shift+Tab");
    assert.equal(await focused(), "@ann $53.00");
  });

  it("passes the links of the chat, which the arrow keys reach from the name beside them", async () => {
    const { page, chat } = pages;
    chat.say([
      linkAction("away", "a.example"),
      ...texts("a", 60),
      linkAction("links", "b.example", "c.example"),
    ]);
    await visit();
    await has("links");
    await page.locator("#chat").focus();
    await press("Tab");
    assert.equal(await focused(), "@somebody");
    await press("ArrowRight", "ArrowRight");
    assert.equal(await focused(), "c.example");
    await press("ArrowLeft");
    assert.equal(await focused(), "b.example");
    await press("Tab");
    assert.equal(await evaluate("document.activeElement.closest('#chat')"), null);
    await page
      .locator(`${rowOf("links")} a`)
      .first()
      .focus();
    await press("Shift+Tab");
    assert.equal(await focused(), "chat");
    await press("Tab", "ArrowRight", "ArrowUp");
    const row = () => evaluate("document.activeElement.closest('.row').dataset.messageId");
    assert.deepEqual([await row(), await focused()], ["a-59", "@somebody"]);
  });

  it("has the focus again where it was, after the results of a search", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    await visit();
    await has("a-2");
    await page.locator("input[name=author]").focus();
    await press("s", "Enter");
    await page.locator("#found li").first().waitFor();
    await press("Escape");
    assert.equal(await focused(), "author");
    await page.locator("#find button").focus();
    await press("Enter");
    await page.locator("#found-close").focus();
    await press("Enter");
    assert.equal(await focused(), "Find in all");
  });

  it("has the focus again at the name, or in the chat without it, after an author's card", async () => {
    const { page, chat } = pages;
    chat.say([...texts("a", 3), textAction("ann", ANN)]);
    await visit();
    await has("ann");
    for (const [button, expected] of [
      ["mark", "@ann"],
      ["hide", "chat"],
    ]) {
      await page.locator(`${rowOf("ann")} [role=button]`).focus();
      await press("Enter");
      await page.locator(`#author [value=${button}]`).focus();
      await press("Enter", "Escape");
      await until(
        page,
        "!document.activeElement.matches('body, #author *') && !document.querySelector('#author').open",
      );
      assert.equal(await focused(), expected);
    }
  });

  it("stays at the button that loads more, and goes on from it where there is no more", async () => {
    const { page, chat } = pages;
    chat.say(Array.from({ length: 250 }, (_, at) => textAction(`a-${at}`, ANN)));
    await visit("&backfill=10");
    await has("a-249");
    await page.locator("#find button").press("Enter");
    const more = page.locator("#found-more");
    await more.waitFor();
    for (const found of [200, 250]) {
      await more.press("Enter");
      await page.getByText(`${found} messages found.`).waitFor();
      if (found === 200) assert.equal(await focused(), "found-more");
    }
    assert.equal(await focused(), "found-close");
    await press("Escape");
    await page.locator(`${rowOf("a-249")} [role=button]`).press("Enter");
    await page.locator("#author-more").waitFor();
    for (const words of ["The last 200 messages.", "250 messages in all that is kept."]) {
      await page.locator("#author-more").press("Enter");
      await page.getByText(words).waitFor();
    }
    assert.equal(await focused(), "author-close");
    await press("Escape");
    const older = page.locator("#older");
    await older.press("Enter");
    await has("a-100");
    await older.press("Enter");
    await page.locator("#beginning").waitFor();
    assert.equal(await focused(), "chat");
  });

  it("stays at the button that tries again, and leads to the chat once it is open", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    const full = { code: "CAPACITY", message: "It is full." };
    await page.route("**/v1/stream?*", (route) =>
      route.fulfill({ status: 503, headers: { "Retry-After": "3600" }, json: full }),
    );
    await visit();
    const retry = page.locator("#retry");
    for (let tries = 0; tries < 2; tries += 1) {
      const answered = page.waitForResponse(/stream/);
      await retry.press("Enter");
      await answered;
      await retry.waitFor();
      await until(page, "document.activeElement.id === 'retry'");
    }
    await page.unroute("**/v1/stream?*");
    await retry.press("Enter");
    await has("a-2");
    assert.equal(await focused(), "chat");
  });

  it("switches a type on and off by Enter, too", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 1));
    await visit();
    await has("a-0");
    await page.locator("input[value=paid]").focus();
    await press("Enter");
    assert.equal(await page.locator("input[value=paid]").isChecked(), false);
    assert.equal(await page.locator("#found").isVisible(), false);
    assert.match((await addressOf(page)).searchParams.get("types") ?? "", /^chat,members/);
    await press("Enter");
    assert.equal((await addressOf(page)).searchParams.get("types"), null);
  });

  it("leaves the results of a search the room of the filters in a small window", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    await page.setViewportSize({ width: 390, height: 700 });
    await visit();
    await has("a-2");
    await page.locator("#filters-toggle").click();
    await page.locator("#find button").click();
    await page.locator("#found li").first().waitFor();
    assert.equal(await page.locator("#filters").isVisible(), false);
    assert.equal(await page.locator("#filters-toggle").getAttribute("aria-expanded"), "false");
    await press("Escape");
    assert.equal(await focused(), "chat");
    await page.setViewportSize({ width: 1000, height: 700 });
  });
});
