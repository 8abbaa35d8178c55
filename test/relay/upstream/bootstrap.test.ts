/**
 * The first three steps of the specification's bootstrap, one describe for each: the video id, the
 * credentials, the chat page. What follows them is in bootstrap-client.test.ts, and the error of each step in
 * http-errors.test.ts. Over real sockets are a request's own forms of an id, and bodies and hosts that only
 * sockets have.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { pipeline, Readable } from "node:stream";
import { describe, it } from "node:test";
import { createGzip } from "node:zlib";
import type { Failure } from "../../../simulator/faults.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import {
  asked,
  chatCalls,
  failAlways,
  opened,
  PLACES,
  refused as refusedOverSockets,
  startAtRest,
  textAction,
} from "../../support/opening.ts";
import { refused } from "../../support/virtual-room.ts";

const VIDEO = "bootstrap01";
const OTHER = "bootstrap02";
/** For how long it is remembered that a video has no chat. */
const NO_CHAT_MS = 30_000;

describe("1. resolve the video id to 11 characters; otherwise INVALID_VIDEO_ID", () => {
  it("opens one room for an id and for all URLs of it", async () => {
    await using relay = await startAtRest();
    relay.upstream.chat(VIDEO);
    for (const input of [VIDEO, `https://youtu.be/${VIDEO}?t=1`, ` m.youtube.com/watch?list=a&v=${VIDEO} `]) {
      assert.equal((await opened(relay, input)).videoId, VIDEO);
    }
    assert.deepEqual(asked(relay), ["sw.js", "popout", "get_live_chat"]);
    assert.match(
      relay.upstream.requests[1]?.path ?? "",
      new RegExp(`^/live_chat\\?is_popout=1&v=${VIDEO}\\b`),
    );
  });
});

const body = (text: string): Failure => ({ status: 200, body: text });
const script = (config: object): Failure => body(`self.x=1;ytcfg.set(${JSON.stringify(config)});`);
const SCRIPT_KEY = { INNERTUBE_API_KEY: "key-of-the-script" };
const SCRIPT_VERSION = { INNERTUBE_CLIENT_VERSION: "1.1.1" };
/** The positional form, the version at its place and the key after it. */
const scriptData = (key: string | null, version: string | null, isFlat = false): Failure => {
  const device = [...Array(16).fill(null), version];
  return body(`)]}'\n${JSON.stringify([["a", null, [isFlat ? device : [device], key]]])}`);
};
const DATA = scriptData("key-of-its-data", "2.2.2");
const STUB = body("self.addEventListener('install', () => {})");

describe("2. fetch sw.js live and extract key and version; failure is SW_JS_FAILED", () => {
  const sources: [what: string, script: Failure, data: Failure, key: string, version: string][] = [
    ["sw.js has both", script({ ...SCRIPT_KEY, ...SCRIPT_VERSION }), DATA, "key-of-the-script", "1.1.1"],
    ["sw.js has the key, its data the version", script(SCRIPT_KEY), DATA, "key-of-the-script", "2.2.2"],
    ["sw.js has the version, its data the key", script(SCRIPT_VERSION), DATA, "key-of-its-data", "1.1.1"],
    ["sw.js is a stub", STUB, DATA, "key-of-its-data", "2.2.2"],
    [
      "sw.js is a stub, and its data is flat",
      STUB,
      scriptData("key-of-its-data", "2.2.2", true),
      "key-of-its-data",
      "2.2.2",
    ],
    [
      "sw.js is a stub, and its data has the key",
      STUB,
      scriptData("key-of-its-data", null),
      "key-of-its-data",
      "3.3.3",
    ],
    [
      "sw.js is a stub, and its data has the version",
      STUB,
      scriptData(null, "2.2.2"),
      "key-of-the-page",
      "2.2.2",
    ],
    ["sw.js has the key, its data nothing", script(SCRIPT_KEY), "html", "key-of-the-script", "3.3.3"],
    ["both have nothing", STUB, scriptData(null, null), "key-of-the-page", "3.3.3"],
    ["both are missing", { status: 404 }, { status: 404 }, "key-of-the-page", "3.3.3"],
    ["both fail", { status: 500 }, { status: 503 }, "key-of-the-page", "3.3.3"],
    ["both break off", "truncated", "reset", "key-of-the-page", "3.3.3"],
    ["both are empty", "empty", "empty", "key-of-the-page", "3.3.3"],
    [
      "both lead away",
      { redirect: "https://example.com/sw.js" },
      { redirect: "//a.b" },
      "key-of-the-page",
      "3.3.3",
    ],
  ];
  for (const [what, swJs, swJsData, key, version] of sources) {
    it(`${what}: ${key} and ${version} are used`, async () => {
      const relay = new VirtualRelay();
      relay.upstream.chat(VIDEO);
      Object.assign(relay.upstream.credentials, { apiKey: "key-of-the-page", clientVersion: "3.3.3" });
      failAlways(relay, "sw.js", swJs);
      failAlways(relay, "sw.js_data", swJsData);
      await relay.enter({ videoId: VIDEO });
      const scripts = what === "sw.js has both" ? ["sw.js"] : ["sw.js", "sw.js_data"];
      assert.deepEqual(asked(relay), [...scripts, "popout", "get_live_chat"]);
      const [call] = chatCalls(relay);
      assert.match(call?.path ?? "", new RegExp(`\\?key=${key}(&|$)`));
      assert.equal(call?.clientVersion, version);
    });
  }

  it("fetches sw.js again for each room, because the upstream rotates the key", async () => {
    const relay = new VirtualRelay();
    for (const [videoId, apiKey] of [
      [VIDEO, "key-before-noon"],
      [OTHER, "key-after-noon"],
    ] as const) {
      relay.upstream.chat(videoId);
      relay.upstream.credentials.apiKey = apiKey;
      await relay.enter({ videoId: videoId });
      assert.match(chatCalls(relay).at(-1)?.path ?? "", new RegExp(`key=${apiKey}`));
    }
  });

  it("sends both with every chat call, each as the client that it names", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, { works: [{ client: "TVHTML5" }] });
    await relay.enter({ videoId: VIDEO });
    const { apiKey, clientVersion, visitorData } = relay.upstream.credentials;
    const sent = chatCalls(relay).map(({ path, headers, body }) => {
      const { clientName, clientVersion: version, hl } = JSON.parse(body ?? "").context.client;
      assert.deepEqual([headers["x-youtube-client-version"], hl], [version, "en"]);
      assert.deepEqual(
        [headers["x-goog-visitor-id"], headers.origin],
        [visitorData, relay.upstream.urls.main],
      );
      return [
        new URLSearchParams(path.split("?")[1]).get("key"),
        clientName,
        headers["x-youtube-client-name"],
        version,
      ];
    });
    assert.deepEqual(sent[0], [apiKey, "WEB", "1", clientVersion]);
    assert.deepEqual(sent[2]?.slice(0, 3), [apiKey, "TVHTML5", "7"]);
    assert.match(sent[2]?.[3], /^7\.\d{8}\./);
  });
});

const MARKED = { kind: "replay", replayRenderer: "liveChatRenderer" } as const;

/** Cheap to make and to pack: a page has seven seconds of a machine that may be busy. */
function* endless(): Generator<Buffer> {
  const spaces = Buffer.alloc(2 ** 20, " ");
  for (;;) yield spaces;
}

describe("3. load the popout page, falling back to the watch page; no chat with a token is NO_LIVE_CHAT", () => {
  // Where the menu is not whole, the first answer has it: all messages cost one call more.
  const found: [what: string, Partial<Scenario>, asked: RequestKind[], replay?: "replay"][] = [
    ["on the popout page, which is enough", {}, ["popout"]],
    ["on the watch page alone", { foundOn: "watch" }, ["popout", "watch"]],
    ["before the stream begins", { kind: "upcoming" }, ["popout"]],
    ["on a page that is a quoted and escaped string", { initialData: "escaped" }, ["popout"]],
    ["on such a watch page", { initialData: "escaped", foundOn: "watch" }, ["popout", "watch"]],
    ["as a replay", { kind: "replay" }, ["popout", "watch"], "replay"],
    ["as a live renderer marked as a replay", MARKED, ["popout", "watch"], "replay"],
    ["so marked on the popout page", { ...MARKED, foundOn: "popout" }, ["popout"], "replay"],
  ];
  for (const [what, scenario, pages, replay] of found) {
    it(`finds a chat ${what}`, async () => {
      const relay = new VirtualRelay();
      relay.upstream.chat(VIDEO, scenario).say(1);
      assert.equal(
        (await relay.enter({ videoId: VIDEO })).init.chatType,
        replay ? "liveChatReplayRenderer" : "liveChatRenderer",
      );
      assert.deepEqual(asked(relay), [
        "sw.js",
        ...pages,
        "get_live_chat",
        ...(replay ? ["get_live_chat_replay"] : []),
        ...(pages.length > 1 ? [replay ? "get_live_chat_replay" : "get_live_chat"] : []),
      ]);
      assert.ok((chatCalls(relay)[0]?.continuation ?? "").length > 100, "not one of the menu's dead tokens");
    });
  }

  for (const [view, foundOn, expected] of [
    ["all", "popout", ["first", "hidden", "last"]],
    ["top", "popout", ["first", "last"]],
    ["all", "watch", ["first", "hidden", "last"]],
    ["top", "watch", ["first", "last"]],
  ] as const) {
    for (const kind of ["live", "replay"] as const) {
      it(`reads the view "${view}" of a ${kind} chat from the ${foundOn} page's tokens`, async () => {
        const relay = new VirtualRelay({ settings: { RELAY_CHAT_VIEW: view } });
        const onlyInAll = (action: object) => JSON.stringify(action).includes("hidden");
        const chat = relay.upstream.chat(VIDEO, { kind, foundOn, page: 0, overlap: 9, onlyInAll });
        chat.say(["first", "hidden", "last"].map(textAction));
        const stream = await relay.enter({ videoId: VIDEO });
        await stream.until(() => stream.ids.includes("last"));
        assert.deepEqual(stream.ids, expected);
      });
    }
  }

  for (const [kind, why] of [
    ["none", /no live chat/],
    ["disabled", /disabled/],
    ["members-only", /members-only/],
    ["private", /private/],
    ["unavailable", /unavailable/],
  ] as const) {
    it(`answers NO_LIVE_CHAT if neither page holds a chat, and opens once there is one: ${kind}`, async () => {
      const relay = new VirtualRelay();
      const chat = relay.upstream.chat(VIDEO, { kind });
      const { failure, message } = await refused(relay, VIDEO);
      assert.equal(failure, "404 NO_LIVE_CHAT");
      assert.match(message, why);
      assert.deepEqual(asked(relay), ["sw.js", ...PLACES]);
      chat.change({ kind: "live" });
      await relay.advance(NO_CHAT_MS);
      await relay.enter({ videoId: VIDEO });
    });
  }

  const unloadable: [what: string, Failure, why: RegExp][] = [
    ["HTTP 500", { status: 500 }, /could not be loaded.*HTTP 500/],
    ["HTTP 404", { status: 404 }, /could not be loaded.*HTTP 404/],
    ["a reset", "reset", /could not be loaded.*connection/],
    ["half a page", "truncated", /could not be loaded.*connection/],
    ["a page of words", "html", /no initial data/],
    [
      "a page without end",
      { status: 200, body: " ".repeat(12 * 2 ** 20 + 1) },
      /could not be loaded.*larger/,
    ],
    ["a consent page", body('<form action="https://consent.youtube.com/save">'), /consent/],
    ["a redirect to consent", { redirect: "https://consent.youtube.com/m?continue=a" }, /consent/],
    ["a redirect to sign in", { redirect: "https://accounts.google.com/ServiceLogin" }, /sign in/],
    ["a redirect to nowhere", { redirect: "http://" }, /nowhere/],
    ["a redirect to itself", { redirect: "?again" }, /redirects/],
  ];
  for (const [what, failure, why] of unloadable) {
    it(`is NO_LIVE_CHAT if pages and next are ${what}; else the watch page decides`, async () => {
      const relay = new VirtualRelay();
      relay.upstream.chat(VIDEO);
      failAlways(relay, ["popout", "next"], failure);
      const repairWatch = failAlways(relay, "watch", failure);
      const refusal = await refused(relay, VIDEO);
      assert.equal(refusal.failure, "404 NO_LIVE_CHAT");
      assert.match(refusal.message, why);
      assert.ok(relay.upstream.requests.length < 20, "and gives up soon");
      repairWatch();
      await relay.enter({ videoId: VIDEO });
    });
  }

  it("follows redirects to its own hosts", async () => {
    const relay = new VirtualRelay();
    const { upstream } = relay;
    upstream.chat(VIDEO);
    upstream.fault({
      on: "popout",
      times: 1,
      as: { redirect: `${upstream.urls.mobile}/live_chat?v=${VIDEO}` },
    });
    upstream.fault({ on: "popout", times: 1, as: { redirect: `/watch?v=${VIDEO}`, status: 307 } });
    await relay.enter({ videoId: VIDEO });
    const chat = "get_live_chat";
    assert.deepEqual(asked(relay), ["sw.js", "popout", "popout", "watch", chat, chat]);
    assert.deepEqual(
      upstream.requests.map(({ host }) => host),
      ["main", "main", "mobile", "mobile", "main", "main"],
    );
  });

  it("gives up on a loop of redirects", async () => {
    const relay = new VirtualRelay();
    failAlways(relay, "popout", { redirect: `/watch?v=${VIDEO}` });
    failAlways(relay, "watch", { redirect: `/live_chat?v=${VIDEO}` });
    failAlways(relay, "next", { status: 500 });
    const { failure, message } = await refused(relay, VIDEO);
    assert.match(`${failure} ${message}`, /404 NO_LIVE_CHAT .*redirects/);
    assert.ok(relay.upstream.requests.length < 20);
  });

  it("sends nothing to a foreign host, and closes connections whose bodies never end", async () => {
    const visited: string[] = [];
    const hungUp: Promise<unknown>[] = [];
    await using server = createServer(({ url = "" }, response) => {
      visited.push(url);
      hungUp.push(once(response, "close"));
      const packing = url === "/packed" ? [createGzip({ level: 1 })] : [];
      if (url === "/packed") response.setHeader("content-encoding", "gzip");
      pipeline([Readable.from(endless()), ...packing, response], () => {});
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const elsewhere = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    await using relay = await startAtRest();
    const { upstream } = relay;
    const toForeign = { redirect: `${elsewhere}/plain` };
    const toCredentials = { redirect: `${upstream.urls.main}@${elsewhere.slice("http://".length)}/packed` };
    upstream.fault({ on: "popout", videoId: VIDEO, times: 1, as: toForeign });
    upstream.fault({ on: "watch", videoId: VIDEO, times: 1, as: toCredentials });
    assert.match((await refusedOverSockets(relay, VIDEO)).message, /foreign host \(127\.0\.0\.1\)/);
    assert.deepEqual(visited, []);

    const urls = { ...upstream.urls, music: elsewhere };
    const { requests } = upstream;
    await using trusting = await startAtRest({ upstream: { ...upstream, requests, urls } });
    upstream.fault({ on: "popout", videoId: OTHER, times: 1, as: toForeign });
    upstream.fault({ on: "watch", videoId: OTHER, times: 1, as: { redirect: `${elsewhere}/packed` } });
    const { failure, message } = await refusedOverSockets(trusting, OTHER);
    assert.match(`${failure} ${message}`, /404 NO_LIVE_CHAT .*larger/);
    assert.deepEqual(visited, ["/plain", "/packed"]);
    await Promise.all(hungUp);
  });

  it("sends consent and asks for English with every call", async () => {
    const relay = new VirtualRelay({ simulator: { serviceWorker: "stub" } });
    relay.upstream.chat(VIDEO, { foundOn: "watch" });
    await relay.enter({ videoId: VIDEO });
    for (const { headers, path, kind } of relay.upstream.requests) {
      assert.equal(headers.cookie, "SOCS=CAI", kind);
      assert.match(headers["accept-language"] ?? "", /^en/, kind);
      if (kind === "popout" || kind === "watch") assert.match(path, /[?&]hl=en(&|$)/);
    }
  });
});
