/** Links that the upstream has shortened, and what only looks like one. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Part } from "../../../src/protocol/message.ts";
import { wholeText } from "../../../src/protocol/whole-text.ts";

const URL = "https://www.example.org/a/long/path/that/the/place/has?q=1#top";

const link = (text: string, url = URL): Part => ({ kind: "link", text, url });
const textOf = (...parts: Part[]) => wholeText({ message: parts.map(({ text }) => text).join(""), parts });

describe("a shortened link", () => {
  for (const shown of [
    "https://www.example.org/a/long/path/that/the/pl...",
    "https://www.example.org/a/long/path/that/the/pl…",
    "www.example.org/a/lo...",
    "example.org/a/lo…",
    "http://example.org/a/lo...",
    `${URL}...`,
  ]) {
    it(`is whole in place of ${shown}`, () => {
      const words = [{ kind: "text", text: "see " }, link(shown), { kind: "text", text: " now" }] as Part[];
      assert.equal(textOf(...words), `see ${URL} now`);
    });
  }

  for (const [what, part] of [
    ["its words are no beginning of its target", link("click here...")],
    ["it is a beginning of another one", link("https://example.com/a/lo...")],
    ["it is shown whole", link("example.org/a/long/path")],
    ["it has no target", { kind: "text", text: "https://www.example.org/a/lo..." }],
  ] as [string, Part][]) {
    it(`stays as it is if ${what}`, () => assert.equal(textOf(part), part.text));
  }

  it("is nothing to look for in a message without parts", () => {
    assert.equal(wholeText({ message: "hello..." }), "hello...");
  });

  it("is each of several", () => {
    const other = "https://example.com/another/path";
    const parts = [link("example.org/a..."), { kind: "text", text: ", " }, link("example.com/an…", other)];
    assert.equal(textOf(...(parts as Part[])), `${URL}, ${other}`);
  });
});
