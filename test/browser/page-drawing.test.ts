/**
 * How each kind of message is drawn, from the documentation's examples: attributes, fields, words and
 * colours.
 */
import assert from "node:assert/strict";
import { before, describe, it } from "node:test";
import type { Details } from "../../src/protocol/kinds.ts";
import { faultsOf, NO_CHROMIUM, until } from "../support/browser.ts";
import { documentedMessages } from "../support/documented-messages.ts";
import { usePages } from "../support/pages.ts";

const EXAMPLES = documentedMessages();

interface Drawn {
  attributes: Record<string, string>;
  fields: [name: string, words: string][];
  html: string;
  words: string;
  colors: Record<"body" | "head" | "text" | "headText", string>;
}

/** In the page: draws a message and describes the result. */
const DRAW = `window.drawn = async (message, fate = {}, display = {}) => {
  const { draw } = await import("/web/chat/draw.js");
  const row = document.createElement("div");
  row.className = "row";
  const usual = { images: true, avatars: true, badges: true, timestamps: true, deleted: "hide" };
  draw(row, { cursor: 7, ...message }, fate, { ...usual, ...display });
  document.querySelector("#rows").replaceChildren(row);
  const textOf = (node) => {
    const copy = node.cloneNode(true);
    for (const image of copy.querySelectorAll("img")) image.replaceWith(image.alt);
    return copy.tagName === "IMG" ? copy.alt : copy.textContent;
  };
  const style = (element) => element ? getComputedStyle(element) : {};
  const head = row.querySelector(".head");
  return {
    attributes: Object.fromEntries([...row.attributes].map(({ name, value }) => [name, value])),
    fields: [...row.querySelectorAll("[data-field]")].map((each) => [each.dataset.field, textOf(each)]),
    html: row.innerHTML,
    words: textOf(row),
    colors: {
      body: style(row).backgroundColor, text: style(row).color,
      head: style(head).backgroundColor, headText: style(head).color,
    },
  };
}`;

describe("a message on the page", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 });
  let faults: string[];

  before(async () => {
    const { page } = pages;
    faults = faultsOf(page);
    await page.goto(pages.relay.url);
    await page.evaluate(DRAW);
  });

  const drawn = (message: object, fate: object = {}, display: object = {}): Promise<Drawn> =>
    pages.evaluate(
      `window.drawn(${JSON.stringify(message)}, ${JSON.stringify(fate)}, ${JSON.stringify(display)})`,
    );

  /** The kind and the accessible name of each badge. */
  const badgesDrawn = () =>
    pages.evaluate<string[]>(`[...document.querySelectorAll("#rows [data-field=badge]")]
      .map((each) => each.dataset.kind + " " + (each.alt ?? each.ariaLabel))`);

  it("a reply to a Super Chat says to whom, as text", async () => {
    const [message] = EXAMPLES.filter(({ type }) => type === "chat");
    const replyTo = { author: "<b>@donor</b>", messageId: "m2" };
    const { fields, words } = await drawn({ ...message, details: { ...message?.details, replyTo } });
    assert.equal(new Map(fields).get("reply-to"), "<b>@donor</b>");
    assert.match(words, /@somebody to <b>@donor<\/b> /);
  });

  it("a poll's choice with less than one percent shows <1%", async () => {
    const poll = {
      question: "?",
      choices: [
        { text: "a", ratio: 0.004 },
        { text: "b", ratio: 0 },
      ],
      state: "open",
    };
    const [message] = EXAMPLES.filter(({ type }) => type === "poll");
    const { words } = await drawn({ ...message, details: { poll } });
    assert.match(words, /a <1%.*b 0%/);
  });

  for (const message of EXAMPLES) {
    it(`${message.type} has its attributes and fields`, async () => {
      const { attributes, fields } = await drawn(message);
      const details: Details = message.details;
      const { authorId, badges, amount, tier } = details;
      const expected = {
        "data-message-id": message.id,
        "data-type": message.type,
        "data-cursor": "7",
        "data-author-id": authorId,
        "data-badges": badges?.map(({ kind }) => kind).join(" "),
        "data-amount": message.amount || undefined,
        "data-tier": tier?.toString(),
        "data-value": amount ? String(amount.value) : undefined,
        "data-currency": amount?.currency ?? undefined,
        "data-poll-id": message.type === "poll" ? "poll:poll-1" : undefined,
        "data-poll-state": message.type === "poll" ? "open" : undefined,
        "data-gap": message.type === "gap" ? "" : undefined,
      };
      for (const [name, value] of Object.entries(expected)) assert.equal(attributes[name], value, name);
      const said = new Map(fields);
      assert.equal(said.get("author"), message.author || undefined);
      assert.equal(said.get("timestamp"), message.timestamp);
      assert.equal(said.get("amount"), message.amount || undefined);
      const { header, level, badges: given = [], sticker } = details;
      const banner = details.banner?.header;
      if (!banner) assert.equal(said.get("header"), [header, level].filter(Boolean).join(" · ") || undefined);
      assert.deepEqual(
        await badgesDrawn(),
        given.map(({ kind, label }) => `${kind} ${label || kind}`),
      );
      assert.equal(said.get("sticker"), sticker?.label || undefined);
      const field = { poll: "question", supersticker: "sticker" }[message.type as string] ?? "message";
      assert.equal(said.get(field), message.message.replace("Chat summary\n", "") || undefined);
      assert.ok(
        fields.every(([name, words]) => words !== "" || name === "avatar"),
        "a field is empty",
      );
    });
  }

  it("shows each choice of a poll with its share as text and as a bar", async () => {
    const poll = EXAMPLES.find(({ type }) => type === "poll") ?? {};
    const { fields } = await drawn(poll);
    assert.deepEqual(fields.slice(1), [
      ["question", "Wall or floor?"],
      ["choice", "wall 47%47%"],
      ["choice", "floor 53%53%"],
      ["votes", "1,972 votes"],
    ]);
    assert.deepEqual(
      await pages.evaluate("[...document.querySelectorAll('meter')].map((m) => m.value)"),
      [0.47, 0.53],
    );
  });

  it("has the upstream's colours, and black or white text, whichever has more contrast", async () => {
    const rows: [body: string, text: "0, 0, 0" | "255, 255, 255"][] = [
      ["#1565c0", "255, 255, 255"],
      ["#1e88e5", "0, 0, 0"],
      ["#00e5ff", "0, 0, 0"],
      ["#e62117", "0, 0, 0"],
      ["#c2185b", "255, 255, 255"],
    ];
    const paid = { ...EXAMPLES.find(({ type }) => type === "superchat"), details: {} };
    for (const [color, text] of rows) {
      const { colors } = await drawn({ ...paid, color });
      const [, red = "", green = "", blue = ""] = /#(..)(..)(..)/.exec(color) ?? [];
      const rgb = [red, green, blue].map((hex) => Number.parseInt(hex, 16)).join(", ");
      assert.deepEqual(colors, {
        body: `rgb(${rgb})`,
        head: `rgb(${rgb})`,
        text: `rgb(${text})`,
        headText: `rgb(${text})`,
      });
    }
  });

  it("keeps nothing of a deleted message, unless it is to be struck out", async () => {
    for (const message of EXAMPLES.filter(({ amount, type }) => amount !== "" || type === "chat")) {
      const hidden = await drawn(message, { deleted: "message" });
      assert.equal(hidden.attributes["data-deleted"], "message");
      const words = [message.message, message.amount, ...message.parts.map(({ text }) => text)];
      for (const text of words.filter((word) => word.length > 1)) {
        assert.ok(
          !(hidden.html + JSON.stringify(hidden.attributes)).includes(text),
          `${message.type}: ${text}`,
        );
      }
      const struck = await drawn(message, { deleted: "author" }, { deleted: "strike" });
      assert.ok(struck.words.includes(message.message));
      assert.match(struck.html, /<del>/);
    }
  });

  it("makes links only of http and https, and text of emoji without pictures", async () => {
    const parts = [
      "https://a.example/",
      "http://b.example/",
      "javascript:alert(1)",
      "data:text/html,x",
      "//c.example",
      "no url",
    ].map((url) => ({ kind: "link", text: `[${url}]`, url }));
    const emoji = { kind: "emoji", text: ":wave:", custom: true, url: "https://yt3.ggpht.com/x" };
    const message = [...parts, emoji].map(({ text }) => text).join("");
    const { html, fields } = await drawn({
      type: "chat",
      id: "a",
      author: "",
      timestamp: "",
      amount: "",
      color: "",
      message,
      parts: [...parts, emoji],
      details: {},
    });
    assert.deepEqual(
      [...html.matchAll(/href="([^"]*)"/g)].map(([, href]) => href),
      ["https://a.example/", "http://b.example/"],
    );
    assert.equal([...html.matchAll(/target="_blank" rel="noopener noreferrer nofollow ugc"/g)].length, 2);
    assert.deepEqual(fields, [["message", message]]);
    const plain = await drawn(
      {
        type: "chat",
        id: "a",
        author: "",
        timestamp: "",
        amount: "",
        color: "",
        message: ":wave:",
        parts: [emoji],
        details: {},
      },
      {},
      { images: false },
    );
    assert.doesNotMatch(plain.html, /<img/);
    assert.deepEqual(plain.fields, [["message", ":wave:"]]);
  });

  it("shows the text of a picture that cannot be loaded, and the platform's own emoji as text", async () => {
    const { page } = pages;
    const url = "https://yt3.ggpht.com/x";
    await page.route(/ggpht/, (route) => route.abort());
    const emoji = (text: string, custom: boolean) => ({ kind: "emoji", text, custom, url });
    const { html } = await drawn({
      ...EXAMPLES.find(({ type }) => type === "chat"),
      message: ":wave:👏",
      parts: [emoji(":wave:", true), emoji("👏", false)],
      details: { badges: [{ kind: "member", label: "Member", url }], sticker: { label: "A cat waves", url } },
    });
    assert.equal([...html.matchAll(/<img/g)].length, 3);
    await until(page, "document.querySelectorAll('#rows img').length === 0");
    const textOf = (name: string) =>
      pages.evaluate(`document.querySelector('#rows [data-field=${name}]').textContent`);
    assert.deepEqual(await Promise.all(["message", "badge", "sticker"].map(textOf)), [
      ":wave:👏",
      "Member",
      "A cat waves",
    ]);
    await page.unroute(/ggpht/);
  });

  it("isolates the author and the words from the text around them", async () => {
    const { html } = await drawn({
      ...EXAMPLES.find(({ type }) => type === "chat"),
      author: "\u202eabc",
      message: "\u2067x",
      parts: [],
    });
    for (const [field, text] of Object.entries({ author: "\u202eabc", message: "\u2067x" }))
      assert.match(html, new RegExp(`<bdi data-field="${field}"[^>]*>${text}</bdi>`));
  });

  it("gives each kind of notice a heading and a sign of its own", async () => {
    const headings = {
      raid: "Raid",
      summary: "Chat summary",
      notice: "Notice",
      mode: "Chat mode",
      product: "Product",
      poll_result: "Poll result",
    };
    const signs = new Set<string>();
    for (const [type, heading] of Object.entries(headings)) {
      const example = EXAMPLES.find((message) => message.type === type);
      await drawn({ ...example, message: "words", parts: [] });
      assert.equal(await pages.evaluate("document.querySelector('#rows .heading').textContent"), heading);
      const sign = "getComputedStyle(document.querySelector('#rows .heading .sign')).maskImage";
      signs.add(await pages.evaluate<string>(sign));
    }
    assert.equal(signs.size, Object.keys(headings).length);
    assert.equal(signs.has("none"), false);
    const summary = { ...EXAMPLES.find(({ type }) => type === "summary"), parts: [] };
    for (const parts of [
      [],
      ["Chat summary", "\n", "Viewers say hello."],
      ["Chat summary\n", "Viewers say hello."],
    ]) {
      await drawn({
        ...summary,
        message: "Chat summary\nViewers say hello.",
        parts: parts.map((text) => ({ kind: "text", text })),
      });
      const textOf = (part: string) => pages.page.locator(`#rows ${part}`).allTextContents();
      assert.deepEqual(await textOf(".heading"), ["Chat summary"]);
      assert.deepEqual(await textOf("[data-field=message]"), ["Viewers say hello."]);
    }
  });

  it("has no double spaces", async () => {
    for (const message of EXAMPLES) {
      const { words } = await drawn({ ...message, message: "words", parts: [] });
      assert.doesNotMatch(words, / {2}/, message.type);
    }
  });

  it("has a space between its words and the text of its sticker", async () => {
    const sticker = { label: "Gold coin" };
    const gift = {
      ...EXAMPLES[0],
      type: "jewels",
      message: "sent 10 Jewels",
      parts: [],
      details: { sticker },
    };
    for (const [deleted, expected] of [
      ["hide", /sent 10 Jewels Gold coin$/],
      ["strike", /sent 10 Jewels Gold coin deleted$/],
    ] as const) {
      const { words } = await drawn(gift, deleted === "strike" ? { deleted: "message" } : {}, { deleted });
      assert.match(words, expected);
    }
  });

  it("draws an unknown kind, and a message without most fields, as far as possible", async () => {
    const { fields, attributes } = await drawn({
      type: "brand_new",
      id: "n",
      author: "@who",
      message: "what",
      parts: [],
      details: {},
      timestamp: "",
      amount: "",
      color: "",
    });
    assert.deepEqual(fields, [
      ["author", "@who"],
      ["message", "what"],
    ]);
    assert.equal(attributes["data-type"], "brand_new");
  });

  it("violates no policy", () => assert.deepEqual(faults, []));
});
