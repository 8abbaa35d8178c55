/** How the overlay draws in hard conditions: little room, an old engine, forced colours, odd messages. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Route } from "playwright-core";
import { faultsOf, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { paidAction, textAction, textItem, texts } from "../support/chat-actions.ts";
import { adding, TEXT } from "../support/chat-items.ts";
import { eventually } from "../support/eventually.ts";
import { bannered } from "../support/every-kind.ts";
import { giftWidget } from "../support/jewels.ts";
import { makeOld } from "../support/older-engine.ts";
import { usePages } from "../support/pages.ts";
import { assertPinnedReplaced } from "../support/pinned.ts";
import { POLL_OPENED, POLL_UPDATED } from "../support/poll-items.ts";

const LONG =
  "Tonight we play the last three levels, then your questions, and after that there is cake for everybody. ".repeat(
    4,
  );

const EMOJI = adding({
  liveChatTextMessageRenderer: {
    ...TEXT.liveChatTextMessageRenderer,
    id: "emoji",
    message: {
      runs: [
        {
          emoji: {
            emojiId: "UCx/wave",
            isCustomEmoji: true,
            shortcuts: [":wave:"],
            image: { thumbnails: [{ url: "https://yt3.ggpht.com/wave" }] },
          },
        },
      ],
    },
  },
});

/** In the page: what of the pinned messages is cut in a line, or takes more than a third. */
const CUT = `(() => {
  const place = document.querySelector("#pinned").getBoundingClientRect();
  const faults = place.height > innerHeight / 3 + 0.5 ? ["takes " + place.height + " of " + innerHeight] : [];
  for (const said of document.querySelectorAll("#pinned .row:not([hidden]) .said")) {
    const { top, bottom } = said.getBoundingClientRect();
    if (bottom > place.bottom + 0.5) faults.push("leaves its place");
    const range = document.createRange();
    range.selectNodeContents(said.querySelector("[data-field=message]"));
    const lines = [...range.getClientRects()];
    if (lines.length === 0) faults.push("has no line");
    const straddling = lines.filter((line) => line.top + 4 < bottom && line.bottom - 4 > bottom);
    if (straddling.length > 0) faults.push("is cut in a line");
  }
  return faults;
})()`;

describe("the overlay draws", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 700 });
  const { evaluate, has, visit } = pages;

  it("a pinned message within a third of the source, cut at a line", async () => {
    const { page, chat } = pages;
    chat.say([bannered(textItem("one", { text: LONG, author: "@harbourlights" })), textAction("a")]);
    await page.emulateMedia({ reducedMotion: "reduce" });
    for (const query of ["&size=24", "&size=40&theme=plate", "&size=16&theme=none", "&theme=terminal"]) {
      await visit(query);
      await has("a");
      for (const [width, height] of [
        [200, 300],
        [320, 200],
        [400, 600],
        [800, 400],
        [1920, 1080],
      ] as const) {
        await page.setViewportSize({ width, height });
        await evaluate(
          "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
        );
        const isTiny = height === 200; // not even one line may fit
        const shown = await page.locator("#pinned .row:visible").count();
        assert.ok(shown > 0 || isTiny, `${query} at ${width} × ${height} shows no pinned message`);
        assert.deepEqual(await evaluate(CUT), [], `${query} at ${width} × ${height}`);
      }
    }
    assert.equal(await page.locator("#pinned .row:visible").count(), 1);
    await page.setViewportSize({ width: 600, height: 700 });
    await page.emulateMedia({ reducedMotion: "no-preference" });
  });

  it("the words of a pinned message beside a poll, where there is room for a line or two", async () => {
    const { page, chat, videoId, relay } = pages;
    chat.say([bannered(textItem("one", { text: LONG, author: "@harbourlights" })), POLL_OPENED]);
    await page.emulateMedia({ reducedMotion: "reduce" });
    for (const query of [
      `videoId=${videoId}`,
      `videoId=${videoId}&theme=plate`,
      `videoIds=${videoId}&labels=${videoId}:Wide`,
    ]) {
      await page.goto(`${relay.url}/overlay?${query}`);
      await page.locator("#pinned [data-poll-id]").waitFor();
      const isCutOff: number[] = [];
      for (let height = 300; height <= 600; height += 20) {
        await page.setViewportSize({ width: 800, height });
        await evaluate(
          "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))",
        );
        const isCut = await evaluate<boolean>(`(() => {
          const foot = document.querySelector("#pinned .poll-foot");
          const below = foot.getBoundingClientRect().bottom - document.querySelector("#pinned").getBoundingClientRect().bottom;
          if (foot.checkVisibility() && below > 1) return true;
          const pinned = document.querySelector("#pinned .row");
          if (pinned.hidden) return false;
          const range = document.createRange();
          range.selectNodeContents(pinned.querySelector("[data-field=message]"));
          return range.getClientRects()[0].bottom > pinned.getBoundingClientRect().bottom + 1;
        })()`);
        if (isCut) isCutOff.push(height);
      }
      assert.deepEqual(isCutOff, [], query);
    }
    await page.setViewportSize({ width: 600, height: 700 });
    await page.emulateMedia({ reducedMotion: "no-preference" });
  });

  it("a notice without empty room below its words, and pinned rows at the right edge with align=right", async () => {
    const { page, chat } = pages;
    const notice = { ...TEXT.liveChatTextMessageRenderer, id: "notice" };
    chat.say([bannered(TEXT), POLL_OPENED, adding({ liveChatViewerEngagementMessageRenderer: notice })]);
    await visit("&align=right");
    await page.locator("#pinned [data-poll-id]").waitFor();
    await page.locator(".notice").first().waitFor();
    const [below = 99, ...beside] = await evaluate<number[]>(`(() => {
      const notice = document.querySelector(".notice");
      const range = document.createRange();
      range.selectNodeContents(notice.querySelector("[data-field=message]"));
      const box = (each) => each.getBoundingClientRect();
      const { right } = box(document.querySelector("#pinned"));
      return [
        box(notice.querySelector(".said")).bottom - box(range).bottom,
        ...[...document.querySelectorAll("#pinned .row")].map((row) => right - box(row).right),
      ];
    })()`);
    assert.ok(below < 6, `${below} px below a notice`);
    assert.deepEqual(beside.map(Math.round), [1, 1]);
  });

  it("a pinned message cut at a line, also if its pictures come late, or not at all", async () => {
    const { page, chat } = pages;
    const [item] = Object.values(EMOJI.addChatItemAction.item);
    const waves = Array.from({ length: 80 }, () => item?.message.runs[0]);
    chat.say([
      bannered({ liveChatTextMessageRenderer: { ...item, message: { runs: waves } } }, { actionId: "one" }),
    ]);
    const pictures: Route[] = [];
    await page.route(/ggpht/, (route) => void pictures.push(route));
    const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40"/>';
    await page.emulateMedia({ reducedMotion: "reduce" }); // a row that enters is drawn below its place
    for (const comes of [true, false]) {
      await visit("&size=30");
      await page.locator("#pinned img.emoji").first().waitFor({ state: "attached" });
      await eventually(true, () => pictures.length > 0);
      for (const route of pictures.splice(0))
        await (comes ? route.fulfill({ contentType: "image/svg+xml", body: picture }) : route.abort());
      await until(
        page,
        `document.querySelectorAll("#pinned img.emoji${comes ? ":not([data-loaded])" : ""}").length === 0`,
      );
      await evaluate("new Promise((resolve) => setTimeout(() => setTimeout(resolve)))");
      assert.deepEqual(await evaluate(CUT), [], comes ? "they come" : "they fail");
    }
    await page.emulateMedia({ reducedMotion: "no-preference" });
    await page.unroute(/ggpht/);
  });

  it("the new text of a pinned message that was replaced, until it is taken down", async () => {
    const { page, chat } = pages;
    await assertPinnedReplaced(pages);
    chat.say([{ removeBannerForLiveChatCommand: { targetActionId: "one" } }]);
    await page.locator("#pinned .row").waitFor({ state: "detached" });
  });

  it("a gift whose picture never comes as high as one without pictures", async () => {
    const { page, chat } = pages;
    chat.say([giftWidget("g")]);
    await page.route(/gstatic/, () => {}); // has no answer
    const height = async (query: string): Promise<number> => {
      await visit(query);
      await page.locator("#chat [data-type=jewels]").waitFor();
      return evaluate("document.querySelector('#chat [data-type=jewels]').offsetHeight");
    };
    const withPictures = await height("");
    assert.equal(await page.locator("[data-type=jewels] img").count(), 1, "there is a picture to wait for");
    assert.equal(withPictures, await height("&images=off"));
    await page.unroute(/gstatic/);
  });

  it("times of a live chat in the reader's time zone", async () => {
    const { chat, relay, browser, videoId } = pages;
    chat.say([textAction("a"), POLL_OPENED]); // a poll has no time of its own
    const context = await browser.newContext({ timezoneId: "Asia/Kolkata" });
    const page = await context.newPage();
    await page.goto(`${relay.url}/overlay?videoId=${videoId}&timestamps=on`);
    const time = page.locator(`${rowOf("a")} time[data-field=timestamp]`);
    const said = new Date((await time.getAttribute("datetime")) ?? "");
    assert.ok(Math.abs(Date.now() - said.getTime()) < 60_000);
    const zone = new Intl.DateTimeFormat("en", { timeStyle: "short", timeZone: "Asia/Kolkata" });
    const expected = (minutes: number) =>
      zone.format(said.getTime() + minutes * 60_000).replace("\u202f", " ");
    assert.equal(await time.innerText(), expected(0));
    const ofPoll = await page.locator("[data-type=poll] [data-field=timestamp]").innerText();
    assert.ok([0, 1, 2].map(expected).includes(ofPoll), `${ofPoll} ${expected(0)}`);
    await context.close();
  });

  it("badges, bars and cards in forced colours", async () => {
    const { page, chat } = pages;
    chat.say([bannered(TEXT), POLL_OPENED, POLL_UPDATED, paidAction("paid", "$5.00"), textAction("a")]);
    await page.emulateMedia({ forcedColors: "active" });
    await visit();
    await has("a");
    const style = (selector: string, name: string) =>
      evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${name}`);
    const text = await style(rowOf("a"), "color");
    assert.equal(await style("span[data-field=badge]", "backgroundColor"), text);
    assert.match(await style("meter", "backgroundImage"), /gradient/);
    assert.equal(await style(rowOf("paid"), "borderTopWidth"), "1px");
    await page.emulateMedia({ forcedColors: "none" });
  });

  it("no movement if less motion is preferred", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a")]);
    const animation = () =>
      evaluate(`getComputedStyle(document.querySelector('${rowOf("a")}')).animationName`);
    for (const [reducedMotion, expected] of [
      ["no-preference", "enter"],
      ["reduce", "none"],
    ] as const) {
      await page.emulateMedia({ reducedMotion });
      await visit();
      await has("a");
      assert.equal(await animation(), expected);
    }
    await page.emulateMedia({ reducedMotion: "no-preference" });
  });

  for (const path of ["/overlay", "/"])
    it(`the neighbours of odd messages, and the readable part of these, on ${path}`, async () => {
      const { page, relay } = pages;
      const oddities: object[] = [
        { details: null, parts: null, message: "details null" },
        { message: null, author: 7, timestamp: {} },
        { type: "poll", details: { poll: {} }, message: "no choices" },
        { details: { badges: {} }, message: "badges" },
        { parts: [null], message: "parts" },
        { details: { publishedAt: { toString: 1 }, authorId: { toString: 1 } }, message: "texts" },
        { details: { colors: 5, amount: "x", target: 3 }, type: "superchat", message: "paid" },
        { type: "deleted", id: null, details: null },
        { type: "replaced", details: { target: null }, message: "replaced" },
        { type: undefined, message: "no type" },
      ];
      const frames = oddities.map((odd, at) => ({
        type: "chat",
        id: `odd-${at}`,
        author: "@a",
        message: "",
        ...odd,
      }));
      const all = frames.flatMap((frame, at) => [
        frame,
        { type: "chat", id: `ok-${at}`, author: "@b", message: "well" },
      ]);
      const body = [
        'event: init\ndata: {"videoId":"odd-messages","chatType":"liveChatRenderer","cursor":0}',
        ...all.map((message, at) => `id: ${at + 1}\nevent: message\ndata: ${JSON.stringify(message)}`),
        'event: end\ndata: {"reason":"no more continuations"}\n\n',
      ].join("\n\n");
      await page.route(/v1\/stream/, (route) => route.fulfill({ contentType: "text/event-stream", body }));
      const faults = faultsOf(page);
      await page.goto(`${relay.url}${path}?videoId=odd-messages`);
      await has("ok-9");
      const ids = await idsOf(page);
      for (const at of oddities.keys()) assert.ok(ids.includes(`ok-${at}`), `the neighbour of ${at}`);
      for (const at of [0, 2, 3, 4, 5, 9]) assert.ok(ids.includes(`odd-${at}`), `message ${at}`);
      assert.equal(await page.locator(`${rowOf("odd-3")} [data-field=message]`).innerText(), "badges");
      assert.deepEqual(faults, []);
      await page.unroute(/v1\/stream/);
    });

  it("everything in an engine as old as OBS 30's", async () => {
    const { browser, chat, relay, videoId } = pages;
    chat.say([
      bannered(TEXT),
      POLL_OPENED,
      POLL_UPDATED,
      paidAction("paid", "$5.00"),
      EMOJI,
      ...texts("a", 4),
    ]);
    await using page = await browser.newPage();
    const faults = faultsOf(page);
    page.on("console", (message) => /cannot be/.test(message.text()) && faults.push(message.text()));
    const picture = '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"/>';
    await page.route(/^https:/, (route) => route.fulfill({ contentType: "image/svg+xml", body: picture }));
    await makeOld(page);
    await page.goto(`${relay.url}/overlay?videoId=${videoId}&hide=/x/&mark=@y`);
    await page.locator(rowOf("a-3")).waitFor();
    assert.equal(await page.evaluate("typeof URL.parse"), "undefined");
    assert.equal(await page.locator("#chat > .row").count(), 6);
    assert.equal(await page.locator("#pinned > .row").count(), 2);
    assert.equal(await page.locator("img.emoji").count(), 1);
    const unusable = "sound=https://&picture=https://";
    await page.goto(`${relay.url}/overlay?demo=on&max=200&view=alerts&hold=1&${unusable}`);
    await page.locator("[data-type=milestone]").waitFor();
    await page.goto(`${relay.url}/overlay/setup`);
    await until(page, "document.querySelector('#url').value !== ''");
    await page.frameLocator("#preview").locator("[data-type=superchat]").waitFor();
    assert.deepEqual(
      faults,
      ["sound", "picture"].map((name) => `${name}=https:// cannot be used: use an https: or data: URL.`),
    );
  });
});
