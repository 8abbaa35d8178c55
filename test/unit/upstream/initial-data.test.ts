/** The data in the scripts of a watch page, among strings and code that look like it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { videoData } from "../../../src/upstream/page/initial-data.ts";

const DATA = { contents: { said: 'a } and a { in "quotes", a backslash \\, the end };</script>' } };
const JSON_TEXT = JSON.stringify(DATA);
const contentOf = (page: string) => videoData(page).content;

describe("the reader of initial data", () => {
  it("finds the data behind each form of its name", () => {
    for (const opening of [
      "var ytInitialData = ",
      "ytInitialData=",
      'window["ytInitialData"] = ',
      "window['ytInitialData']=",
      "window[ 'ytInitialData' ]  =\n  ",
    ]) {
      assert.deepEqual(contentOf(`<script>${opening}${JSON_TEXT};</script>`), DATA, opening);
    }
  });

  it("skips quotes, braces and script ends within strings", () => {
    const tricky = { contents: ['\\"', "\\\\", '{"', "};", "</script>", "\\u007b", "'", "\u2028"] };
    assert.deepEqual(
      contentOf(`ytInitialData = ${JSON.stringify(tricky)};var after = {"contents":1}`),
      tricky,
    );
  });

  it("takes the first candidate that is JSON and has contents", () => {
    const page = [
      "if (window.ytInitialData) use(ytInitialData);",
      "ytInitialData = null;",
      "ytInitialData = [1];",
      "ytInitialData = {contents: 'a script object'};",
      'ytInitialData = {"contents": 1,};',
      'ytInitialData = {"responseContext": {}};',
      'ytInitialData = {"continuationContents": 7};',
      'ytInitialData = {"contents": 8};',
    ].join("\n");
    assert.deepEqual(contentOf(page), { continuationContents: 7 });
  });

  /** An assignment within another person's text, in the forms that need no quote which JSON escapes. */
  const FORGED = { contents: "forged", playabilityStatus: "forged" };
  const FORGERIES = ["ytInitialData", "ytInitialPlayerResponse"].flatMap((name) => [
    `${name} = '${JSON.stringify(FORGED)}'`,
    `;</b>\n>var ${name} = '${JSON.stringify(FORGED).replaceAll('"', "\\x22")}';`,
    `window['${name}'] = '${JSON.stringify(FORGED)}'; don't`,
    `<script>var ${name} = ${JSON.stringify(FORGED)};</script>`,
  ]);

  it("ignores assignments within a string, another object or the page's text", () => {
    const player = { playabilityStatus: { status: "OK" } };
    for (const forged of FORGERIES) {
      const text = JSON.stringify(forged);
      const escaped = text.replaceAll("<", "\\u003c"); // a script ends at its end tag, even within a string
      const real = `var ytInitialPlayerResponse = ${JSON.stringify({ ...player, said: "X" }).replace('"X"', escaped)};`;
      const data = `var ytInitialData = ${JSON_TEXT};`;
      const plain = forged.replaceAll(/<\/?script>/g, "");
      for (const [where, page] of Object.entries({
        "the player's response": `<script>${real}</script><script>${data}</script>`,
        "an object of a call": `<script>ytcfg.set({"said": ${escaped}});</script><script>${real}${data}</script>`,
        "a script of data": `<script type="application/ld+json">{"said":${escaped}}</script><script>${real}${data}</script>`,
        "the page's text": `<title>${plain}</title><meta content="${plain}"><script>${real}${data}</script>`,
        "a template": `<script>const said = \`${escaped}\`;${real}${data}</script>`,
      })) {
        assert.deepEqual(contentOf(page), DATA, `${forged} in ${where}`);
        assert.deepEqual(
          videoData(page).player()?.playabilityStatus,
          player.playabilityStatus,
          `${forged} in ${where}`,
        );
      }
    }
  });

  it("a quote that opens no string, as in a comment, does not hide the next line", () => {
    assert.deepEqual(contentOf(`<script>// it doesn't\nvar ytInitialData = ${JSON_TEXT};</script>`), DATA);
  });

  it("a candidate that never ends does not hide the next one", () => {
    assert.deepEqual(contentOf(`ytInitialData = {"never": " closed; ytInitialData = ${JSON_TEXT}`), DATA);
  });

  it("resolves the escapes of the mobile site's string form", () => {
    const data = { contents: `it's "é" \\ \n / 😀 {}` };
    const escaped = JSON.stringify(data).replaceAll(/[^ \w]/g, (sign) => {
      if (sign === "\\") return "\\\\";
      if (sign === "'") return "\\'";
      if (sign === "/") return "\\/";
      const code = sign.charCodeAt(0).toString(16);
      return code.length > 2 ? `\\u${code.padStart(4, "0")}` : `\\x${code.padStart(2, "0")}`;
    });
    assert.match(escaped, /^\\x7b\\x22contents/);
    assert.deepEqual(contentOf(`var ytInitialData = '${escaped}';`), data);
    assert.deepEqual(contentOf(`var ytInitialData = "${escaped}";`), data);
  });

  it("a page without data gives none", () => {
    for (const page of [
      "",
      "<html></html>",
      "ytInitialData",
      "ytInitialData =",
      "ytInitialData = {",
      "ytInitialData = '",
    ]) {
      assert.equal(contentOf(page), undefined, page);
      assert.equal(videoData(page).player(), undefined, page);
    }
  });

  it("keys such as __proto__ stay data", () => {
    const data = contentOf('ytInitialData = {"__proto__": {"contents": 1}, "constructor": 2}');
    assert.equal(data, undefined);
    assert.equal(({} as Record<string, unknown>).contents, undefined);
  });
});
