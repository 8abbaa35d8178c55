/**
 * The sources of credentials and chat: any two of four may be dead, and pages are requested sparingly.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../simulator/index.ts";
import type { RequestKind } from "../../../simulator/requests.ts";
import { KeptCredentials } from "../../../src/upstream/credential-sources.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { post, session } from "../../support/api.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { asked, chatCalls, failAlways, opened, textAction } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { refused } from "../../support/virtual-room.ts";

const VIDEO = "many-places";
const OTHER = "other-place";
const SOURCES: readonly (readonly RequestKind[])[] = [
  ["sw.js", "sw.js_data"],
  ["popout"],
  ["watch"],
  ["next"],
];
const DEAD: readonly Failure[] = [{ status: 503 }, "reset", "html", "no-data"];

describe("a bootstrap works even if any two sources are dead", () => {
  const pairs = SOURCES.flatMap((one, i) => SOURCES.slice(i + 1).map((other) => [...one, ...other]));
  for (const dead of pairs) {
    it(dead.join(", "), async () => {
      for (const as of DEAD) {
        const relay = new VirtualRelay();
        relay.upstream.chat(VIDEO).say(1);
        // Scripts have no data to lack.
        for (const on of dead) failAlways(relay, on, as === "no-data" && on.startsWith("sw") ? "html" : as);
        await relay.enter({ videoId: VIDEO });
      }
    });
  }

  it("finds a chat that only next shows, asks as the page would, and reads on from there", async () => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { foundOn: "next" });
    chat.say([textAction("first")]);
    const stream = await relay.enter({ videoId: VIDEO });
    chat.say([textAction("second")]);
    await stream.until(() => stream.ids.includes("second"));
    assert.deepEqual(stream.ids, ["first", "second"]);
    assert.deepEqual(asked(relay).slice(0, 5), ["sw.js", "popout", "watch", "next", "get_live_chat"]);
    const { context, videoId } = JSON.parse(relay.upstream.requests[3]?.body ?? "");
    assert.deepEqual([videoId, context.client.clientName], [VIDEO, "WEB"]);
  });
});

describe("a key that the upstream does not name", () => {
  it("is not sent, neither by a room nor by a caller, whose session says so", async () => {
    await using relay = await startRelay();
    relay.upstream.credentials.apiKey = "";
    relay.upstream.chat(VIDEO, { foundOn: "next", tokens: "reusable" }).say(1);
    await opened(relay, VIDEO);
    const { client, endpoint, token, apiKey, webVersion } = await session(relay.url, { videoId: VIDEO });
    assert.equal(apiKey, "");
    const body = { client, endpoint, token, apiKey, webVersion };
    assert.equal((await post(relay.url, "/v1/poll", body)).status, 200);
    assert.equal((await post(relay.url, "/v1/poll", { ...body, apiKey: "short" })).status, 400);
    for (const { path } of relay.upstream.requests) assert.doesNotMatch(path, /[?&]key=/);
  });

  it("does not replace a version", async () => {
    const relay = new VirtualRelay({ simulator: { serviceWorker: "stub", pageCredentials: false } });
    relay.upstream.chat(VIDEO);
    failAlways(relay, "sw.js_data", { status: 200, body: `)]}'\n[["a",null,[[],"a-key-and-nothing"]]]` });
    assert.equal((await refused(relay, VIDEO)).failure, "502 SW_JS_FAILED");
  });
});

describe("credentials are kept for rooms that are opened again", () => {
  /** The requests between a refusal of the room's poll and the next good answer. */
  async function askedAfter(refusal: Failure): Promise<RequestKind[]> {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { tokens: "reusable" });
    const stream = await relay.enter({ videoId: VIDEO });
    relay.upstream.fault({ on: "get_live_chat", times: 1, as: refusal });
    await relay.requested("popout", { videoId: VIDEO, finished: true });
    chat.say([textAction("after")]);
    await stream.until(() => stream.ids.includes("after"));
    const kinds = asked(relay).slice(2);
    return kinds.filter((kind) => kind !== "get_live_chat");
  }

  it("and are requested again if the upstream refused them, but not if a token is missing", async () => {
    assert.deepEqual(await askedAfter("invalid-argument"), ["popout"]);
    assert.deepEqual(await askedAfter("no-contents"), ["popout"]);
    for (const status of [401, 403]) assert.deepEqual(await askedAfter({ status }), ["sw.js", "popout"]);
    const outdated = { status: 400, body: { error: { code: 400, status: "FAILED_PRECONDITION" } } };
    assert.deepEqual(await askedAfter(outdated), ["sw.js", "popout"]);
  });

  it("and are those of the last bootstrap of any room", async () => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { tokens: "reusable" });
    relay.upstream.chat(OTHER);
    const stream = await relay.enter({ videoId: VIDEO });
    relay.upstream.credentials.clientVersion = "9.9.9";
    await relay.enter({ videoId: OTHER });
    chat.expireTokens();
    await relay.requested("popout", { videoId: VIDEO });
    chat.say([textAction("after")]);
    await stream.until(() => stream.ids.includes("after"));
    assert.equal(chatCalls(relay).at(-1)?.clientVersion, "9.9.9");
    assert.equal(asked(relay).filter((kind) => kind === "sw.js").length, 2);
  });

  it("for an hour, unless these very credentials are refused", async () => {
    const clock = new FakeClock();
    const kept = new KeptCredentials(clock);
    const credentials = { apiKey: "", clientVersion: "1.1" };
    kept.keep({ ...credentials, visitorData: "of one page" });
    kept.refuse({ ...credentials, clientVersion: "1.0" });
    await clock.advance(3_599_999);
    assert.deepEqual(kept.get(), credentials);
    await clock.advance(1);
    assert.equal(kept.get(), undefined);
    kept.keep(credentials);
    kept.refuse(credentials);
    assert.equal(kept.get(), undefined);
  });
});
