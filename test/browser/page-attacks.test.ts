/**
 * Hostile text in every field of every kind, on both pages: none of it becomes markup, style, address or
 * script.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ATTACKS, WIDEST } from "../support/attacks.ts";
import { faultsOf, NO_CHROMIUM, rowOf } from "../support/browser.ts";
import { textAction } from "../support/chat-actions.ts";
import { documentedMessages } from "../support/documented-messages.ts";
import { usePages } from "../support/pages.ts";

/**
 * In the page: draws the message with each attack in place of every text, and lists everything there that
 * must not be. Only the widest are laid out, which is most of the work.
 */
const JUDGE = `async (message, attacks, widest) => {
  const kept = new Set(["type", "kind", "custom", "state", "direction", "reason"]);
  const poisoned = (attack) =>
    JSON.parse(JSON.stringify(message), (key, value) => typeof value === "string" && !kept.has(key) ? attack : value);
  const { draw } = await import(new URL("web/chat/draw.js", document.baseURI));
  const tags = new Set(["DIV", "SPAN", "BDI", "IMG", "A", "METER", "DEL", "TIME"]);
  const names = /^(class|style|title|alt|src|href|target|rel|role|aria-[a-z]+|data-[a-z-]+|datetime|min|max|value|decoding|draggable)$/;
  const faults = [];
  const chat = document.querySelector("#chat");
  const rows = attacks.map((attack) => {
    const row = document.createElement("div");
    row.className = "row";
    draw(row, { cursor: 1, ...poisoned(attack) }, {}, { images: true, avatars: true, badges: true, timestamps: true, deleted: "hide" });
    for (const each of [row, ...row.querySelectorAll("*")]) {
      if (!tags.has(each.tagName)) faults.push("element " + each.tagName);
      for (const { name, value } of each.attributes) {
        if (!names.test(name)) faults.push("attribute " + name);
        if (name === "href" && !/^https?:\\/\\//.test(value)) faults.push("href " + value);
        if (name === "src" && !value.startsWith("https://")) faults.push("src " + value);
        if (name === "style" && /url|position|display/i.test(value)) faults.push("style " + value);
      }
    }
    return row;
  });
  const laidOut = rows.filter((_, at) => widest.includes(attacks[at]));
  chat.append(...laidOut);
  const { right } = chat.getBoundingClientRect();
  for (const row of laidOut) {
    if (row.getBoundingClientRect().right > right + 1 || row.scrollWidth > row.clientWidth + 1) {
      faults.push("wider than its place: " + row.dataset.type);
    }
  }
  for (const row of laidOut) row.remove();
  if ("pwned" in window || {}.polluted) faults.push("a script ran");
  return [...new Set(faults)];
}`;

const DOCUMENTED = documentedMessages();
/** A link and an emoji, which no example has, each in a message of its own: its text is the message's. */
const WITH_ADDRESSES = [
  { kind: "link", text: "a.example", url: "https://a.example/" },
  { kind: "emoji", text: ":wave:", custom: true, url: "https://yt3.ggpht.com/x" },
].map((part) => ({ ...DOCUMENTED.find(({ type }) => type === "chat"), type: "chat", parts: [part] }));

describe("hostile text", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 400, height: 600 });

  it("comes in at least 200 variants", () => assert.ok(new Set(ATTACKS).size >= 200, String(ATTACKS.length)));

  for (const path of ["/", "/overlay"]) {
    it(`stays text in every field of every kind on ${path}`, async () => {
      const { page } = pages;
      const faults = faultsOf(page);
      await page.goto(pages.relay.url + path);
      for (const message of [...DOCUMENTED, ...WITH_ADDRESSES]) {
        const given = [message, ATTACKS, WIDEST].map((each) => JSON.stringify(each));
        const judged = `(${JUDGE})(${given})`;
        assert.deepEqual(await page.evaluate(judged), [], message.type);
      }
      assert.deepEqual(faults, []);
    });
  }

  it("passes through the service unchanged", async () => {
    const { page, chat } = pages;
    const said = ATTACKS.filter(
      (attack) => attack.isWellFormed() && attack.length < 500 && !attack.includes("\0"),
    );
    chat.say(said.map((text, at) => textAction(`attack-${at}`, { text, author: text })));
    chat.say([textAction("last")]);
    const faults = faultsOf(page);
    await pages.visit("&backfill=500");
    await page.locator(rowOf("last")).waitFor();
    const shown = await page.evaluate<string[]>(
      "[...document.querySelectorAll('#chat [data-message-id^=attack] [data-field=message]')].map((each) => each.textContent)",
    );
    assert.deepEqual(shown.slice(-40), said.slice(-shown.length).slice(-40));
    assert.deepEqual(faults, []);
    assert.equal(await page.evaluate("'pwned' in window"), false);
  });
});
