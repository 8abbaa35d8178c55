/** The overlay's views (alerts, poll, ticker), and which messages its parameters choose. */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import { ATTACKS } from "../support/attacks.ts";
import { violationsIn } from "../support/axe.ts";
import { countOfMessages, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import {
  deletionOf,
  linkRun,
  paidAction,
  replacementOf,
  textAction,
  textItem,
  texts,
} from "../support/chat-actions.ts";
import { adding, PAID, TEXT } from "../support/chat-items.ts";
import { bannered, SENT } from "../support/every-kind.ts";
import { NOTE_ROWS, usePages } from "../support/pages.ts";
import {
  BANNER_REMOVED,
  POLL_CLOSED,
  POLL_IN_BANNER,
  POLL_OPENED,
  POLL_UPDATED,
} from "../support/poll-items.ts";

/** A Super Chat of the lowest tier, which the platform does not keep above the chat. */
const blue = () =>
  adding({
    liveChatPaidMessageRenderer: {
      ...PAID.liveChatPaidMessageRenderer,
      id: "blue",
      timestampUsec: String(Date.now() * 1000),
      headerBackgroundColor: 0xff1565c0,
      bodyBackgroundColor: 0xff1e88e5,
    },
  });
const NEXT_POLL = JSON.parse(JSON.stringify(POLL_OPENED).replaceAll(/(poll|panel)-1/g, "$1-2"));

describe("the overlay's views", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 400 }, { page: 200 });
  const { evaluate, has, stateIs, visit } = pages;
  const open = async (query: string): Promise<void> => {
    await visit(query);
    await stateIs("open");
  };
  before(() => pages.page.addInitScript(NOTE_ROWS));

  for (const deleted of ["remove", "hide"])
    it(`show one alert at a time, in order, and none that was deleted meanwhile: ${deleted}`, async () => {
      const { page, chat } = pages;
      chat.say([paidAction("old", "$1.00")]);
      await open(`&view=alerts&hold=0.3&deleted=${deleted}`);
      chat.say([
        ...texts("a", 3),
        paidAction("first", "$5.00"),
        paidAction("gone", "$5.00"),
        textAction("b"),
      ]);
      chat.say([deletionOf("gone"), paidAction("second", "$7.00"), paidAction("third", "$9.00")]);
      await until(page, "noted.at(-1) === ''");
      assert.deepEqual(await evaluate("noted"), ["first", "second", "third", ""]);
    });

  for (const view of ["chat", "alerts", "ticker", "poll", "goal", "featured"])
    it(`pass axe: ${view}`, async () => {
      const { page, relay } = pages;
      const chats = `videoId=${pages.videoId}&hold=600&backfill=50`;
      const shown = view === "goal" ? "#goal" : "#chat > .row";
      pages.chat.say([paidAction("a", "$100.00"), bannered(TEXT), POLL_OPENED, POLL_UPDATED]);
      await page.emulateMedia({ reducedMotion: "reduce" }); // a colour that changes is none to judge
      await page.goto(`${relay.url}/overlay?view=${view}&${chats}`);
      if (view !== "featured") await page.locator(shown).first().waitFor();
      assert.deepEqual(await violationsIn(page), []);
      await page.emulateMedia({ reducedMotion: null });
    });

  for (const theme of ["dark", "light", "bubbles", "plate", "terminal"])
    it(`pass axe, whatever people write: ${theme}`, async () => {
      const { browser, chat, relay, videoId } = pages;
      chat.say(
        ATTACKS.filter((_, at) => at % 8 === 0).flatMap((text, at) => [
          textAction(`text-${at}`, { text, author: text, channel: `UC-text-${at}` }),
          paidAction(`paid-${at}`, "$5.00", { text, author: text, channel: `UC-paid-${at}` }),
        ]),
      );
      chat.say([...JSON.parse(JSON.stringify(SENT.donation)), deletionOf("text-2")]);
      const viewport = { width: 800, height: 6000 }; // axe judges no row that is cut off
      await using page = await browser.newPage({ viewport, reducedMotion: "reduce" });
      await page.goto(
        `${relay.url}/overlay?videoId=${videoId}&theme=${theme}&deleted=hide&max=200&backfill=200`,
      );
      await page.locator("#chat [data-type=donation]").waitFor();
      assert.deepEqual(await violationsIn(page), []);
    });

  it("hold an alert for the given time", async () => {
    const { browser, relay, videoId, chat } = pages;
    await using page = await browser.newPage();
    await page.clock.install();
    await page.goto(`${relay.url}/overlay?videoId=${videoId}&view=alerts&hold=3600&types=superchat`);
    await page.locator("html[data-state=open]").waitFor();
    chat.say([paidAction("first", "$5.00"), paidAction("second", "$7.00")]);
    await page.locator(rowOf("first")).waitFor();
    await page.clock.fastForward(3_000_000); // the test itself may take the rest
    assert.deepEqual(await idsOf(page), ["first"]);
    await page.clock.fastForward(600_000);
    await page.locator(rowOf("second")).waitFor();
    assert.deepEqual(await idsOf(page), ["second"]);
  });

  it("put the amount of an alert at the other end of the line, or below the name", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("paid", "$5.00")]);
    const edges = async (size: number) => {
      await open(`&view=alerts&hold=3600&backfill=1&size=${size}`);
      await has("paid");
      const boxOf = (name: string) => page.locator(`.head > [data-field=${name}]`).boundingBox();
      const [name, amount] = await Promise.all(["author", "amount"].map(boxOf));
      return { name: name ?? assert.fail(), amount: amount ?? assert.fail() };
    };
    const wide = await edges(20);
    assert.ok(wide.amount.x > wide.name.x + wide.name.width + 40, JSON.stringify(wide));
    const narrow = await edges(40);
    assert.ok(narrow.amount.y > narrow.name.y + narrow.name.height / 2, JSON.stringify(narrow));
    assert.equal(narrow.amount.x, narrow.name.x);
  });

  it("limit the number of waiting alerts", async () => {
    const { page, chat } = pages;
    await open("&view=alerts&hold=3600");
    chat.say(Array.from({ length: 180 }, (_, at) => paidAction(`p-${at}`, "$5.00")));
    await has("p-0");
    // A frame that is still being read is in memory too: only a count that stays the same is one at rest.
    let held = 0;
    for (let before = -1, tries = 0; tries < 40 && (held < 101 || held !== before); tries += 1) {
      before = held;
      held = await countOfMessages(page);
    }
    assert.ok(held >= 101 && held <= 130, `${held} messages are in memory`);
    assert.deepEqual(await idsOf(page), ["p-0"]);
  });

  it("show only the open poll, and its result for a while", async () => {
    const { page, chat } = pages;
    await open("&view=poll&hold=2");
    chat.say([textAction("a"), paidAction("paid", "$5.00"), POLL_OPENED]);
    const poll = page.locator("#chat [data-poll-id='poll:poll-1']");
    await poll.waitFor();
    chat.say([POLL_UPDATED]);
    await page.locator("#chat meter").first().waitFor({ state: "attached" });
    assert.equal(await page.locator("#chat > *").count(), 1);
    chat.say([POLL_CLOSED]);
    await page.locator("#chat [data-poll-state=closed]").waitFor();
    await poll.waitFor({ state: "detached" });
  });

  it("show a poll in a banner until the banner is removed, and not again after a scene change", async () => {
    const { page, chat } = pages;
    await open("&view=poll&hold=0.5");
    chat.say([POLL_IN_BANNER]);
    const poll = page.locator("#chat [data-poll-id='poll:banner-1']");
    await poll.waitFor();
    chat.say([BANNER_REMOVED]);
    await poll.waitFor({ state: "detached" });
    await open("&view=poll");
    chat.say([NEXT_POLL]);
    await page.locator("#chat [data-poll-id='poll:poll-2']").waitFor();
    assert.ok((await evaluate<string[]>("noted")).every((ids) => ids.includes("poll-2")));
  });

  it("show the open poll again after a scene change, and none that is over", async () => {
    const { page, chat } = pages;
    chat.say([POLL_OPENED, POLL_UPDATED, ...texts("a", 60)]);
    await open("&view=poll");
    await page.locator("#chat [data-poll-state=open] meter").first().waitFor({ state: "attached" });
    chat.say([POLL_CLOSED]);
    await page.locator("#chat [data-poll-state=closed]").waitFor();
    await open("&view=poll");
    chat.say([NEXT_POLL]);
    await page.locator("#chat [data-poll-id='poll:poll-2']").waitFor();
    const noted = await evaluate<string[]>("noted");
    assert.ok(
      noted.every((ids) => ids.includes("poll-2")),
      noted.join(),
    );
  });

  it("keep paid messages in the ticker, each for the time of its tier", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("red", "$100.00"), ...texts("a", 60)]);
    await open("&view=ticker&hold=1");
    await has("red");
    chat.say([blue(), textAction("b")]);
    await has("blue");
    await page.locator(rowOf("blue")).waitFor({ state: "detached" });
    assert.deepEqual(await idsOf(page), ["red"]);
  });

  it("keep a card of the ticker within a narrow source", async () => {
    const { page, chat } = pages;
    await page.setViewportSize({ width: 320, height: 200 });
    chat.say([paidAction("long", "$100.00", { author: `@${"long-name-".repeat(8)}` })]);
    await open("&view=ticker");
    await has("long");
    const { x = 0, width = 0 } = (await page.locator(rowOf("long")).boundingBox()) ?? {};
    assert.ok(x >= 0 && x + width <= 320, `${x} ${width}`);
    await page.setViewportSize({ width: 600, height: 400 });
  });

  it("draw alerts and the ticker whole, the shadow of a card included", async () => {
    const { page, chat } = pages;
    const box = (selector: string) =>
      evaluate<{ left: number; right: number; bottom: number }>(
        `document.querySelector('${selector}').getBoundingClientRect().toJSON()`,
      );
    await open("&view=alerts");
    chat.say([paidAction("first", "$5.00", { text: "words ".repeat(30) })]);
    await has("first");
    const [card, stage] = [await box(rowOf("first")), await box("#chat")];
    assert.ok(card.left - stage.left >= 8 && stage.right - card.right >= 8, `${card.left} ${card.right}`);
    await page.setViewportSize({ width: 600, height: 60 });
    chat.say([paidAction("red", "$100.00")]);
    await open("&view=ticker");
    await has("red");
    const bottomOf = (selector: string) =>
      `document.querySelector('${selector}').getBoundingClientRect().bottom`;
    await until(page, `${bottomOf(rowOf("red"))} <= ${bottomOf("#chat")}`); // once it has moved in
    await page.setViewportSize({ width: 600, height: 400 });
  });

  it("begin with the requested number of messages that they show", async () => {
    const { page, chat } = pages;
    const paid = (from: number) =>
      Array.from({ length: 6 }, (_, at) => paidAction(`p-${from + at}`, "$5.00"));
    chat.say([...paid(0), ...texts("a", 90), ...paid(6), ...texts("b", 40), deletionOf("b-1")]);
    const newest = (count: number) => Array.from({ length: count }, (_, at) => `p-${12 - count + at}`);
    await visit("&types=paid&max=10");
    await has("p-11");
    assert.deepEqual(await idsOf(page), newest(10));
    await visit("&types=paid&max=10&fade=60&backfill=3");
    await has("p-11");
    assert.deepEqual(await idsOf(page), newest(3));
    await visit("&hide=/words of b/&max=4");
    await has("p-11");
    assert.deepEqual(await idsOf(page), newest(4));
  });

  it("request no picture of a message that later ones of the backfill push out", async () => {
    const { page, chat } = pages;
    const pictures = new Set<string>();
    page.on("request", (request) => request.resourceType() === "image" && pictures.add(request.url()));
    const photographed = (at: number) => {
      const { liveChatTextMessageRenderer: item } = textItem(`a-${at}`);
      const authorPhoto = { thumbnails: [{ url: `https://yt3.ggpht.com/${at}`, width: 64, height: 64 }] };
      return adding({ liveChatTextMessageRenderer: { ...item, authorPhoto } });
    };
    chat.say(Array.from({ length: 480 }, (_, at) => photographed(at)));
    await visit("&max=10");
    await has("a-479");
    assert.ok(pictures.has("https://yt3.ggpht.com/479"), [...pictures].join());
    assert.ok(pictures.size <= 60, `${pictures.size} pictures`);
  });

  it("then show as many as they may, also if the chat is never quiet", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 20));
    const speaking = chat.speak(20);
    await visit("&max=12&backfill=2");
    await until(page, "document.querySelectorAll('#chat [data-message-id]').length >= 12").finally(() =>
      speaking.stop(),
    );
  });

  it("hide and mark names and words in any Unicode form, and links as they are shown and whole", async () => {
    const { page, chat } = pages;
    const runs = [linkRun("spam.example/a/long/pa...", "https://spam.example/a/long/path")];
    chat.say([
      textAction("name", { author: "@E\u0301milie" }),
      textAction("words", { text: "ＡＢＣ" }),
      textAction("link", { runs }),
      textAction("marked", { author: "@İlker" }),
      textAction("a"),
    ]);
    await visit("&hide=émilie,/abc/,/long.path$/&mark=ilker");
    await has("a");
    assert.deepEqual(await idsOf(page), ["marked", "a"]);
    assert.equal(await page.locator("[data-marked]").getAttribute("data-message-id"), "marked");
  });

  it("hide and mark names, channel ids and patterns", async () => {
    const { page, chat } = pages;
    chat.say([
      textAction("name", { author: "@NightBot" }),
      textAction("id", { channel: "UCbots" }),
      textAction("begun", { author: "@kaito_tv" }),
      textAction("with its sign", { author: "@tomek" }),
      textAction("words", { text: "buy cheap, cheap followers" }),
      textAction("marked", { author: "@Mia" }),
      textAction("edited", { text: "hello" }),
      textAction("a"),
    ]);
    await visit("&hide=nightbot,UCbots,/^kaito/,/^@tom/,/cheap,? followers$/&mark=@mia,/^hel%2Bo/");
    await has("a");
    assert.deepEqual(await idsOf(page), ["marked", "edited", "a"]);
    const marked = () =>
      evaluate("[...document.querySelectorAll('[data-marked]')].map((row) => row.dataset.messageId)");
    assert.deepEqual(await marked(), ["marked", "edited"]);
    chat.say([replacementOf("edited", "cheap followers"), replacementOf("a", "hello!"), textAction("b")]);
    await has("b");
    assert.deepEqual(await idsOf(page), ["marked", "a", "b"]);
    assert.deepEqual(await marked(), ["marked", "a"]);
  });

  it("ignore an item without a name", async () => {
    const { page, chat } = pages;
    const warnings: string[] = [];
    page.on("console", (message) => warnings.push(message.text()));
    chat.say([POLL_OPENED, textAction("a")]);
    await visit("&hide=@,/(/");
    await has("a");
    assert.equal((await idsOf(page, "body")).length, 2);
    assert.equal(warnings.filter((text) => text.startsWith("hide=")).length, 2, warnings.join());
  });
});
