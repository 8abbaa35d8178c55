/** The looks that the viewer page's parameters choose. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { addressOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { paidAction, textAction, textItem, texts } from "../support/chat-actions.ts";
import { TEXT } from "../support/chat-items.ts";
import { bannered, SENT } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";
import { POLL_OPENED } from "../support/poll-items.ts";

describe("the looks of the viewer page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 360, height: 600 }, { kinds: ["text"] });
  const { evaluate, has, visit } = pages;
  const height = (selector: string) =>
    evaluate<number>(`document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect().height`);

  it("is denser and larger on request", async () => {
    pages.chat.say(texts("a", 3));
    await visit("&size=16");
    await has("a-2");
    const usual = await height(rowOf("a-2"));
    await visit("&size=16&density=compact");
    await has("a-2");
    assert.ok((await height(rowOf("a-2"))) < usual - 5);
    await visit("&size=32");
    await has("a-2");
    assert.ok((await height(rowOf("a-2"))) > 1.5 * usual);
  });

  it("names the size of text in its control, whatever it is", async () => {
    const shown = "document.querySelector('select[name=size]').selectedOptions[0]?.text";
    for (const [query, expected] of [
      ["", "By the width"],
      ["&size=18", "Medium"],
      ["&size=20", "20 px"],
      ["&size=7", "By the width"],
    ] as const) {
      await visit(query);
      assert.equal(await evaluate(shown), expected, query);
    }
  });

  it("go back and forward with the browser's history, remembered ones, too", async () => {
    const { page } = pages;
    const shows = (theme: string, images: boolean) =>
      until(
        page,
        `document.documentElement.dataset.theme === '${theme}' &&
          document.querySelector('input[name=images]').checked === ${images}`,
      );
    await visit();
    await page.locator("#filters-toggle").click();
    await page.locator("input[name=images]").uncheck();
    await page.locator("#looks summary").click();
    await page.locator("select[name=theme]").selectOption("light");
    await shows("light", false);
    await page.goBack();
    await shows("auto", false);
    await page.goBack();
    await shows("auto", true);
    await page.goForward();
    await shows("auto", false);
    await visit();
    await shows("light", false);
    await evaluate("localStorage.clear()");
  });

  it("takes a search back with the browser's back button, in the field, too", async () => {
    const { page } = pages;
    await visit();
    await page.locator("#filters-toggle").click();
    await page.locator("input[name=q]").fill("needle");
    await until(page, "location.search.includes('q=needle')");
    await page.goBack();
    await until(page, "!location.search.includes('q=')");
    const words = page.locator("input[name=q]");
    assert.equal(await words.inputValue(), "");
    const without = (await addressOf(page)).href;
    for (const typed of ["ra", "sa"]) {
      await words.pressSequentially(typed); // the field keeps the focus
      await until(page, `location.search.includes('q=${typed}')`);
      await page.goBack();
      assert.equal((await addressOf(page)).href, without);
    }
  });

  it("cuts nothing and scrolls nothing sideways at twice the size of text", async () => {
    const { page, chat } = pages;
    chat.say([bannered(TEXT, { actionId: "banner-1" }), paidAction("p", "$50.00"), ...texts("a", 3)]);
    await page.setViewportSize({ width: 640, height: 600 });
    await visit("&size=32");
    await has("a-2");
    assert.ok(await evaluate("document.documentElement.scrollWidth <= innerWidth"));
    const cut = `[...document.querySelectorAll("header button, header input, #chat .row, #pinned .row")]
      .filter((each) => each.checkVisibility() && each.getBoundingClientRect().right > innerWidth + 1)
      .map(({ outerHTML }) => outerHTML.slice(0, 100))`;
    assert.deepEqual(await evaluate(cut), []);
    await page.setViewportSize({ width: 360, height: 600 });
  });

  it("ends the sentence of a mode before its sub-text, and leaves the words as they are", async () => {
    pages.chat.say(JSON.parse(JSON.stringify(SENT.mode)));
    await visit();
    await has("made-up-id");
    const words = `document.querySelector('${rowOf("made-up-id")} [data-field=message]')`;
    assert.equal(await evaluate(`${words}.textContent`), "Slow mode is on Send a message every 60 seconds");
    assert.equal(await evaluate(`${words}.querySelector(".sentence").textContent`), "Slow mode is on");
    const after = `getComputedStyle(${words}.querySelector(".sentence"), "::after").content`;
    assert.equal(await evaluate(after), '"."');
  });

  it("lists people in a menu with room around them, however long their names are", async () => {
    const { page } = pages;
    await visit();
    const people = [
      ["UCann", "@ann"],
      ["UClong", `@${"Wide_".repeat(10)}`],
    ];
    await evaluate(`localStorage.setItem("hide", ${JSON.stringify(JSON.stringify(people))})`);
    for (const width of [360, 1000]) {
      await page.setViewportSize({ width, height: 600 });
      await visit();
      if (width < 800) await page.locator("#filters-toggle").click();
      await page.locator("#people summary").click();
      const rooms = await evaluate<number[][]>(`(() => {
        const menu = document.querySelector("#people ul").getBoundingClientRect();
        return [...document.querySelectorAll("#people li")].map((each) => {
          const range = document.createRange();
          range.selectNodeContents(each);
          const { left, right } = range.getBoundingClientRect();
          return [left - menu.left, menu.right - right];
        });
      })()`);
      assert.equal(rooms.length, 2);
      for (const [left = 0, right = 0] of rooms)
        assert.ok(left > 8 && right > 8 && right < 30, `${width}: ${left}, ${right}`);
    }
    await evaluate("localStorage.clear()");
    await page.setViewportSize({ width: 360, height: 600 });
  });

  it("leaves the chat two fifths of the window at twice the text size, and scrolls the rest away", async () => {
    const { page, chat } = pages;
    const long = "What is pinned, and has many words. ".repeat(10);
    await page.setViewportSize({ width: 320, height: 640 });
    chat.say([
      paidAction("paid", "$50.00"),
      ...texts("a", 60),
      bannered(textItem("pin", { text: long }), { actionId: "pin" }),
    ]);
    await visit("&backfill=100");
    await has("a-59");
    await until(page, "document.querySelector('#pinned .row') !== null");
    const measured = () =>
      evaluate<number[]>(
        "[document.querySelector('#chat').clientHeight, document.documentElement.scrollHeight, document.documentElement.scrollWidth]",
      );
    const [usual = 0, ...page100] = await measured();
    assert.ok(usual >= 256, `${usual} px with text of the usual size`);
    assert.deepEqual(page100, [640, 320], "the page itself does not scroll");
    await evaluate("document.documentElement.style.fontSize = '200%'");
    const [large = 0, pageHeight = 0, pageWidth] = await measured();
    assert.ok(large >= 256 && pageHeight > 640, `${large} px of ${pageHeight} px`);
    assert.equal(pageWidth, 320);
    const isAtEnd = "scrollY + innerHeight >= document.documentElement.scrollHeight";
    assert.equal(await evaluate(isAtEnd), false);
    for (let turns = 0; turns < 20 && !(await evaluate(isAtEnd)); turns++)
      await page.locator("#chat").press("PageDown"); // the log first, then the page
    const box = await page.locator("#chat").boundingBox();
    assert.ok(box && box.y >= 0 && box.y + box.height <= 640, "the whole log is in view");
    assert.equal(await page.locator("#chat").getAttribute("data-following"), "true");
    await page.locator("#tab-stats").click();
    const [, withStats = 0] = await measured();
    assert.ok(withStats < 1000, `${withStats} px: the figures scroll by themselves`);
    await page.setViewportSize({ width: 360, height: 600 });
  });

  it("has menus that fit a phone", async () => {
    const { page } = pages;
    await page.setViewportSize({ width: 320, height: 600 });
    await visit();
    await page.locator("#filters-toggle").click();
    for (const menu of ["looks", "download"]) {
      await page.locator(`#${menu} summary`).click();
      const right = `Math.max(...[...document.querySelectorAll("#${menu} :is(select, a)"), document.querySelector("#open button")]
        .map((each) => each.getBoundingClientRect().right))`;
      assert.ok((await evaluate<number>(right)) <= 320, menu);
    }
    await page.setViewportSize({ width: 360, height: 600 });
  });

  it("has all its controls in view from 800 px of width on", async () => {
    const { page } = pages;
    await page.setViewportSize({ width: 800, height: 600 });
    await visit();
    const controls = page.locator(
      "#open input, input[name=types], input[name=q], input[name=images], #menus :not([hidden]) > summary",
    );
    assert.equal(await controls.count(), 3 + 7 + 2);
    for (const control of await controls.all()) {
      assert.ok(await control.isVisible(), `${control}`);
      const { x, width } = (await control.boundingBox()) ?? assert.fail(`${control}`);
      assert.ok(x + width <= 800, `${control}`);
    }
    await page.setViewportSize({ width: 360, height: 600 });
  });

  it("does not move by itself where less movement is wanted", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 1));
    const moving = () =>
      evaluate<number>(`[...document.querySelectorAll("*")].map((each) => getComputedStyle(each))
        .filter((style) => style.animationName !== "none" || parseFloat(style.transitionDuration) > 0).length`);
    for (const reducedMotion of ["reduce", "no-preference"] as const) {
      await page.emulateMedia({ reducedMotion });
      await visit();
      await has("a-0");
      assert.equal((await moving()) === 0, reducedMotion === "reduce");
    }
  });

  it("says in a dock as well why there is no chat, or no more of it, and can try again", async () => {
    const { chat, page } = pages;
    const cutOff = () =>
      evaluate<number>(
        "(({ scrollHeight, clientHeight }) => scrollHeight - clientHeight)(document.querySelector('footer'))",
      );
    await page.goto(`${pages.relay.url}/?videoId=no&layout=dock`);
    await page.locator("#retry").waitFor();
    assert.equal(await cutOff(), 0);
    assert.ok((await height("#status-words")) > 20);
    chat.say(texts("a", 3));
    await visit("&layout=dock");
    await has("a-2");
    await page.route(/v1.stream/, (route) => route.abort());
    await page.context().setOffline(true);
    await page.context().setOffline(false);
    await page.locator("#retry").waitFor();
    const [line, box] = await Promise.all(
      ["footer", "#retry"].map((each) => page.locator(each).boundingBox()),
    );
    assert.ok(
      line && box && box.y >= line.y && box.y + box.height <= line.y + line.height,
      JSON.stringify([line, box]),
    );
    await page.unroute(/v1.stream/);
  });

  it("keeps 85 % of a dock for the log", async () => {
    pages.chat.say([bannered(TEXT, { actionId: "banner-1" }), paidAction("p", "$50.00"), ...texts("a", 3)]);
    await visit("&layout=dock");
    await has("a-2");
    await pages.page.locator("#ticker .paid").waitFor();
    await pages.page.locator("#pinned .row").waitFor();
    assert.ok((await height("#chat")) >= 0.85 * 600, `${await height("#chat")} px`);
    const order = await evaluate<number[]>(
      "['#ticker', '#pinned', '#chat', 'footer'].map((each) => document.querySelector(each).getBoundingClientRect().top)",
    );
    assert.deepEqual(
      order,
      order.toSorted((a, b) => a - b),
    );
    // The rest above the log is cut off, and shown over the log while a pointer or the focus is there.
    const isBottomSeen = () =>
      evaluate<boolean>(`(({ left, bottom }) =>
        document.querySelector("#pinned").contains(document.elementFromPoint(left + 20, bottom - 3))
      )(document.querySelector("#pinned").getBoundingClientRect())`);
    const log = await height("#chat");
    for (const [y, isSeen] of [
      [500, false],
      [10, true],
      [500, false],
    ] as const) {
      await pages.page.mouse.move(100, y);
      assert.equal(await isBottomSeen(), isSeen);
    }
    await pages.page.locator("#ticker .paid").focus();
    assert.equal(await isBottomSeen(), true);
    assert.equal(await height("#chat"), log);
  });

  it("has cards and polls as wide as the log, and words in any direction beside the face", async () => {
    const { chat } = pages;
    chat.say([paidAction("p", "$50.00", { text: "x" }), paidAction("r", "$50.00", { text: "שלום" })]);
    chat.say([POLL_OPENED, textAction("a", { text: "x" })]);
    await visit();
    await has("a");
    const width = (selector: string) =>
      evaluate<number>(`document.querySelector('${selector}').getBoundingClientRect().width`);
    const own = await width(rowOf("a"));
    assert.deepEqual([await width(rowOf("p")), await width("[data-poll-id] .poll")], [own, own]);
    const padding = (id: string) =>
      evaluate<string>(`(({ paddingLeft, paddingRight }) => [paddingLeft, paddingRight].join())(
        getComputedStyle(document.querySelector('${rowOf(id)} [data-field=message]')))`);
    assert.equal(await padding("r"), await padding("p"));
  });

  it("says of an empty log whether anything was said, or the filters hide it", async () => {
    const { page, chat } = pages;
    const words = () =>
      evaluate<string>("getComputedStyle(document.querySelector('#rows'), '::before').content");
    await visit();
    await pages.stateIs("open");
    assert.match(await words(), /Nothing to show yet/);
    chat.say([textAction("a")]);
    await has("a");
    assert.equal(await words(), "none");
    await page.locator("#filters-toggle").click();
    await page.locator("input[name=q]").fill("nobody");
    assert.match(await words(), /matches the filters/);
    await page.locator("input[name=q]").fill("");
    assert.equal(await words(), "none");
  });

  it("gives each author a stable color of its own, readable by day and night", async () => {
    const { page, chat } = pages;
    const authors = Array.from({ length: 40 }, (_, at) => `UCauthor-${at}`);
    chat.say(authors.map((channel) => textAction(channel, { channel, author: channel })));
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await visit("&colors=on");
      await has("UCauthor-39");
      const colors = () =>
        evaluate<string[]>(
          "[...document.querySelectorAll('#chat [data-field=author]')].map((each) => getComputedStyle(each).color)",
        );
      const shown = await colors();
      assert.ok(new Set(shown).size > 25, `${new Set(shown).size} colors`);
      const ground = await evaluate<string>("getComputedStyle(document.body).backgroundColor");
      for (const color of shown) assert.ok(contrast(color, ground) >= 4.5, `${color} on ${ground}`);
      await page.reload();
      await has("UCauthor-39");
      assert.deepEqual(await colors(), shown);
    }
    await page.emulateMedia({ colorScheme: null });
  });
});

/** WCAG 2. */
function contrast(one: string, other: string): number {
  const [lower = 0, higher = 0] = [one, other].map(luminance).sort((a, b) => a - b);
  return (higher + 0.05) / (lower + 0.05);
}

function luminance(color: string): number {
  const shares = (color.match(/[\d.]+/g) ?? []).map((each) => Number(each) / 255);
  const [red = 0, green = 0, blue = 0] = shares.map((share) =>
    share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
