/** The words of an upstream's error, in which the secrets of its request are blanked. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { readChatAnswer } from "../../../src/upstream/answer.ts";

const KEY = "AIzaSyMade-up_key";
const TOKEN = "0ofMyANhGiBDaWtxJ3dvT2Ca%3D%3D";

/** The words of the error with which a call with these values fails. */
function wordsOf(message: string, { key = KEY, continuation = TOKEN } = {}): string {
  const answer = { status: 503, text: JSON.stringify({ error: { message } }), receivedAt: 0, tookMs: 0 };
  const request = {
    method: "POST" as const,
    url: `https://upstream.example/call?key=${encodeURIComponent(key)}&prettyPrint=false`,
    headers: { "x-youtube-client-version": "2.0" },
    body: JSON.stringify({ continuation }),
  };
  try {
    readChatAnswer({ ...answer, header: () => undefined }, request);
  } catch (error) {
    return (error as Error).message;
  }
  return assert.fail("read as an answer");
}

for (const [form, written] of [
  ["as it was sent", TOKEN],
  ["encoded once more", encodeURIComponent(TOKEN)],
  ["decoded", decodeURIComponent(TOKEN)],
] as const)
  it(`blanks a token ${form}, wherever it is`, () => {
    assert.equal(wordsOf(`Not good: ${written}. (${written})`), "HTTP 503: Not good: …. (…)");
  });

it("leaves no beginning of a token behind where the words are cut", () => {
  const words = wordsOf(`${"so ".repeat(64)}${TOKEN.repeat(10)}`, { continuation: TOKEN.repeat(10) });
  assert.ok(words.endsWith("so …"), words);
});

it("blanks a token that is not a valid encoding", () => {
  assert.equal(wordsOf("100%-of-it is spent", { continuation: "100%-of-it" }), "HTTP 503: … is spent");
});

it("leaves short values, which may be a part of any word", () => {
  const words = "The version 2.0 is an argument of page 2.0.";
  assert.equal(wordsOf(words, { key: "", continuation: "version" }), `HTTP 503: ${words}`);
});
