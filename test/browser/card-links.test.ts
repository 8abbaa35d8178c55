/**
 * Links on coloured cards: underlined, in the colour of the card's text, and readable by the contrast of WCAG
 * 2.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { NO_CHROMIUM } from "../support/browser.ts";
import { usePages } from "../support/pages.ts";

const LEAST_CONTRAST = 4.5;

/** The upstream's colours by tier; without a colour it is the card of a membership. */
const CARDS: [name: string, header: string, body: string][] = [
  ["tier 1", "#1565c0", "#1e88e5"],
  ["tier 2", "#00b8d4", "#00e5ff"],
  ["tier 3", "#00bfa5", "#1de9b6"],
  ["tier 4", "#ffb300", "#ffca28"],
  ["tier 5", "#e65100", "#f57c00"],
  ["tier 6", "#c2185b", "#e91e63"],
  ["tier 7", "#d00000", "#e62117"],
  ["membership", "", ""],
];

const LOOKS: [path: string, scheme: "dark" | "light"][] = [
  ["/", "dark"],
  ["/", "light"],
  ["/overlay?demo=on", "dark"],
  ["/overlay?demo=on&theme=light", "light"],
];

interface Drawn {
  color: string;
  text: string;
  line: string;
  ground: string;
  isOnCard: boolean;
}

/** In the page: draws messages and returns the colours of each one's link and of its background. */
const DRAW = `async (messages) => {
  const { draw } = await import("/web/chat/draw.js");
  return messages.map((message) => {
    const row = document.createElement("div");
    row.className = "row";
    draw(row, message, {}, { images: true, avatars: true, badges: true, timestamps: true, deleted: "hide" });
    document.querySelector("#chat, #rows").append(row);
    const link = row.querySelector("a");
    const { color, textDecorationLine: line } = getComputedStyle(link);
    let behind = link;
    while (getComputedStyle(behind).backgroundColor === "rgba(0, 0, 0, 0)") behind = behind.parentElement;
    const isOnCard = row.contains(behind) && row.matches(".card");
    const text = getComputedStyle(link.parentElement).color;
    return { color, text, line, ground: getComputedStyle(behind).backgroundColor, isOnCard };
  });
}`;

function messageOn(header: string, body: string) {
  const parts = [{ kind: "link", text: "a.example", url: "https://a.example/" }];
  const said = { cursor: 1, id: "a", author: "@a", timestamp: "", message: "a.example", parts };
  if (body === "") return { ...said, type: "membership", amount: "", color: "", details: {} };
  return { ...said, type: "superchat", amount: "$5.00", color: body, details: { colors: { header, body } } };
}

function contrast(...colors: [string, string]): number {
  const [light = 0, dark = 0] = colors.map(luminance).sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: string): number {
  const [, ...channels] = /^rgb\((\d+), (\d+), (\d+)\)$/.exec(color) ?? assert.fail(color);
  const [red = 0, green = 0, blue = 0] = channels.map((channel) => {
    const share = Number(channel) / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

describe("a link on a card is readable", { skip: NO_CHROMIUM }, () => {
  const pages = usePages("/", { width: 1280, height: 720 });

  for (const [path, scheme] of LOOKS) {
    it(`on ${path}, ${scheme}`, async () => {
      const { page, relay } = pages;
      await page.emulateMedia({ colorScheme: scheme });
      await page.goto(relay.url + path);
      const messages = CARDS.map(([, header, body]) => messageOn(header, body));
      const drawn = await pages.evaluate<Drawn[]>(`(${DRAW})(${JSON.stringify(messages)})`);
      assert.equal(drawn.length, CARDS.length);
      for (const [index, { color, text, line, ground, isOnCard }] of drawn.entries()) {
        const [name = ""] = CARDS[index] ?? [];
        assert.ok(isOnCard, name);
        assert.deepEqual([color, line], [text, "underline"], name);
        const found = contrast(color, ground);
        assert.ok(found >= LEAST_CONTRAST, `${name}: ${color} on ${ground}: ${found.toFixed(2)}`);
      }
    });
  }
});
