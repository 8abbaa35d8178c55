/**
 * Hostile answers to chat calls: some unusable as a whole, some with actions that are absurd, some only odd.
 */
import type { JsonObject } from "../../simulator/plain-json.ts";
import { adding, COMMON, PAID } from "./chat-items.ts";
import type { HostileAnswer } from "./hostile-call.ts";
import { filled, MEGABYTE, nested, saying, TOO_MANY } from "./hostile-content.ts";

const JSON_TYPE = "application/json; charset=utf-8";
const chat = (members: string): HostileAnswer =>
  saying(`{"responseContext":{},"continuationContents":{"liveChatContinuation":{${members}}}}`, JSON_TYPE);
const token = (continuation: string): string =>
  `"continuations":${JSON.stringify([{ timedContinuationData: { timeoutMs: 5, continuation } }])}`;
const removals = (count: number): string =>
  Array.from({ length: count }, (_, i) => `{"removeChatItemAction":{"targetItemId":"a${i}"}}`).join();

/** No batch, in no room and for no caller. */
export const UNUSABLE: Readonly<Record<string, HostileAnswer>> = {
  "an action that nests half a million deep": chat(`${token("next")},"actions":[${nested(TOO_MANY)}]`),
  "an answer that nests half a million deep": saying(nested(TOO_MANY), JSON_TYPE),
  "half a million actions": chat(`${token("next")},"actions":[${"{},".repeat(TOO_MANY)}{}]`),
  "more deletions than an answer may have": chat(`${token("next")},"actions":[${removals(10_001)}]`),
  "more deletions in one wrapper than an answer may have": chat(
    `${token("next")},"actions":[{"replayChatItemAction":{"actions":[${removals(10_001)}]}}]`,
  ),
  "half a million keys": chat(`${token("next")},"actions":[{${keys(TOO_MANY)}}]`),
  "a token of a megabyte": chat(token(filled("A", MEGABYTE))),
  "a token longer than can be sent back": chat(token("A".repeat(8193))),
  "a token of binary": chat(token("\u0000\u0001\u0080ÿ")),
  "a token of half a character": chat(token("next\ud800")),
  "braces alone": saying(filled("{"), JSON_TYPE),
  "nothing but NULs": saying(filled("\0"), JSON_TYPE),
  "white space alone": saying(filled(" "), JSON_TYPE),
  "UTF-16": saying(Buffer.from('{"responseContext":{}}', "utf16le"), JSON_TYPE),
  "invalid UTF-8": saying(Buffer.alloc(MEGABYTE, 0xff), JSON_TYPE),
  "an alphabet of its own": saying(
    Buffer.from("7b22726573706f6e7365", "hex"),
    "application/json; charset=cp037",
  ),
};

function keys(count: number): string {
  return Array.from({ length: count }, (_, i) => `"${i.toString(36)}":1`).join();
}

interface Absurd {
  /** A string is JSON. */
  actions: readonly unknown[];
  /** The ids of the resulting messages. */
  ids: readonly string[];
}

const many = <T>(count: number, one: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => one(i));
const long = filled("long ", MEGABYTE);
const address = `https://example.org/${"a".repeat(2000)}`;
const text = (own: object): object =>
  adding({
    liveChatTextMessageRenderer: { ...COMMON, id: "absurd", message: { runs: [{ text: "hi" }] }, ...own },
  });
const runs = (...runs: unknown[]): object => text({ message: { runs } });
/** As text: its many objects would be marked in each collection of garbage. */
const sent = (action: unknown): Absurd => ({ actions: [JSON.stringify(action)], ids: ["absurd"] });
const unsent = (...actions: unknown[]): Absurd => ({ actions, ids: [] });
const thumbnails = many(50_000, (i) => ({ url: `//img.example/${i}`, width: i }));
const badge = { liveChatAuthorBadgeRenderer: { icon: { iconType: "OWNER" }, tooltip: "x".repeat(30) } };
const link = { text: "there", navigationEndpoint: { urlEndpoint: { url: address } } };
const emoji = { emoji: { emojiId: "UCx/y", shortcuts: [":y:"], image: { thumbnails: [{ url: address }] } } };

export const ABSURD: Readonly<Record<string, Absurd>> = {
  "an action that nests a hundred thousand deep": { actions: [nested(100_000)], ids: [] },
  "items within items, fifty thousand deep": {
    actions: [nested(50_000, '{"addChatItemAction":{"item":', "}}")],
    ids: [],
  },
  "a text of two megabytes": sent(runs({ text: long + long })),
  "a hundred thousand runs": sent(runs(...many(100_000, () => ({ text: "run" })))),
  "a hundred thousand runs of nothing": sent(runs(...many(100_000, () => ({ text: "" })), { text: "end" })),
  "six hundred long links": sent(runs(...many(600, () => link))),
  "six hundred emojis with long addresses": sent(runs(...many(600, () => emoji))),
  "twenty thousand shortcuts": sent(
    runs({ emoji: { isCustomEmoji: true, shortcuts: many(20_000, () => ":x:") } }),
  ),
  "an author of two megabytes": sent(
    text({ authorName: { simpleText: long }, authorExternalChannelId: long }),
  ),
  "fifty thousand badges": sent(text({ authorBadges: many(50_000, () => badge) })),
  "fifty thousand pictures": sent(text({ authorPhoto: { thumbnails } })),
  "an address of a megabyte": sent(text({ authorPhoto: { thumbnails: [{ url: `https://a/${long}` }] } })),
  "an amount of a megabyte": sent(
    adding({
      liveChatPaidMessageRenderer: {
        ...PAID.liveChatPaidMessageRenderer,
        id: "absurd",
        purchaseAmountText: { simpleText: filled("1.", MEGABYTE) },
        bodyBackgroundColor: 1e300,
        headerBackgroundColor: -1,
      },
    }),
  ),
  "times beyond all time": {
    actions: [1e308, -1, "9".repeat(400), "1e400", Number.MAX_SAFE_INTEGER, "NaN"].map((timestampUsec, i) =>
      text({ id: `time-${i}`, timestampUsec }),
    ),
    ids: many(6, (i) => `time-${i}`),
  },
  "places in a video beyond all videos": {
    actions: [1e308, -1e308, "9999999999999999", "soon", null].map((videoOffsetTimeMsec, i) => ({
      replayChatItemAction: { videoOffsetTimeMsec, actions: [text({ id: `place-${i}` })] },
    })),
    ids: many(5, (i) => `place-${i}`),
  },
  "half characters, NULs and line separators": sent(
    runs({ text: "\ud800 \udfff \0 \u2028 \u2029 \r\n\n data: x \u202e \ufeff" }),
  ),
  "an id of a megabyte": unsent(text({ id: filled("i", MEGABYTE) })),
  "ids of control and half characters": unsent(
    text({ id: "a\0b" }),
    text({ id: "a\nid: 7" }),
    text({ id: "\ud800" }),
  ),
  "kinds of a megabyte": unsent(...many(3, (i) => ({ [`${filled("k", MEGABYTE)}${i}`]: {} }))),
  "nine thousand kinds": unsent(...many(9000, (i) => ({ [`kind${i}Action`]: {} }))),
  "names of the language": unsent(
    '{"__proto__":{"polluted":true}}',
    '{"constructor":{"prototype":{"polluted":true}}}',
    '{"addChatItemAction":{"item":{"__proto__":{"id":"polluted"}}}}',
    '{"addChatItemAction":{"__proto__":{"item":{"liveChatTextMessageRenderer":{"id":"polluted"}}}}}',
  ),
  "holders within holders": unsent(nested(60, '{"addChatItemAction":{"item":', "}}")),
  "a poll of ten thousand choices": {
    actions: [
      JSON.stringify({
        updateLiveChatPollAction: {
          pollToUpdate: {
            pollRenderer: {
              liveChatPollId: "absurd",
              choices: many(10_000, () => ({ text: { simpleText: "choice" }, voteRatio: 1e308 })),
              header: { pollHeaderRenderer: { pollQuestion: { runs: many(600, () => link) } } },
            },
          },
        },
      }),
    ],
    ids: ["poll:absurd:MFGj27qUlJhr"],
  },
};

/** What changes a chat without spoiling it. */
export const TAKEN: Readonly<Record<string, (chat: JsonObject) => JsonObject>> = {
  "a wait of 1e308 ms": waiting(1e308),
  "a wait that is no number": waiting("NaN"),
  "a wait below nothing": waiting(-1e308),
  "a wait of a megabyte": waiting("9".repeat(MEGABYTE)),
  "ten thousand continuations for seeking": ({ continuations, ...rest }) => ({
    ...rest,
    continuations: [
      ...many(10_000, () => ({ playerSeekContinuationData: { continuation: "x" } })),
      ...(continuations as unknown[]),
    ],
  }),
  "a megabyte of something else": (chat) => ({ somethingElse: filled("x", MEGABYTE), ...chat }),
};

function waiting(timeoutMs: unknown): (chat: JsonObject) => JsonObject {
  return ({ continuations, ...rest }) => {
    const changed = JSON.stringify(continuations, (key, value) => (key === "timeoutMs" ? timeoutMs : value));
    return { ...rest, continuations: JSON.parse(changed) };
  };
}
