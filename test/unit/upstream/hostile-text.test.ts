/**
 * Reading takes linear time in the size of its input, even if that was crafted, and kept values do not hold
 * on to the rest. Quadratic reading of such texts takes from minutes to days.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readChatAnswer } from "../../../src/upstream/answer.ts";
import { readChatPage } from "../../../src/upstream/page/chat-page.ts";
import {
  credentialsInPage,
  credentialsInServiceWorker,
  credentialsInServiceWorkerData,
} from "../../../src/upstream/page/credentials.ts";
import { UpstreamError } from "../../../src/upstream/upstream-error.ts";
import { filled, PAGES, SCRIPTS } from "../../support/hostile-content.ts";
import { heldMb } from "../../support/memory.ts";
import { readMessages, UTC } from "../../support/read-messages.ts";
import { workOf } from "../../support/work.ts";

const MEGABYTE = 1024 * 1024;
/** Long enough that quadratic reading takes hundreds of passes; linear reading takes up to 25. */
const LENGTH = MEGABYTE / 2;
const MOST_PASSES = 150;
/** The work of a pass over a character that is known to be linear, the mean of many. */
const PASS =
  workOf(() => {
    for (let i = 0; i < 20; i++) JSON.stringify(filled("é\n", LENGTH));
  }) /
  (20 * LENGTH);
const VIDEO = "made-up_vid";
const READING = { receivedAt: 0, timeOfDay: UTC };
const REQUEST = { method: "POST", url: "https://upstream.example/?key=Made-up_key", headers: {} } as const;

/** Each tried against every sign that something looks for in a text. */
const TEXTS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries({ ...SCRIPTS, ...PAGES }).map(([name, text]) => [name, String(text)])),
  ...Object.fromEntries(
    [
      "<",
      "<a",
      "{",
      '{"',
      "\\",
      "\\x7b",
      '"',
      "'",
      " ",
      "\n",
      "[[",
      "é",
      "ytInitialData",
      "ytInitialData=",
      "ytInitialData = {",
      "ytInitialData'",
      "ytInitialData ] = {}",
      `ytInitialData = "'`,
      "ytInitialPlayerResponse={",
      'ytInitialPlayerResponse={"a":1}',
      'ytInitialData = {"',
      'ytInitialData = {"a":1};',
      "ytcfg.set(",
      'ytcfg.set({"INNERTUBE_API_KEY":"',
      `ytcfg.set(INNERTUBE_API_KEY:'VISITOR_DATA: "`,
      "ytcfg.set(</script",
      "INNERTUBE_API_KEY",
      '"INNERTUBE_API_KEY"',
      `INNERTUBE_API_KEY:"INNERTUBE_API_KEY:'`,
      'INNERTUBE_API_KEY:"\\',
      'VISITOR_DATA, "é',
      "<title> ",
      'action="https://consent.',
      "g-recaptch",
      "id='captcha-for",
    ].map((again) => [`${again} again and again`, filled(again, LENGTH)]),
  ),
  "a name and spaces behind it": `"INNERTUBE_API_KEY" ${filled(" ", LENGTH)}`,
  "data and spaces behind it": `ytInitialData${filled(" ", LENGTH)}`,
};

const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  script: credentialsInServiceWorker,
  "script's data": credentialsInServiceWorkerData,
  "page's configuration": (text) => credentialsInPage(`ytcfg.set(${text}`),
  page: (text) => readChatPage(text, VIDEO, "all"),
  "chat answer": (text) => answerTo(text),
  "error of an answer": (text) => answerTo(JSON.stringify({ error: { message: text } })),
  "message of an answer": (text) => answerTo(JSON.stringify(chatWith(absurd(text.slice(0, LENGTH / 4))))),
};

const chatWith = (item: object): object => ({
  continuationContents: {
    liveChatContinuation: {
      actions: [{ addChatItemAction: { item: { liveChatDonationAnnouncementRenderer: item } } }],
    },
  },
});

/** The same text for whatever an item can say. */
function absurd(text: string): object {
  const said = { runs: [{ text, navigationEndpoint: { urlEndpoint: { url: text } } }, { text }] };
  const authorBadges = [{ liveChatAuthorBadgeRenderer: { icon: { iconType: text }, tooltip: text } }];
  return {
    id: text,
    authorName: said,
    text: said,
    subtext: said,
    timestampUsec: text,
    authorBadges,
    [text]: text,
  };
}

function answerTo(text: string): void {
  try {
    const answer = { status: 200, text, header: () => undefined, receivedAt: 0, tookMs: 0 };
    const read = readChatAnswer(answer, REQUEST);
    if (read.kind === "batch") readMessages(read.actions, READING);
  } catch (error) {
    assert.ok(error instanceof UpstreamError);
    assert.ok(error.message.length < 250);
  }
}

describe("reading takes linear time", () => {
  for (const [reader, read] of Object.entries(READERS)) {
    it(`of the ${reader}, whatever its input`, () => {
      for (const text of Object.values(TEXTS)) {
        // A short text costs its first calls, too.
        const passes = workOf(() => read(text)) / (PASS * Math.max(text.length, LENGTH));
        assert.ok(passes < MOST_PASSES, `${Math.round(passes)} passes`);
      }
    });
  }
});

describe("a kept value does not hold the text in which it was found", () => {
  /** Two of the texts: the engine remembers what an expression was last tried on. */
  const MOST_KEPT_MB = 5;
  /** What twenty different texts of two megabytes leave behind, in megabytes. */
  function keptMb(find: (text: string, i: number) => unknown): number {
    const before = heldMb();
    // Made from bytes, a text is one piece, as an answer's is.
    const kept = Array.from({ length: 20 }, (_, i) => find(Buffer.alloc(2 * MEGABYTE, "x").toString(), i));
    const after = heldMb();
    assert.ok(kept.every((one) => one !== undefined));
    return after - before;
  }
  const configuration = (i: number): string =>
    `;ytcfg.set({"INNERTUBE_API_KEY":"AIzaSyMade-up-key-${i}","INNERTUBE_CLIENT_VERSION":"2.20260101.00.${i}","VISITOR_DATA":"Cgt-made-up-${i}"});`;

  it("credentials", () => {
    assert.ok(keptMb((text, i) => credentialsInServiceWorker(text + configuration(i))) < MOST_KEPT_MB);
    assert.ok(keptMb((text, i) => credentialsInPage(configuration(i) + text)) < MOST_KEPT_MB);
  });

  it("the kind and the sample of an unknown action, and a message's text", () => {
    const action = (text: string, i: number) =>
      readMessages([{ [`${text}${i}Action`]: { text } }], READING).dropped;
    assert.ok(keptMb(action) < MOST_KEPT_MB);
    const item = (text: string, i: number) => ({ id: `m${i}`, message: { runs: [{ text: text + i }] } });
    const message = (text: string, i: number) =>
      readMessages([{ addChatItemAction: { item: { liveChatTextMessageRenderer: item(text, i) } } }], READING)
        .messages[0];
    assert.ok(keptMb(message) < MOST_KEPT_MB);
  });
});
