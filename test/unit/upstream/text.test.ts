/** The upstream's texts, links and images as parts of a message. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { cut, labelOf, partsOf, plainText, wordsOf } from "../../../src/upstream/readers/text.ts";
import { imageUrl, linkUrl, webUrl } from "../../../src/upstream/readers/url.ts";

const label = (words: string) => ({ accessibility: { accessibilityData: { label: words } } });

test("each of the three forms of text gives its words", () => {
  assert.deepEqual(partsOf({ simpleText: "one" }), [{ kind: "text", text: "one" }]);
  assert.deepEqual(partsOf({ content: "one", styleRuns: [{ startIndex: 0 }] }), [
    { kind: "text", text: "one" },
  ]);
  const parts = partsOf({ runs: [{ text: "one ", bold: true }, { text: "" }, { text: "two" }] });
  assert.deepEqual(parts, [
    { kind: "text", text: "one " },
    { kind: "text", text: "two" },
  ]);
  assert.equal(plainText(parts), "one two");
});

test("anything other than text has no parts and no words", () => {
  for (const odd of [
    undefined,
    null,
    7,
    "bare",
    [],
    {},
    { runs: null },
    { runs: [null, 7, "x", [], {}, { text: 7 }] },
  ]) {
    assert.deepEqual(partsOf(odd), []);
    assert.equal(wordsOf(odd), "");
  }
});

test("a standard emoji is its character, a custom one its first shortcut, else its label", () => {
  const image = {
    thumbnails: [
      { url: "https://img.example/24", width: 24 },
      { url: "https://img.example/48", width: 48 },
    ],
  };
  const url = "https://img.example/48";
  const emoji = (of: object) => partsOf({ runs: [{ emoji: of }] });
  assert.deepEqual(emoji({ emojiId: "👏", shortcuts: [":clap:"], image }), [
    { kind: "emoji", text: "👏", url, custom: false },
  ]);
  assert.deepEqual(emoji({ emojiId: "👏🏿" }), [{ kind: "emoji", text: "👏🏿", custom: false }]);
  const custom = { emojiId: "UCmade-up/abc", isCustomEmoji: true, image: { ...image, ...label("hello") } };
  assert.deepEqual(emoji({ ...custom, shortcuts: [":hi:", ":ho:"] }), [
    { kind: "emoji", text: ":hi:", url, custom: true },
  ]);
  assert.deepEqual(emoji(custom), [{ kind: "emoji", text: "hello", url, custom: true }]);
  assert.deepEqual(emoji({ emojiId: "UCmade-up/abc", image }), [
    { kind: "emoji", text: "", url, custom: true },
  ]);
  assert.deepEqual(emoji({ shortcuts: [null, 7], image: label("x") }), [
    { kind: "emoji", text: "x", custom: false },
  ]);
  assert.deepEqual(emoji({}), []);
});

test("a link has its final, absolute URL", () => {
  const cases: [endpoint: unknown, url: string | undefined][] = [
    [{ urlEndpoint: { url: "https://example.org/a?b=c" } }, "https://example.org/a?b=c"],
    [
      { urlEndpoint: { url: "/redirect?event=live_chat&q=https%3A%2F%2Fexample.org%2Fa%3Fb%3Dc" } },
      "https://example.org/a?b=c",
    ],
    [
      { urlEndpoint: { url: "https://www.youtube.com/redirect?q=http%3A%2F%2Fexample.org" } },
      "http://example.org",
    ],
    [
      { urlEndpoint: { url: "/redirect?q=javascript%3Aalert(1)" } },
      "https://www.youtube.com/redirect?q=javascript%3Aalert(1)",
    ],
    [{ urlEndpoint: { url: "https://example.org/redirect?q=x" } }, "https://example.org/redirect?q=x"],
    [
      { urlEndpoint: { url: "https://not-youtube.com/redirect?q=https%3A%2F%2Fexample.org" } },
      "https://not-youtube.com/redirect?q=https%3A%2F%2Fexample.org",
    ],
    [{ urlEndpoint: { url: "//example.org/x" } }, "https://example.org/x"],
    [{ watchEndpoint: { videoId: "made-up_vid" } }, "https://www.youtube.com/watch?v=made-up_vid"],
    [
      {
        watchEndpoint: { videoId: "x" },
        commandMetadata: { webCommandMetadata: { url: "/watch?v=made-up_vid&t=9s" } },
      },
      "https://www.youtube.com/watch?v=made-up_vid&t=9s",
    ],
    [
      { browseEndpoint: { browseId: "UCabc", canonicalBaseUrl: "/@somebody" } },
      "https://www.youtube.com/@somebody",
    ],
    [{ browseEndpoint: { browseId: "UCabc" } }, "https://www.youtube.com/channel/UCabc"],
    [{ browseEndpoint: { browseId: "FEwhat_to_watch" } }, undefined],
    [{ urlEndpoint: { url: "javascript:alert(1)" } }, undefined],
    [{ urlEndpoint: { url: 7 }, watchEndpoint: null }, undefined],
    [null, undefined],
  ];
  for (const [endpoint, url] of cases) assert.equal(linkUrl(endpoint), url, JSON.stringify(endpoint));
  const run = { text: "there", navigationEndpoint: { urlEndpoint: { url: "//example.org/" } } };
  assert.deepEqual(partsOf({ runs: [run] }), [{ kind: "link", text: "there", url: "https://example.org/" }]);
  assert.deepEqual(partsOf({ runs: [{ ...run, navigationEndpoint: {} }] }), [
    { kind: "text", text: "there" },
  ]);
});

test("only absolute http URLs of a bounded length pass", () => {
  for (const odd of [
    "",
    "example.org",
    "http://",
    "https://a b/",
    'https://a/"x',
    "data:,x",
    `https://a/${"x".repeat(2048)}`,
  ]) {
    assert.equal(webUrl(odd), undefined, odd.slice(0, 50));
  }
});

test("an image is its largest version, in any order", () => {
  const form = (width: unknown) => ({ url: `//img.example/${width}`, width });
  assert.equal(imageUrl({ thumbnails: [form(32), form(64)] }), "https://img.example/64");
  assert.equal(imageUrl({ thumbnails: [form(64), form(32)] }), "https://img.example/64");
  assert.equal(imageUrl({ sources: [form(undefined), form("x")] }), "https://img.example/x");
  const unusable = { url: "javascript:alert(1)", width: 96 };
  assert.equal(imageUrl({ sources: [form(32), form(64), unusable] }), "https://img.example/64");
  for (const odd of [null, {}, { thumbnails: [] }, { thumbnails: [null, {}, { url: "x" }] }]) {
    assert.equal(imageUrl(odd), undefined);
  }
});

test("text is bounded, and cut between characters", () => {
  assert.equal(cut("a😀", 3), "a😀");
  assert.equal(cut("a😀", 2), "a");
  assert.equal(wordsOf({ simpleText: "😀".repeat(400) }), "😀".repeat(250));
  assert.equal(labelOf(label("x".repeat(600))).length, 500);
  const long = partsOf({ runs: [{ text: "x".repeat(9_999) }, { text: "😀y" }, { text: "z" }] });
  assert.deepEqual(long, [{ kind: "text", text: "x".repeat(9_999) }]);
  const emoji = { emoji: { emojiId: "UCx/y", shortcuts: [":long:"] } };
  assert.equal(
    plainText(partsOf({ runs: [{ text: "x".repeat(9_998) }, emoji, { text: "z" }] })),
    "x".repeat(9_998),
  );
  assert.equal(partsOf({ runs: Array.from({ length: 600 }, () => ({ text: "x" })) }).length, 500);
});
