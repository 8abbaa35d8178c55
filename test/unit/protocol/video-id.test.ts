/** The names of a video: which inputs are accepted, and which are refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { RelayError } from "../../../src/protocol/errors.ts";
import { parseVideoId } from "../../../src/protocol/video-id.ts";
import { anyText } from "../../support/any-text.ts";
import { workOf } from "../../support/work.ts";

const ID = "a-B_3456789";

const ACCEPTED: Record<string, string[]> = {
  "a bare id, with spaces around it": [ID, `  ${ID}\n`, "-----------", "___________"],
  "a watch address with its parameters in any order": [
    `https://www.youtube.com/watch?v=${ID}`,
    `https://www.youtube.com/watch?list=PL123&t=42s&v=${ID}&index=2`,
    `https://www.youtube.com/watch/?v=${ID}#t=1m`,
    `https://www.youtube.com/watch_popup?v=${ID}`,
    `https://www.youtube.com/?v=${ID}`,
    `https://www.youtube.com?v=${ID}`,
    `https://www.youtube.com/watch/${ID}`,
    `https://www.youtube.com/watch?feature=share&amp;v=${ID}`,
  ],
  "an address without scheme, of either scheme, in capitals, with the default port": [
    `www.youtube.com/watch?v=${ID}`,
    `//youtube.com/watch?v=${ID}`,
    `http://youtube.com/watch?v=${ID}`,
    `HTTPS://WWW.YouTube.COM/watch?v=${ID}`,
    `https://www.youtube.com:443/watch?v=${ID}`,
  ],
  "the short hosts": [
    `https://youtu.be/${ID}`,
    `youtu.be/${ID}?si=abc&t=3`,
    `y2u.be/${ID}/`,
    `youtu.be/watch?v=${ID}`,
  ],
  "the paths that end in the id": ["live", "shorts", "embed", "v", "e", "w"].map(
    (path) => `https://www.youtube.com/${path}/${ID}?feature=share`,
  ),
  "the chat's own addresses": [
    `https://www.youtube.com/live_chat?is_popout=1&v=${ID}`,
    `https://www.youtube.com/live_chat_replay?v=${ID}&continuation=abc`,
    `https://studio.youtube.com/video/${ID}/livestreaming`,
    `https://studio.youtube.com/live_chat?is_popout=1&v=${ID}`,
  ],
  "the other hosts": [
    "m.youtube.com",
    "music.youtube.com",
    "gaming.youtube.com",
    "www.youtubekids.com",
    "www.youtube-nocookie.com",
    "youtube.googleapis.com",
  ].map((host) => `https://${host}/watch?v=${ID}`),
  "the page in the fragment": [
    `https://www.youtube.com/#!v=${ID}`,
    `https://m.youtube.com/#/watch?v=${ID}&feature=x`,
    `https://www.youtube.com/watch#!v=${ID}`,
  ],
  "an address with what stands around it": [
    `https://www.youtube.com/watch?v=${ID}?si=AbC-dEf`,
    `https://youtu.be/${ID}&t=5`,
    `https://www.youtube.com/live/${ID}&feature=share`,
    `<https://youtu.be/${ID}>`,
    `< https://youtu.be/${ID} >`,
    `https://youtu.be/${ID})`,
    `https://youtu.be/${ID}],`,
    `https://youtu.be/${ID};`,
    `https://youtu.be/${ID}"`,
    `https://youtu.be/${ID}’`,
    `https://www.youtube.com/watch?v=${ID}/`,
    `https://www.youtube.com/watch?v=${ID}>&t=5`,
    `https://www.youtube.com/watch?v=${ID}%3Fsi=x`,
    `https://m.youtu.be/${ID}`,
    `vnd.youtube:${ID}&t=5`,
  ],
  "a bare id with the rest of its address": ["?si=x", "&t=5", "#t=5", "/", "/live", ">", ">,"].map(
    (rest) => `${ID}${rest}`,
  ),
  "an address or an id between characters that nobody sees": [
    `\u200b${ID}\u200b`,
    `\u202ahttps://youtu.be/${ID}\u202c`,
    `\ufeff https://www.youtube.com/watch?v=${ID}\u200e\u2069 \u00ad`,
    `<\u2066https://youtu.be/${ID}\u2069>`,
  ],
  "the pages of sign-in and consent": [
    `https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D${ID}%26cbrd%3D1&gl=DE`,
    `https://consent.youtube.com/ml?gl=NL&continue=https://www.youtube.com/live/${ID}`,
    `https://www.youtube.com/signin?action_handle_signin=true&next=%2Fwatch%3Fv%3D${ID}`,
    `https://m.youtube.com/signin?next=https%3A%2F%2Fyoutu.be%2F${ID}`,
  ],
  "one address within another": [
    `https://www.youtube.com/attribution_link?a=x&u=%2Fwatch%3Fv%3D${ID}%26feature%3Dshare`,
    `https://www.youtube.com/oembed?url=https%3A%2F%2Fyoutu.be%2F${ID}&format=json`,
    `https://www.youtube.com/redirect?event=x&q=https%3A%2F%2Fwww.youtube.com%2Flive%2F${ID}`,
  ],
  "the app's link": [`vnd.youtube:${ID}`, `vnd.youtube://${ID}?vndapp=x`],
};

const REFUSED: Record<string, string[]> = {
  "nothing, words, an id of another length or alphabet": [
    "",
    "   ",
    "live",
    ID.slice(1),
    `${ID}0`,
    "a-B_34567é9",
    "../../etc/pas",
  ],
  "an address whose id has another length": [
    `https://www.youtube.com/watch?v=${ID}0`,
    `https://youtu.be/${ID}0`,
    `https://www.youtube.com/live/${ID.slice(1)}`,
    `https://www.youtube.com/watch?v=${ID}%20`,
  ],
  "an address that looks like the host's": [
    `https://youtube.com.evil.example/watch?v=${ID}`,
    `https://notyoutube.com/watch?v=${ID}`,
    `https://evil.example/www.youtube.com/watch?v=${ID}`,
    `https://www.youtube.com@evil.example/watch?v=${ID}`,
    `https://user@www.youtube.com/watch?v=${ID}`,
    `https://evil.example\\@www.youtube.com/watch?v=${ID}`,
    `https://www.youtube%2ecom/watch?v=${ID}`,
    `https://www.ｙoutube.com/watch?v=${ID}`,
    `https://[::1]/watch?v=${ID}`,
    `https://www.youtube.com:8080/watch?v=${ID}`,
    `ftp://www.youtube.com/watch?v=${ID}`,
    `javascript://www.youtube.com/watch?v=${ID}`,
    `https://www.youtube.com/redirect?q=https%3A%2F%2Fevil.example%2Fwatch%3Fv%3D${ID}`,
  ],
  "addresses within addresses within addresses": [
    `https://www.youtube.com/redirect?q=${encodeURIComponent(`https://www.youtube.com/redirect?q=https%3A%2F%2Fyoutu.be%2F${ID}`)}`,
  ],
  "a name with characters within that nobody sees": [
    `${ID.slice(0, 5)}\u200b${ID.slice(5)}`,
    `${ID}\u200b?si=x`,
    `${ID}?si=\u200bx`,
    `https://youtu.be/${ID}\u200b?si=x`,
    `https://www.youtube.com/watch?v=${ID}\u200e&t=5`,
    `https://you\u200btube.com/watch?v=${ID}`,
    `https://youtu.be/${ID}%E2%80%8B?t=5`,
  ],
  "a name with more words": [
    `${ID} live`,
    `https://youtu.be/${ID} live`,
    `watch https://youtu.be/${ID}`,
    `${ID}?a b`,
  ],
  "consent and sign-in for other sites": [
    `https://consent.youtube.com/m?continue=https%3A%2F%2Fevil.example%2Fwatch%3Fv%3D${ID}`,
    `https://consent.youtube.com/m?v=${ID}`,
    `https://www.youtube.com/signin?next=%2F%2Fevil.example%2Fwatch%3Fv%3D${ID}`,
    `https://consent.google.com/m?continue=https%3A%2F%2Fwww.youtube.com%2Fwatch%3Fv%3D${ID}`,
  ],
  "what names no video": [
    "https://www.youtube.com/",
    "https://www.youtube.com/playlist?list=PL0123456789",
    "https://www.youtube.com/watch?list=PL0123456789",
    "https://www.youtube.com/watch?v=",
    "https://www.youtube.com/embed/videoseries?list=PL0123456789",
    "https://www.youtube.com/embed/live_stream?channel=UC0123456789",
    "https://www.youtube.com/@somebody/live",
    "https://www.youtube.com/channel/UC0123456789/live",
    "https://www.youtube.com/live_chat_replay?continuation=abc",
    `https://www.youtube.com/${ID}`,
    "https://www.youtube.com/constructor/abcdefghijk",
    "https://youtu.be/",
    "vnd.youtube:",
  ],
  "more than 2048 characters": [
    `https://www.youtube.com/watch?v=${ID}&x=${"x".repeat(2048)}`,
    " ".repeat(5_000_000),
  ],
};

describe("the parser of video ids", () => {
  for (const [form, inputs] of Object.entries(ACCEPTED)) {
    it(`accepts ${form}`, () => {
      for (const input of inputs)
        assert.equal(parseVideoId(input), ID.length === input.trim().length ? input.trim() : ID, input);
    });
  }

  for (const [form, inputs] of Object.entries(REFUSED)) {
    it(`refuses ${form}`, () => {
      for (const input of inputs) assert.throws(() => parseVideoId(input), isRefusal, input.slice(0, 200));
    });
  }

  it("a refusal names the fault and the accepted forms", () => {
    const messageOf = (input: string): string => {
      try {
        return parseVideoId(input);
      } catch (error) {
        return String(error);
      }
    };
    assert.match(
      messageOf("https://evil.example/watch?v=x"),
      /host that is not YouTube's.*watch\?v=ID, youtu\.be\/ID/,
    );
    assert.match(messageOf(`https://youtu.be/${ID}0`), /not 11 characters/);
    assert.match(
      messageOf(`\u200e <https://youtu.be/a\u200bb\u202e\u0000c\u2028d>\u200b`),
      /videoId contains an invisible character: “https:\/\/youtu\.be\/aU\+200BbU\+202EU\+0000cU\+2028d”\. Send/,
    );
    assert.match(messageOf("\u200bnope\u200b"), /neither a video id of 11 .*: “nope”\. Send/);
    assert.match(messageOf("x".repeat(3000)), /longer than 2048 characters: “x{60}…”\. Send/);
    assert.match(messageOf("https://www.youtube.com/playlist?list=PL0123456789"), /without a video id/);
    const channels = [
      "@somebody",
      "@somebody/live",
      "youtube.com/@somebody/live",
      "https://youtube.com/channel/UC01234",
      "UCgmPnx-EEeOrZSg5Tiw7ZRQ",
    ];
    for (const channel of [...channels, "https://www.youtube.com/user/somebody", "youtube.com/c/some"])
      assert.match(
        messageOf(channel),
        /is a channel.*as channel=…, or send the URL of one of its streams/,
        channel,
      );
  });

  it("takes a bounded time for any number of spaces and invisible characters within a name", () => {
    const work = (name: string) => workOf(() => assert.throws(() => parseVideoId(name)));
    for (const character of [" ", "\u200b"]) {
      work("a name");
      assert.ok(work(`a${character.repeat(2000)}b`) < 5000, character);
    }
  });

  it("any string gives 11 id characters or INVALID_VIDEO_ID", () => {
    const pieces = fc.constantFrom(
      "https://",
      "www.youtube.com",
      "youtu.be",
      "/",
      "watch",
      "?v=",
      "&",
      "#",
      "%",
      "!",
      "u=",
      ID,
    );
    fc.assert(
      fc.property(
        fc.oneof(
          anyText,
          fc.array(pieces).map((parts) => parts.join("")),
        ),
        (input) => {
          try {
            return /^[\w-]{11}$/.test(parseVideoId(input));
          } catch (error) {
            return isRefusal(error);
          }
        },
      ),
      { seed: 1, numRuns: 2000 },
    );
  });
});

function isRefusal(error: unknown): boolean {
  return error instanceof RelayError && error.code === "INVALID_VIDEO_ID";
}
