/** The pages of the upstream that show a chat: where its continuations are, and which of them reads what. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BOUNDS } from "../../../src/upstream/bounds.ts";
import { namesVideo } from "../../../src/upstream/continuation.ts";
import { type ChatPage, readChatPage } from "../../../src/upstream/page/chat-page.ts";

const VIDEO = "made-up_vid";
const base64 = (text: string): string => Buffer.from(text, "latin1").toString("base64url");
/** Fields within fields, the id innermost, as real tokens hold it. */
const tokenFor = (videoId: string, tag: string): string => {
  const inner = base64(`\x0a\x0d\x0a\x0b${videoId}*'\x0a\x18UCmade-up-channel-id-000`);
  return `${base64(`\xd2\x87\xcc\xc8\x03\x80\x01\x1a${String.fromCharCode(inner.length)}${inner}%3D${tag}0\x01`)}%3D`;
};
const TOP = tokenFor(VIDEO, "top");
const ALL = tokenFor(VIDEO, "all");
const FIRST = tokenFor(VIDEO, "first");
/** What watch pages hold since 2025. */
const DEAD = "0ofMyAMSGgAwAYIBCAgBGAAgACgBqAEB";

const pageWith = (data: unknown, player?: unknown): string =>
  `<html><script>${player ? `var ytInitialPlayerResponse = ${JSON.stringify(player)};var meta;` : ""}</script>` +
  `<script>window["ytInitialData"] = ${JSON.stringify(data)};</script></html>`;
const popoutWith = (renderer: unknown): string => pageWith({ contents: { liveChatRenderer: renderer } });
const watchWith = (bar: unknown, player?: unknown): string =>
  pageWith({ contents: { twoColumnWatchNextResults: { results: [{}, [1]], conversationBar: bar } } }, player);

const offered = (kind: string, continuation: unknown): unknown => ({
  [kind]: { timeoutMs: 10, continuation },
});
const header = (selected: "top" | "all", top: unknown, all: unknown): unknown => ({
  liveChatHeaderRenderer: {
    viewSelector: {
      sortFilterSubMenuRenderer: {
        subMenuItems: [
          {
            title: "さいじょう",
            selected: selected === "top",
            continuation: offered("reloadContinuationData", top),
          },
          {
            title: "ぜんぶ",
            selected: selected === "all",
            continuation: offered("reloadContinuationData", all),
          },
        ],
      },
    },
  },
});
const renderer = (own: object = {}): object => ({
  continuations: [offered("timedContinuationData", FIRST)],
  header: header("top", TOP, ALL),
  actions: [{ addChatItemAction: {} }],
  ...own,
});
const chatIn = (html: string, view: "all" | "top" = "all") => {
  const page = readChatPage(html, VIDEO, view);
  assert.ok(page.chat, page.chat ? "" : page.why);
  return page.chat;
};
const whyIn = (html: string): string => {
  const page: ChatPage = readChatPage(html, VIDEO, "all");
  return page.chat ? assert.fail("has a chat") : page.why;
};

describe("the reader of chat pages", () => {
  it("finds a chat in popout, watch, mobile and continuation pages", () => {
    for (const html of [
      popoutWith(renderer()),
      watchWith({ liveChatRenderer: renderer() }),
      pageWith({ contents: {}, engagementPanels: [{ a: { content: { liveChatRenderer: renderer() } } }] }),
      pageWith({ continuationContents: { liveChatContinuation: renderer() } }),
    ]) {
      assert.deepEqual(chatIn(html), {
        chatType: "liveChatRenderer",
        continuation: ALL,
        view: "all",
        shown: "top",
        actions: [{ addChatItemAction: {} }],
      });
    }
  });

  it("recognises a replay by its renderer, its flag or its continuation", () => {
    for (const html of [
      pageWith({ contents: { liveChatReplayRenderer: renderer() } }),
      watchWith({ liveChatRenderer: renderer({ isReplay: true }) }),
      pageWith({
        continuationContents: {
          liveChatContinuation: { continuations: [offered("liveChatReplayContinuationData", FIRST)] },
        },
      }),
    ]) {
      assert.equal(chatIn(html).chatType, "liveChatReplayRenderer");
    }
    assert.equal(
      chatIn(watchWith({ liveChatRenderer: renderer({ isReplay: false }) })).chatType,
      "liveChatRenderer",
    );
  });

  it("starts from any kind of continuation except the one for seeking", () => {
    for (const kind of ["invalidation", "timed", "reload", "liveChatReplay", "brandNew"]) {
      const continuations = [
        offered("playerSeekContinuationData", TOP),
        offered(`${kind}ContinuationData`, FIRST),
      ];
      assert.equal(chatIn(popoutWith({ continuations })).continuation, FIRST, kind);
    }
    for (const continuations of [
      undefined,
      null,
      [],
      {},
      [null],
      [offered("playerSeekContinuationData", TOP)],
    ]) {
      assert.equal(readChatPage(popoutWith({ continuations }), VIDEO, "all").chat, undefined);
    }
    for (const token of ["", 7, null, "two words", "x".repeat(9000)]) {
      const html = popoutWith({ continuations: [offered("timedContinuationData", token)] });
      assert.equal(readChatPage(html, VIDEO, "all").chat, undefined);
    }
  });

  it("skips a renderer without a continuation in favour of one that has it", () => {
    const html = pageWith({ contents: { liveChatRenderer: {}, below: [{ liveChatRenderer: renderer() }] } });
    assert.equal(chatIn(html).continuation, ALL);
  });

  it("reads all messages by the view menu's second token if that token names the video", () => {
    const tokenWith = (all: unknown): string =>
      chatIn(popoutWith(renderer({ header: header("top", TOP, all) }))).continuation;
    assert.equal(tokenWith(ALL), ALL);
    assert.equal(tokenWith(DEAD), FIRST);
    assert.equal(tokenWith(tokenFor("another_vid", "all")), FIRST);
    assert.equal(tokenWith(null), FIRST);
    assert.equal(chatIn(popoutWith(renderer({ header: undefined }))).continuation, FIRST);
  });

  it("reads the selection by the page's own token, unless the page shows all messages", () => {
    const tokenWith = (selected: "top" | "all", top: unknown): string =>
      chatIn(popoutWith(renderer({ header: header(selected, top, ALL) })), "top").continuation;
    assert.equal(tokenWith("top", TOP), FIRST);
    assert.equal(tokenWith("all", TOP), TOP);
    assert.equal(tokenWith("all", DEAD), FIRST);
  });

  it("a page without actions has an empty backlog", () => {
    for (const actions of [undefined, null, {}, "x"]) {
      assert.deepEqual(chatIn(popoutWith(renderer({ actions }))).actions, []);
    }
  });

  it("a token names its video in plain text, in base64, or in base64 within base64", () => {
    assert.ok(namesVideo(`chat~${VIDEO}`, VIDEO));
    assert.ok(namesVideo(base64(`chat~${VIDEO}~1`), VIDEO));
    assert.ok(namesVideo(ALL, VIDEO));
    assert.ok(namesVideo(base64(`\x1aP${base64(`\x1aQ${base64(`\x0a\x0b${VIDEO}\x20`)}`)}`), VIDEO));
    assert.ok(!namesVideo(ALL, "another_vid"));
    assert.ok(!namesVideo(DEAD, VIDEO));
  });

  const status = (of: string, more: object = {}): unknown => ({ playabilityStatus: { status: of, ...more } });
  const notice = {
    conversationBarRenderer: { availabilityMessage: { messageRenderer: { text: { simpleText: "もじ" } } } },
  };
  const REASONS: [because: string, html: string, why: RegExp][] = [
    ["no page", "", /no initial data/],
    ["a page of words", "<html><title>Something</title></html>", /no initial data/],
    ["consent", '<form action="https://consent.youtube.com/save" method="POST">', /consent/],
    ["consent by its title", "<title>\n Before you continue to YouTube</title>", /consent/],
    [
      "members only",
      watchWith(
        notice,
        status("UNPLAYABLE", { errorScreen: { playerLegacyDesktopYpcOfferRenderer: {} }, reason: "Nur" }),
      ),
      /^the video is for members of its channel only \(YouTube says: Nur\)$/,
    ],
    [
      "private",
      watchWith(undefined, status("LOGIN_REQUIRED", { reason: "Private" })),
      /^the video is private \(YouTube says: Private\)$/,
    ],
    ["deleted", watchWith(undefined, status("ERROR")), /deleted/],
    ["unplayable", watchWith(notice, status("UNPLAYABLE")), /cannot be played/],
    ["a check of age", watchWith(notice, status("AGE_VERIFICATION_REQUIRED")), /confirmation of age/],
    ["disabled, watch page", watchWith(notice, status("OK")), /disabled or not open \(YouTube says: もじ\)/],
    [
      "disabled, popout page",
      pageWith({ contents: { messageRenderer: { text: { runs: [{ text: "Off" }] } } } }),
      /disabled.*: Off\)/,
    ],
    ["not begun", watchWith(undefined, status("LIVE_STREAM_OFFLINE")), /has not begun/],
    [
      "a plain video that speaks of consent",
      watchWith({ text: "<title>Before you continue" }, status("OK")),
      /^the video has no live chat$/,
    ],
    ["a plain video", watchWith(undefined, status("OK")), /^the video has no live chat$/],
    [
      "the chat of another video",
      pageWith({
        currentVideoEndpoint: { watchEndpoint: { videoId: "another-vid" } },
        contents: { liveChatRenderer: renderer() },
      }),
      /shows another video/,
    ],
  ];
  for (const [because, html, why] of REASONS) {
    it(`says why there is no chat: ${because}`, () => assert.match(whyIn(html), why));
  }

  for (const [details, is] of [
    [{}, "hidden"],
    [{ isLiveContent: false }, "none"],
    [{ isLiveContent: true }, "over"],
    [{ isLive: true }, "hidden"],
  ] as const)
    it(`a private video whose page has the details ${JSON.stringify(details)} is ${is}`, () => {
      const videoDetails = { videoId: VIDEO, ...details };
      const player = { ...(status("LOGIN_REQUIRED", { reason: "Private video" }) as object), videoDetails };
      const page = readChatPage(watchWith(undefined, player), VIDEO, "all");
      assert.ok(!page.chat);
      assert.equal(page.is, is);
    });

  it("a video that is not shown in this country may have a chat", () => {
    const reason = "The uploader has not made this video available in your country";
    const page = readChatPage(watchWith(undefined, status("UNPLAYABLE", { reason })), VIDEO, "all");
    assert.ok(!page.chat);
    assert.equal(page.is, "unknown");
    assert.match(
      page.why,
      /^YouTube does not show the video in this server's country \(YouTube says: The up/,
    );
  });

  it("the upstream's words are shortened and stripped of markup", () => {
    const reason = `<a href="https://evil.example">Sorry</a> <${"x".repeat(1000)}`;
    const why = whyIn(watchWith(undefined, status("ERROR", { reason })));
    assert.match(why, /says: Sorry x+\)$/);
    assert.ok(why.length < 300);
  });

  it("odd or oversized data gives no chat and no error, and a chat is found at any depth", {
    timeout: 10_000,
  }, () => {
    const chat = JSON.stringify({ liveChatRenderer: renderer() });
    const wide = `{"contents":[${"{},".repeat(600_000)}${chat}]}`;
    assert.match(whyIn(`ytInitialData = ${wide};`), /no initial data/);
    const deep = `{"contents":${'{"a":'.repeat(100_000)}${chat}${"}".repeat(100_000)}}`;
    assert.equal(chatIn(`ytInitialData = ${deep};`).continuation, ALL);
    const actions = Array.from({ length: BOUNDS.actions + 1 }, (_, id) => ({ id }));
    const newest = chatIn(popoutWith(renderer({ actions }))).actions;
    assert.deepEqual([newest.length, newest.at(-1)], [BOUNDS.actions, actions.at(-1)]);
    const wrapped = [{ id: "first" }, { replayChatItemAction: { actions } }, { id: "last" }];
    assert.deepEqual(chatIn(popoutWith(renderer({ actions: wrapped }))).actions, [{ id: "last" }]);
    for (const contents of [null, 7, "x", [], {}, { liveChatRenderer: [] }, { liveChatRenderer: null }]) {
      assert.match(whyIn(pageWith({ contents })), /no live chat/);
    }
  });
});
