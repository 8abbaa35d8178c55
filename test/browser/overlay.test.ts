/** The overlay in a browser: its parameters, its bounds, and what a user's stylesheet can rely on. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { MESSAGE_TYPES } from "../../src/protocol/kinds.ts";
import { init, message } from "../support/answering-server.ts";
import { countOfMessages, idsOf, NO_CHROMIUM, rowOf, until } from "../support/browser.ts";
import { deletionOf, paidAction, textAction, textItem, texts } from "../support/chat-actions.ts";
import { adding, TEXT } from "../support/chat-items.ts";
import { eventually } from "../support/eventually.ts";
import { bannered, gapAfter } from "../support/every-kind.ts";
import { usePages } from "../support/pages.ts";
import { POLL_CLOSED, POLL_OPENED, POLL_UPDATED } from "../support/poll-items.ts";

const PROPERTIES =
  "font-family font-size line-height color outline author-color owner-color moderator-color verified-color member-color background radius padding gap avatar-size emoji-size width enter-ms fade-ms";

describe("the overlay", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/overlay", { width: 600, height: 700 });
  const { evaluate, has, visit } = pages;
  const styleOf = (selector: string, name: string) =>
    evaluate<string>(`getComputedStyle(document.querySelector('${selector}')).getPropertyValue('${name}')`);

  it("begins with as many messages as it holds, and holds no more", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 40));
    await visit("&max=10");
    await has("a-39");
    assert.deepEqual(
      await idsOf(page),
      Array.from({ length: 10 }, (_, at) => `a-${at + 30}`),
    );
    chat.say([...texts("b", 15), deletionOf("b-10")]);
    await until(
      page,
      `!document.querySelector('${rowOf("b-10")}') && !!document.querySelector('${rowOf("b-14")}')`,
    );
    const ids = await idsOf(page);
    assert.ok(ids.length <= 10 && ids.at(-1) === "b-14", ids.join());
  });

  it("has the newest pinned message and the open poll above the chat, beside `max` rows", async () => {
    const { page, chat } = pages;
    const pinned = (id: string) => bannered(textItem(id), { actionId: `pin-${id}` });
    chat.say([...texts("a", 3), pinned("a-0"), POLL_OPENED, pinned("a-1"), ...texts("b", 3)]);
    await visit("&max=2&fade=3600&backfill=20");
    await has("b-2");
    const poll = "#pinned [data-poll-id='poll:poll-1']";
    const above = () => idsOf(page, "#pinned").then((ids) => ids.map((id) => id.replace(/^poll:.*/, "poll")));
    await page.locator(poll).waitFor();
    assert.deepEqual(
      [await above(), await idsOf(page)],
      [
        ["banner:pin-a-1", "poll"],
        ["b-1", "b-2"],
      ],
    );
    chat.say([deletionOf("a-1"), textAction("c"), POLL_UPDATED]);
    await page.locator(`${poll} .share`, { hasText: "53%" }).waitFor();
    await has("c"); // soon after a backfill, a poll is drawn at once, and rows a moment later
    assert.deepEqual([await above(), await idsOf(page)], [["poll"], ["b-2", "c"]]);
    chat.say([POLL_CLOSED, textAction("d")]);
    await has("d");
    assert.deepEqual([await above(), await idsOf(page)], [[], ["c", "d"]]);
  });

  it("has them also if they are older than what it begins with, until they are deleted or closed", async () => {
    const { page, chat } = pages;
    const pinned = bannered(textItem("p"), { actionId: "old" });
    chat.say([pinned, POLL_OPENED, ...texts("a", 3)]);
    await visit("&fade=3600");
    await pages.stateIs("open");
    await page.locator("#pinned [data-poll-id]").waitFor();
    const above = () => idsOf(page, "#pinned").then((ids) => ids.map((id) => id.replace(/^poll:.*/, "poll")));
    assert.deepEqual([await above(), await idsOf(page)], [["banner:old", "poll"], []]);
    chat.say([deletionOf("p"), POLL_CLOSED, textAction("z")]);
    await has("z");
    assert.deepEqual(await above(), []);
    const asked = page.waitForResponse(/types=poll/); // the last of what it asks for
    await visit("&fade=3600");
    await asked;
    chat.say([textAction("y")]);
    await has("y");
    assert.deepEqual(await above(), []);
  });

  it("shows a closed poll at its place among the rows", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a"), POLL_OPENED, textAction("b")]);
    await visit();
    await page.locator("#pinned .poll").waitFor();
    chat.say([POLL_CLOSED]);
    await page.locator("#chat [data-poll-state=closed]").waitFor();
    assert.deepEqual(
      (await idsOf(page)).map((id) => id.replace(/^poll:.*/, "poll")),
      ["a", "poll", "b"],
    );
  });

  it("takes styles, fonts, pictures from other hosts by its CSS, and none that a message names", async () => {
    const { page, chat } = pages;
    const asked: string[] = [];
    await page.route(/^https?:\/\/(?!127\.)/, (route) => {
      asked.push(route.request().url());
      const isCss = route.request().url().endsWith(".css");
      return route.fulfill(
        isCss
          ? { contentType: "text/css", body: ".row { letter-spacing: 7px }" }
          : { contentType: "image/svg+xml", body: '<svg xmlns="http://www.w3.org/2000/svg"/>' },
      );
    });
    chat.say([adding(TEXT)]); // with pictures of img.example
    await visit();
    await page.locator(".row").waitFor();
    const css = `@import url("https://fonts.example/a.css");
      @font-face { font-family: far; src: url("https://fonts.example/a.woff2") }
      @font-face { font-family: here; src: url("data:font/woff2;base64,d09GMgABAAAAAA") }
      body {
        background: url("https://pictures.example/a.png"), url("http://pictures.example/plain.png");
        font-family: far, here;
      }`;
    await evaluate(`document.head.append(
      Object.assign(document.createElement("style"), { textContent: ${JSON.stringify(css)} }))`);
    await until(page, "getComputedStyle(document.querySelector('.row')).letterSpacing === '7px'");
    const wanted = [
      "https://fonts.example/a.css",
      "https://fonts.example/a.woff2",
      "https://pictures.example/a.png",
    ];
    await eventually(true, () => wanted.every((url) => asked.includes(url)));
    assert.deepEqual(
      asked.filter((url) => !wanted.includes(url)),
      [],
    );
    await page.unroute(/^https?:\/\/(?!127\.)/);
  });

  it("lets rows fade and leave, and then does not begin with old ones", async () => {
    const { browser, relay, videoId, chat } = pages;
    await using page = await browser.newPage();
    await page.clock.install();
    chat.say(texts("old", 3));
    await page.goto(`${relay.url}/overlay?videoId=${videoId}&fade=3600`);
    await until(page, "document.documentElement.dataset.state === 'open'");
    chat.say([textAction("new")]);
    await page.locator(rowOf("new")).waitFor();
    await page.clock.fastForward(3_000_000); // the test itself may take the rest
    assert.deepEqual(await idsOf(page), ["new"]);
    await page.clock.fastForward(600_000);
    await until(page, `document.querySelector('${rowOf("new")}') === null`);
  });

  it("counts no gap among its messages, and keeps those between them", async () => {
    const { page } = pages;
    const gap = (cursor: number) => {
      const written = gapAfter(cursor - 1);
      const json = JSON.stringify({ ...written, details: { ...written.details, storedAt: "x" } });
      return `id: ${cursor}\nevent: message\ndata: ${json}\n\n`;
    };
    const body = [1, 2, 3, 4, 5].map((at) => message(2 * at) + gap(2 * at + 1)).join("");
    await page.route(/v1.stream/, (route) =>
      route.fulfill({ contentType: "text/event-stream", body: init(1) + body }),
    );
    await visit("&max=3");
    await until(page, "document.querySelectorAll('#chat [data-gap]').length === 3");
    assert.deepEqual((await idsOf(page)).map(Number).filter(Boolean), [6, 8, 10]);
    await page.unrouteAll();
  });

  it("lets the sign of missing messages leave, too, which a user's stylesheet can show", async () => {
    const { page } = pages;
    const streams = [init(10) + message(11), init(20) + message(21)];
    await page.route(/v1.stream/, async (route) => {
      const body = streams.shift();
      if (body) await route.fulfill({ contentType: "text/event-stream", body: `retry: 10\n\n${body}` });
    });
    await visit("&fade=2");
    const gap = page.locator("#chat [data-gap]");
    await gap.waitFor({ state: "attached" });
    await gap.waitFor({ state: "detached" });
    await page.unrouteAll();
  });

  it("lets rows leave in time where it is hidden, so that its timers run once a second", async () => {
    const { browser, relay, videoId, chat } = pages;
    await using page = await browser.newPage();
    await page.clock.install();
    await page.addInitScript(`
      Object.defineProperty(document, "hidden", { value: true });
      const repeat = window.setInterval;
      window.setInterval = (work, ms) =>
        repeat(() => { window.ranAt = performance.now(); work(); }, Math.max(ms, 1000));`);
    chat.say(texts("old", 1));
    await page.goto(`${relay.url}/overlay?videoId=${videoId}&fade=2`);
    await until(page, "document.documentElement.dataset.state === 'open'");
    await page.clock.pauseAt(Date.now() + 2000);
    const now = () => page.evaluate<number>("performance.now()");
    while ((await now()) - (await page.evaluate<number>("window.ranAt")) > 100) await page.clock.runFor(50);
    chat.say([textAction("new")]);
    const isThere = () => page.evaluate(`document.querySelector('${rowOf("new")}') !== null`);
    while (!(await isThere())) await page.clock.runFor(10);
    const cameAt = await now();
    while (await isThere()) await page.clock.runFor(50);
    const late = (await now()) - cameAt - 2000;
    assert.ok(late >= 0 && late < 1500, `${late} ms late`);
  });

  it("leaves out bots, commands and types that are not requested", async () => {
    const { page, chat } = pages;
    chat.say([
      textAction("bot", { author: "@NightBot" }),
      textAction("command", { text: "!uptime" }),
      paidAction("paid", "$5.00"),
      textAction("a"),
    ]);
    await visit("&hide=nightbot,other&commands=off");
    await has("a");
    assert.deepEqual(await idsOf(page), ["paid", "a"]);
    await visit("&types=paid,nonsense");
    await has("paid");
    assert.deepEqual(await idsOf(page), ["paid"]);
  });

  it("leaves out pictures, authors' pictures and badges on request", async () => {
    const { page, chat } = pages;
    chat.say([JSON.parse(JSON.stringify(adding(TEXT)).replaceAll("img.example", "yt3.ggpht.com"))]);
    const counts = async (query: string) => {
      await visit(query);
      await has("made-up-id");
      const drawn = ["img[data-field=avatar]", ".face", "[data-field=badge]"];
      return Promise.all(drawn.map((each) => page.locator(`#chat ${each}`).count()));
    };
    await page.route(/ggpht/, () => {}); // has no answer
    assert.deepEqual(await counts(""), [1, 1, 2]);
    assert.deepEqual(await counts("&images=off"), [0, 1, 2]);
    assert.deepEqual(await counts("&avatars=off"), [0, 0, 2]);
    assert.deepEqual(await counts("&badges=off"), [1, 1, 0]);
    await page.unroute(/ggpht/);
  });

  it("shows deleted messages as a notice, or struck through, on request", async () => {
    const { page, chat } = pages;
    chat.say([textAction("a"), textAction("z"), deletionOf("a")]);
    for (const [deleted, words] of [
      ["hide", "Message deleted"],
      ["strike", "words of a"],
    ] as const) {
      await visit(`&deleted=${deleted}`);
      await has("z");
      await page
        .locator(`${rowOf("a")}[data-deleted=message] :is(.taken-down, del)`, { hasText: words })
        .waitFor();
    }
  });

  it("does not show a message that comes after its deletion", async () => {
    const { page, chat } = pages;
    chat.say([textAction("z")]);
    await visit();
    await has("z");
    chat.say([deletionOf("late"), textAction("late"), textAction("kept")]);
    await has("kept");
    assert.equal(await page.locator(rowOf("late")).count(), 0);
  });

  it("keeps its rows when the chat is over, and says nothing", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 3));
    await visit();
    await has("a-2");
    chat.end("continuations-absent");
    await pages.stateIs("ended");
    assert.equal((await idsOf(page)).length, 3);
    assert.equal(await page.locator("#status").isVisible(), false);
  });

  const many = Array.from({ length: 300 }, (_, at) => `m-${at}`);
  for (const [query, unshown] of [
    ["types=paid", many.map((id) => textAction(id))],
    ["hide=nightbot", many.map((id) => textAction(id, { author: "@NightBot" }))],
    ["commands=off", many.map((id) => textAction(id, { text: "!uptime" }))],
    ["", many.map(deletionOf)],
  ] as const) {
    it(`keeps nothing that it does not show: ${query || "deletions"}`, async () => {
      const { page, chat } = pages;
      await visit(`&max=10&${query}`);
      await pages.stateIs("open");
      chat.say([...unshown, paidAction("last", "$5.00")]);
      await has("last");
      const held = await countOfMessages(page);
      assert.ok(held >= 1 && held <= 50, `${held} messages are in memory`);
    });
  }

  it("is transparent without scroll bars, in every theme, and takes its side from the parameters", async () => {
    const { page, chat } = pages;
    chat.say(texts("a", 30));
    for (const theme of ["dark", "light", "bubbles", "plate", "terminal", "none"]) {
      await visit(`&theme=${theme}&size=33&direction=down&align=right`);
      await has("a-29");
      for (const element of ["html", "body"]) {
        assert.equal(await styleOf(element, "background-color"), "rgba(0, 0, 0, 0)");
        assert.equal(await styleOf(element, "overflow-y"), "hidden");
      }
      assert.deepEqual(await page.evaluate("({ ...document.querySelector('#chat').dataset })"), {
        direction: "down",
        align: "right",
      });
      const unset = `${JSON.stringify(PROPERTIES.split(" "))}.filter((name) =>
        getComputedStyle(document.documentElement).getPropertyValue("--chat-" + name) === "")`;
      assert.deepEqual(await evaluate(unset), []);
      assert.equal(await styleOf("html", "--chat-font-size"), "33px");
      assert.equal(await page.locator("[data-field=timestamp]").count(), 0);
    }
    const tops = await page.evaluate<number[]>(
      "[...document.querySelectorAll('.row')].map((row) => row.getBoundingClientRect().top)",
    );
    assert.deepEqual(
      tops,
      tops.toSorted((a, b) => b - a),
    );
  });

  it("gives precedence to any rule of the user's", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("paid", "$5.00"), textAction("a")]);
    await visit();
    await has("a");
    const css =
      ":root { --chat-font-size: 50px } [data-type=superchat] { background: rgb(1, 2, 3) } [data-field=author] { color: rgb(4, 5, 6) }";
    await page.evaluate(`document.head.insertAdjacentHTML('beforeend', '<style>${css}</style>')`);
    assert.equal(await styleOf("html", "--chat-font-size"), "50px");
    assert.equal(await styleOf(rowOf("paid"), "background-color"), "rgb(1, 2, 3)");
    assert.equal(await styleOf(`${rowOf("a")} [data-field=author]`, "color"), "rgb(4, 5, 6)");
  });

  it("covers no more of the game than its rows in the theme terminal, unless it shows the chat", async () => {
    const { page, chat } = pages;
    chat.say([paidAction("paid", "$5.00"), POLL_OPENED]);
    for (const view of ["alerts", "poll", "ticker"]) {
      await visit(`&theme=terminal&view=${view}&backfill=50&hold=3600`);
      await page.locator("#chat .row").waitFor({ state: "attached" });
      assert.equal(await styleOf("#chat", "background-color"), "rgba(0, 0, 0, 0)", view);
    }
  });

  const designs: [theme: string, rules: [selector: string, property: string, value: string][]][] = [
    ["dark", [[rowOf("a"), "color", "rgb(255, 255, 255)"]]],
    ["light", [[rowOf("a"), "color", "rgb(22, 23, 28)"]]],
    [
      "none",
      [
        [rowOf("a"), "color", "rgb(0, 0, 0)"],
        [rowOf("a"), "text-shadow", "none"],
        [rowOf("paid"), "background-color", "rgba(0, 0, 0, 0)"],
      ],
    ],
    ["bubbles", [[rowOf("a"), "background-color", "rgba(18, 20, 28, 0.78)"]]],
    [
      "plate",
      [
        [`${rowOf("a")} [data-field=author]`, "background-color", "rgb(61, 58, 184)"],
        [`${rowOf("a")} [data-field=message]`, "color", "rgb(22, 23, 28)"],
      ],
    ],
    [
      "terminal",
      [
        [rowOf("a"), "color", "rgb(183, 255, 176)"],
        ["#chat", "background-color", "rgba(0, 12, 0, 0.72)"],
        [`${rowOf("a")} .face`, "display", "none"],
      ],
    ],
  ];
  for (const [theme, rules] of designs) {
    it(`has the theme ${theme}`, async () => {
      const { page, chat } = pages;
      chat.say([paidAction("paid", "$5.00"), textAction("a", { text: "w".repeat(300) })]);
      await visit(`&theme=${theme}&timestamps=on`);
      await has("a");
      for (const [selector, property, value] of rules) {
        assert.equal(await styleOf(selector, property), value, `${property} of ${selector}`);
      }
      assert.equal(await styleOf("body", "background-color"), "rgba(0, 0, 0, 0)");
      assert.doesNotMatch(
        await styleOf(rowOf("a"), "text-shadow"),
        /px -?[\d.]+px (?!0px)/,
        "a shadow blurs",
      );
      const widths =
        "[...document.querySelectorAll('#chat .row')].map((row) => row.getBoundingClientRect().right)";
      assert.ok(Math.max(...(await evaluate<number[]>(widths))) <= 600);
      const words = await page.locator(`${rowOf("a")} .head`).innerText();
      assert.match(words, /^\d+:\d\d [AP]M\s+@somebody$/);
      if (theme !== "none") {
        assert.equal(await styleOf(rowOf("paid"), "background-color"), "rgb(230, 33, 23)");
      }
    });
  }

  it("explains itself only if the video is missing or invalid", async () => {
    const { page, relay } = pages;
    for (const query of ["", "?videoId=no"]) {
      await page.goto(`${relay.url}/overlay${query}`);
      await page.locator("#status").waitFor();
      assert.match(await page.locator("#status").innerText(), /videoId/);
    }
    await page.goto(`${relay.url}/overlay?videoId=not-a-chat_`);
    await until(page, "document.documentElement.dataset.state === 'waiting'");
    assert.equal(await page.locator("#status").isVisible(), false);
  });

  it("says that it is still connecting only until the service answers", async () => {
    const { page, relay } = pages;
    await page.route("**/v1/stream?**", async (route) => {
      await page.locator("#status", { hasText: "Still connecting" }).waitFor();
      await route.continue();
    });
    await page.goto(`${relay.url}/overlay?videoId=not-a-chat_`);
    await until(page, "document.documentElement.dataset.state === 'waiting'");
    assert.equal(await page.locator("#status").isVisible(), false);
  });

  it("does not show a refusal to those who watch a channel that it waited for", async () => {
    const { page, relay } = pages;
    const [contentType, state] = ["text/event-stream", { channel: "@quiet", state: "waiting" }];
    const body = `event: channel\ndata: ${JSON.stringify(state)}\n\n`;
    const refusal = { error: { code: "UNAUTHORIZED", message: "The token is not valid." } };
    const answers = [
      { contentType, body },
      { status: 401, json: refusal },
    ];
    const again = Promise.withResolvers<void>();
    await page.route("**/v1/stream?**", (route) => {
      const answer = answers.shift();
      if (answer) return route.fulfill(answer);
      again.resolve(); // the page has taken the refusal
    });
    await page.goto(`${relay.url}/overlay?channel=@quiet`);
    await again.promise;
    await pages.stateIs("reconnecting");
    assert.equal(await page.locator("#status").isVisible(), false);
  });

  it("shows a sample of each kind within five seconds, without calls to the service", async () => {
    const { page, relay } = pages;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(new URL(request.url()).pathname));
    await page.clock.install();
    await page.goto(
      `${relay.url}/overlay?demo=on&max=200&deleted=hide&types=chat,paid,members,polls,pinned,moderation,notices`,
    );
    await until(page, "document.querySelector('.row') !== null");
    await page.clock.runFor(4900);
    const types = await page.evaluate<string[]>(
      "[...document.querySelectorAll('#chat [data-type]')].map((row) => row.dataset.type)",
    );
    assert.deepEqual(
      MESSAGE_TYPES.filter((type) => !types.includes(type)),
      ["banner", "gap"], // the banner is above the rows, and the gap does not come from the upstream
    );
    assert.deepEqual(
      asked.filter((path) => path.startsWith("/v1/")),
      [],
    );
  });
});
