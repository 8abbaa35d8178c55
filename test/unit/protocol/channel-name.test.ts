/** The names of a channel: which inputs mean the same one, and which are refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseChannel } from "../../../src/protocol/channel.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { anyText, sign } from "../../support/any-text.ts";

const ID = "UCa-b_0123456789abcdefgh";

/** The name, and the inputs that all mean it. */
const ACCEPTED: Record<string, string[]> = {
  "@some.body_1-2": [
    "@some.body_1-2",
    "  @Some.Body_1-2\n",
    "@SOME.BODY_1-2/live",
    "youtube.com/@some.body_1-2",
    "//m.youtube.com/@Some.body_1-2/",
    "HTTPS://WWW.YouTube.COM/@some.body_1-2/live?hl=de#x",
    "http://music.youtube.com:80/@some.body_1-2/streams",
    "https://www.youtube.com/@some.body_1-2/featured?view_as=subscriber",
    "https://www.youtube.com/%40some.body_1-2",
  ],
  "@日本語チャンネル": [
    "@日本語チャンネル",
    "https://www.youtube.com/@%E6%97%A5%E6%9C%AC%E8%AA%9E%E3%83%81%E3%83%A3%E3%83%B3%E3%83%8D%E3%83%AB/live",
  ],
  "@élan·ü": ["@Élan·Ü", "@E\u0301lan·U\u0308", "youtube.com/@%C3%89lan%C2%B7%C3%9C"],
  [ID]: [
    ID,
    `${ID}/live`,
    `channel/${ID}`,
    `www.youtube.com/channel/${ID}`,
    `https://studio.youtube.com/channel/${ID}/videos`,
    `https://studio.youtube.com/channel/${ID}`,
    `https://studio.youtube.com/channel/${ID}/livestreaming/manage?c=x`,
    `\u202ahttps://studio.youtube.com/channel/${ID}\u202c`,
    `https://gaming.youtube.com/channel/${ID}/live?app=desktop`,
  ],
  "@می\u200cخواهم": [
    "@می\u200cخواهم",
    "\u200f@می\u200cخواهم\u200c",
    "youtube.com/@می\u200cخواهم/live",
    "https://www.youtube.com/@%D9%85%DB%8C%E2%80%8C%D8%AE%D9%88%D8%A7%D9%87%D9%85",
  ],
  "@name": [
    "＠name",
    "\u200b@name\u200b",
    "<https://www.youtube.com/@name>",
    "https://www.youtube.com/＠Name?si=x",
    "https://www.youtube.com/%EF%BC%A0name",
    "https://www.youtube.com/@name)",
    "https://www.youtube.com/@name&x=1",
    "https://consent.youtube.com/m?continue=https%3A%2F%2Fwww.youtube.com%2F%40name%2Flive&gl=DE",
    "https://www.youtube.com/signin?next=%2F%40name",
  ],
  "user/SomeBody": [
    "user/SomeBody",
    "youtube.com/user/SomeBody",
    "https://m.youtube.com/user/SomeBody/live?x",
  ],
  "c/SomeBody": ["c/SomeBody", "youtube.com/c/SomeBody", "https://m.youtube.com/c/SomeBody/live"],
  "c/café": ["https://www.youtube.com/c/caf%C3%A9/live"],
};

const REFUSED: Record<string, [problem: RegExp, inputs: string[]]> = {
  "nothing, words and ids of another form": [
    /neither a handle nor the id or URL of a channel/,
    [
      "",
      "  ",
      "somebody",
      "dQw4w9WgXcQ",
      ID.slice(1),
      `${ID}x`,
      ID.slice(0, -1),
      "channel",
      "c/",
      "c/..",
      "c/../live",
      "c/a b",
    ],
  ],
  "a handle with other or too many characters": [
    /has a handle that is not 1 to 30 letters/,
    [
      "@",
      "@foo bar",
      "@name\u200c/live",
      "@\u200c\u200c/live",
      "@foo/bar/live",
      "@a%2F..%2Fb",
      "@<script>",
      `@${"a".repeat(31)}`,
      `@${"İ".repeat(16)}`,
      "@foo\u0000",
    ],
  ],
  "a URL that is not a channel's": [
    /neither a handle nor the id or URL of a channel/,
    [
      "https://www.youtube.com/",
      "https://www.youtube.com/somebody",
      "https://www.youtube.com/watch?v=dQw4w9WgXcQ",
      `https://www.youtube.com/channel/${ID}/live/more`,
      `https://www.youtube.com/embed/live_stream?channel=${ID}`,
      "https://www.youtube.com@evil.example/@somebody",
      "https://user@www.youtube.com/@somebody",
      "javascript://www.youtube.com/@somebody",
    ],
  ],
  "another host": [
    /host that is not YouTube's/,
    [
      "https://youtube.com.evil.example/@somebody",
      "notyoutube.com/@somebody",
      `https://evil.example/www.youtube.com/channel/${ID}`,
      "https://youtu.be/@somebody",
    ],
  ],
  "characters that nobody sees": [
    /contains an invisible character/,
    [
      "@na\u200bme",
      "@na\u034fme",
      "youtube.com/@na\u200eme",
      "c/na\u200cme",
      `${ID.slice(0, 5)}\u200b${ID.slice(5)}`,
      "youtube.com/@na%E2%80%8Bme",
    ],
  ],
  "a percent-encoding that is not UTF-8": [/not UTF-8/, ["@%E6%97", "youtube.com/@%", "c/%FF"]],
  "more than 2048 characters": [/longer than 2048/, [`@${"a".repeat(2048)}`, " ".repeat(5_000_000)]],
};

describe("the parser of channel names", () => {
  for (const [name, inputs] of Object.entries(ACCEPTED)) {
    it(`${name} is one channel, however it is written`, () => {
      for (const input of [name, ...inputs]) assert.equal(parseChannel(input), name, input);
    });
  }

  for (const [what, [problem, inputs]] of Object.entries(REFUSED)) {
    it(`refuses ${what} as a channel, and says what it accepts`, () => {
      for (const input of inputs) {
        assert.throws(
          () => parseChannel(input),
          (error) => {
            assert.ok(isRefusal(error));
            assert.match(String(error), problem, input.slice(0, 100));
            assert.match(String(error), /: channel .*@name, a channel id .*youtube\.com\/c\/name/);
            return true;
          },
        );
      }
    });
  }

  it("asks whether a name without @ was meant", () => {
    for (const [name, meant] of [
      ["LofiGirl", " Did you mean @LofiGirl?"],
      [" <Lofi Girl> ", " Did you mean @LofiGirl?"],
      ["https://example.org/LofiGirl", ""],
      ["Lofi,Girl", ""],
    ])
      assert.throws(
        () => parseChannel(name ?? ""),
        ({ message }: RelayError) => message.endsWith(` each with or without /live.${meant}`),
      );
  });

  it("a refusal quotes the rest of the name", () => {
    assert.throws(
      () => parseChannel("<@na\u200bme\u202e>\u200b"),
      /channel contains an invisible character: “@naU\+200Bme”\. Send a handle/,
    );
  });

  it("any string gives either INVALID_REQUEST or a name that gives itself", () => {
    const pieces = fc.constantFrom(
      "https://",
      "www.youtube.com",
      "/",
      "@",
      "c",
      "channel",
      "live",
      "%",
      "?",
      ID,
    );
    const inputs = fc.oneof(
      anyText,
      fc.array(pieces).map((parts) => parts.join("")),
      fc.string({ unit: sign }).map((text) => `@${text}`),
    );
    fc.assert(
      fc.property(inputs, (input) => {
        try {
          const name = parseChannel(input);
          return parseChannel(name) === name && /^(?:@|UC|c\/|user\/)[^/\s]+$/.test(name);
        } catch (error) {
          return isRefusal(error);
        }
      }),
      { seed: 1, numRuns: 2000 },
    );
  });
});

function isRefusal(error: unknown): error is RelayError {
  return error instanceof RelayError && error.code === "INVALID_REQUEST";
}
