/** `/v1/featured/{videoId}`, and the event `featured` of the streams that ask for it. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { ask, assertRefused } from "../../support/api.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import {
  authorDeletion,
  deletion,
  FeaturedViewer,
  putFeatured,
  said,
} from "../../support/featured-viewer.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { bearer, SECRET, signed } from "../../support/tokens.ts";

const VIDEO = "feature-001";
const OTHER = "feature-002";
const HANDLE = "@feature";
const ADMIN = "an-admin-token-of-a-test";

async function setUp(t: TestContext) {
  const relay = await startRelay({ settings: { RELAY_ADMIN_TOKEN: ADMIN } });
  t.after(() => relay[Symbol.asyncDispose]());
  const { chat } = relay.upstream.channel(HANDLE).broadcast(VIDEO);
  chat.say([said("first"), said("second")]);
  return { relay, chat };
}

const path = () => `/v1/featured/${VIDEO}`;
const put = ({ url }: { url: string }, messageId: string) => putFeatured(url, VIDEO, messageId, ADMIN);
const take = ({ url }: { url: string }) => fetch(url + path(), { method: "DELETE", headers: bearer(ADMIN) });
const show = ({ url }: { url: string }, token = ADMIN) =>
  ask<{ messageId: string | null; featuredAt?: string }>(url, path(), { headers: bearer(token) });
const stream = (query = "") => `/v1/stream?videoId=${VIDEO}&featured=on${query}`;

async function viewed(t: TestContext, { url }: { url: string }, asked = stream()): Promise<FeaturedViewer> {
  const viewer = await FeaturedViewer.open(url, asked);
  t.after(() => viewer[Symbol.asyncDispose]());
  await eventually(true, () => viewer.events.some(({ event }) => event === "init"));
  return viewer;
}

/** A viewer that has seen this message become the featured one. */
async function featuring(t: TestContext, relay: TestRelay, messageId: string, asked = stream()) {
  const viewer = await viewed(t, relay, asked);
  await viewer.untilFeatured(null);
  assert.equal((await put(relay, messageId)).status, 204);
  await viewer.untilFeatured(null, messageId);
  return viewer;
}

/** An edge that accepts the admin's token, and an edge of that which has none. */
async function behindEdges(t: TestContext) {
  const { relay, chat } = await setUp(t);
  const near = await startTestEdge(relay.url, { RELAY_ADMIN_TOKEN: ADMIN });
  t.after(() => near[Symbol.asyncDispose]());
  const far = await startTestEdge(near.url);
  t.after(() => far[Symbol.asyncDispose]());
  return { relay, chat, edges: [near, far] as const };
}

/** Resolves once the viewer has this message. */
const untilSent = ({ events }: FeaturedViewer, id: string) =>
  eventually(true, () => events.some(({ data }) => (data as { id?: string }).id === id));

describe("a featured message", () => {
  it("shows the message that was chosen last, and when", async (t) => {
    const { relay } = await setUp(t);
    await viewed(t, relay);
    assert.deepEqual((await show(relay)).body, { messageId: null });
    await put(relay, "first");
    const before = Date.now();
    const answer = await put(relay, "second");
    assert.deepEqual([answer.status, await answer.text()], [204, ""]);
    const { body } = await show(relay);
    assert.deepEqual(Object.keys(body), ["messageId", "featuredAt"]);
    assert.equal(body.messageId, "second");
    const at = Date.parse(body.featuredAt ?? "");
    assert.ok(at >= before - 1 && at <= Date.now() + 1, `${body.featuredAt}`);
  });

  it("can be taken away, also if there is none", async (t) => {
    const { relay } = await setUp(t);
    await featuring(t, relay, "first");
    for (let times = 0; times < 2; times++) {
      assert.equal((await take(relay)).status, 204);
      assert.deepEqual((await show(relay)).body, { messageId: null });
    }
  });

  it("can be taken away by a request with any Content-Type, whatever its body", async (t) => {
    const { relay } = await setUp(t);
    await viewed(t, relay);
    for (const type of ["application/json", "text/plain"])
      for (const body of [null, "{", "x".repeat(10_000)]) {
        await put(relay, "first");
        const headers = { ...bearer(ADMIN), "content-type": type };
        const { status } = await fetch(relay.url + path(), { method: "DELETE", headers, body });
        assert.deepEqual([status, (await show(relay)).body], [204, { messageId: null }], `${type} ${body}`);
      }
  });

  it("must be a stored message of the video", async (t) => {
    const { relay } = await setUp(t);
    assert.equal((await put(relay, "first")).status, 404, "nothing is stored yet");
    await viewed(t, relay);
    const unknown = await put(relay, "nobody-said-it");
    const { status, headers } = unknown;
    assertRefused({ status, headers, body: await unknown.json() }, 404, "NOT_STORED");
  });

  it("is chosen by JSON alone", async (t) => {
    const { relay } = await setUp(t);
    const answer = await ask(relay.url, path(), { headers: bearer(ADMIN), method: "PUT", body: "{}" });
    assertRefused(answer, 415, "UNSUPPORTED_MEDIA_TYPE");
  });

  it("comes right after init", async (t) => {
    const { relay } = await setUp(t);
    const early = await viewed(t, relay);
    await early.untilFeatured(null);
    assert.deepEqual(early.featured[0], { message: null });
    await put(relay, "first");
    await early.untilFeatured(null, "first");
    const late = await viewed(t, relay);
    await late.untilFeatured("first");
    for (const { events } of [early, late])
      assert.deepEqual(
        events.slice(0, 2).map(({ event }) => event),
        ["init", "featured"],
      );
  });

  it("comes again at each change", async (t) => {
    const { relay } = await setUp(t);
    const viewer = await featuring(t, relay, "first");
    await put(relay, "second");
    await viewer.untilFeatured(null, "first", "second");
    await take(relay);
    await viewer.untilFeatured(null, "first", "second", null);
    await put(relay, "first");
    await viewer.untilFeatured(null, "first", "second", null, "first");
  });

  it("comes without an id, so that it moves no cursor", async (t) => {
    const { relay } = await setUp(t);
    const viewer = await featuring(t, relay, "first");
    const frames = viewer.events.filter(({ event }) => event === "featured");
    assert.deepEqual(
      frames.map(({ id }) => id),
      [undefined, undefined],
    );
  });

  it("comes as the stream sends the message, with the time of the choice", async (t) => {
    const { relay } = await setUp(t);
    const viewer = await featuring(t, relay, "first", stream("&details=true"));
    const sent = () =>
      viewer.events.find(({ event, data }) => event === "message" && (data as { id: string }).id === "first");
    await eventually(true, () => sent() !== undefined);
    assert.deepEqual(viewer.featured[1]?.message, sent()?.data);
    assert.equal(viewer.featured[1]?.featuredAt, (await show(relay)).body.featuredAt);
  });

  it("has details only on a stream with details", async (t) => {
    const { relay } = await setUp(t);
    const plain = await featuring(t, relay, "first");
    assert.equal(plain.featured[1]?.message?.details, undefined);
    const detailed = await viewed(t, relay, stream("&details=true"));
    await detailed.untilFeatured("first");
    assert.notEqual(detailed.featured[0]?.message?.details, undefined);
  });

  it("does not come without featured=on", async (t) => {
    const { relay, chat } = await setUp(t);
    const plain = await viewed(t, relay, `/v1/stream?videoId=${VIDEO}`);
    const off = await viewed(t, relay, `/v1/stream?videoId=${VIDEO}&featured=off`);
    await featuring(t, relay, "first");
    chat.say([said("third")]);
    for (const viewer of [plain, off]) {
      await untilSent(viewer, "third");
      assert.deepEqual(viewer.featured, []);
    }
  });

  it("is gone once it is deleted", async (t) => {
    const { relay, chat } = await setUp(t);
    const viewer = await featuring(t, relay, "first");
    chat.say([deletion("first")]);
    await viewer.untilFeatured(null, "first", null);
    assert.deepEqual((await show(relay)).body, { messageId: null });
    await put(relay, "second");
    await viewer.untilFeatured(null, "first", null, "second");
  });

  it("cannot be a deleted message", async (t) => {
    const { relay, chat } = await setUp(t);
    const viewer = await viewed(t, relay);
    chat.say([deletion("first"), said("third")]);
    await untilSent(viewer, "third");
    assert.equal((await put(relay, "first")).status, 404);
  });

  it("is gone once its author's messages are deleted, even if nobody watched", async (t) => {
    const { relay, chat } = await setUp(t);
    const viewer = await featuring(t, relay, "second");
    await viewer[Symbol.asyncDispose]();
    chat.say([authorDeletion, said("third")]);
    const late = await viewed(t, relay, stream("&backfill=5"));
    await untilSent(late, "third");
    await eventually(null, () => late.ids.at(-1) ?? null);
    assert.deepEqual((await show(relay)).body, { messageId: null });
  });

  it("names its video on a connection of several chats", async (t) => {
    const { relay } = await setUp(t);
    relay.upstream.chat(OTHER, { kinds: ["text"] }).say([said("other")]);
    const merged = await viewed(t, relay, `/v1/merged?videoIds=${VIDEO},${OTHER}&featured=on`);
    await eventually(2, () => merged.featured.length);
    await put(relay, "first");
    await eventually(3, () => merged.featured.length);
    assert.deepEqual(Object.keys(merged.featured[2] ?? {}), ["videoId", "message", "featuredAt"]);
    assert.deepEqual([merged.featured[2]?.videoId, merged.ids[2]], [VIDEO, "first"]);
  });

  it("names its video on the stream of a channel", async (t) => {
    const { relay } = await setUp(t);
    await featuring(t, relay, "first");
    const channel = await viewed(t, relay, `/v1/stream?channel=${HANDLE}&featured=on`);
    await channel.untilFeatured("first");
    assert.equal(channel.featured[0]?.videoId, VIDEO);
  });

  it("is a line of its own in NDJSON, also in a stream until now", async (t) => {
    const { relay } = await setUp(t);
    await featuring(t, relay, "first");
    const headers = { accept: "application/x-ndjson" };
    const bounded = await fetch(relay.url + stream("&until=now"), { headers });
    const [, line] = (await bounded.text()).trim().split("\n");
    const { event, message, ...others } = JSON.parse(line ?? "");
    assert.deepEqual([event, message.id, Object.keys(others)], ["featured", "first", ["featuredAt"]]);
  });

  it("outlives a restart", async (t) => {
    const folder = await mkdtemp(join(tmpdir(), "relay-featured-"));
    t.after(() => rm(folder, { recursive: true }));
    const settings = { RELAY_STORE: `sqlite:${join(folder, "relay.db")}` };
    const first = await startRelay({ settings: { ...settings, RELAY_ADMIN_TOKEN: ADMIN } });
    const { upstream } = first;
    upstream.chat(VIDEO, { kinds: ["text"] }).say([said("first")]);
    const viewer = await FeaturedViewer.open(first.url, stream());
    await viewer.untilFeatured(null);
    await put(first, "first");
    const { body } = await show(first);
    await viewer[Symbol.asyncDispose]();
    await first.service.stop();
    t.after(() => first[Symbol.asyncDispose]());
    const relay = await startRelay({ settings: { ...settings, RELAY_ADMIN_TOKEN: ADMIN }, upstream });
    t.after(() => relay[Symbol.asyncDispose]());
    assert.deepEqual((await show(relay)).body, body);
    await (await viewed(t, relay)).untilFeatured("first");
  });

  it("comes over edges, and over edges of edges", async (t) => {
    const { relay, chat, edges } = await behindEdges(t);
    const near = await viewed(t, edges[0], stream("&details=true"));
    const far = await viewed(t, edges[1], stream("&details=true"));
    const own = await viewed(t, relay, stream("&details=true"));
    await put(relay, "second");
    for (const viewer of [near, far, own]) await viewer.untilFeatured(null, "second");
    assert.deepEqual(near.featured, own.featured);
    assert.deepEqual(far.featured, own.featured);
    await (await viewed(t, edges[1])).untilFeatured("second");
    chat.say([deletion("second")]);
    for (const viewer of [near, far, own]) await viewer.untilFeatured(null, "second", null);
  });

  it("comes in an edge's stream until now", async (t) => {
    const { relay, edges } = await behindEdges(t);
    await (await viewed(t, edges[0])).untilFeatured(null);
    await put(relay, "second");
    const stored = await fetch(edges[0].url + stream("&until=now&backfill=0"));
    assert.match(await stored.text(), /event: featured\ndata: \{"message":\{"type":"chat","id":"second"/);
  });

  it("is shown by edges, and by edges of edges, as by the origin", async (t) => {
    const { relay, edges } = await behindEdges(t);
    await viewed(t, relay);
    for (const change of [() => put(relay, "second"), () => take(relay), () => put(relay, "first")]) {
      assert.equal((await change()).status, 204);
      const own = await show(relay);
      for (const { url } of edges) {
        const { status, headers, body } = await ask(url, path());
        assert.deepEqual([status, body], [200, own.body]);
        assert.equal(headers.get("allow"), "GET, HEAD, OPTIONS");
        assert.equal(headers.get("cache-control"), "no-store");
      }
    }
  });

  it("is changed at the origin alone", async (t) => {
    const { relay, edges } = await behindEdges(t);
    await featuring(t, relay, "first");
    const refused = await put(edges[0], "second");
    assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
    assert.equal((await put(edges[1], "second")).status, 404, "nobody can have the right there");
    assert.equal((await show(relay)).body.messageId, "first");
  });

  it("is not shown by an edge without its origin, which allows nothing either", async (t) => {
    const { relay, edges } = await behindEdges(t);
    await viewed(t, relay);
    assert.equal((await ask(edges[0].url, path())).status, 200);
    await relay.service.stop();
    for (const { url } of edges) {
      const { status, headers } = await ask(url, path());
      assert.deepEqual([status, headers.get("allow")], [503, null]);
    }
  });

  it("refuses invalid requests at an edge, too", async (t) => {
    const { edges } = await behindEdges(t);
    assert.equal((await ask(edges[0].url, `${path()}?x=1`)).status, 400);
    assert.equal((await ask(edges[0].url, "/v1/featured/no")).status, 400);
  });

  it("is asked for by on and off alone", async (t) => {
    const { relay } = await setUp(t);
    const asked = `/v1/stream?videoId=${VIDEO}&featured=yes`;
    assert.match(assertRefused(await ask(relay.url, asked), 400, "INVALID_REQUEST"), /^featured: /);
  });
});

describe("the rights to a featured message", () => {
  const answers = async (relay: TestRelay, token?: string) => {
    const headers = token === undefined ? {} : bearer(token);
    const shown = await fetch(relay.url + path(), { headers });
    const removed = await fetch(relay.url + path(), { headers, method: "DELETE" });
    return [shown.status, shown.headers.get("allow"), removed.status];
  };
  const READING = "GET, HEAD, OPTIONS";
  const CHANGING = "GET, HEAD, PUT, DELETE, OPTIONS";

  it("are nobody's by default, and the answer says which of them a caller has", async (t) => {
    const open = await startRelay();
    t.after(() => open[Symbol.asyncDispose]());
    assert.deepEqual(await answers(open), [200, READING, 404]);
    const { relay } = await setUp(t);
    assert.deepEqual(await answers(relay), [200, READING, 401]);
    assert.deepEqual(await answers(relay, ADMIN), [200, CHANGING, 204]);
  });

  it("come with a token for everything, for a video, and for the videos of a channel", async (t) => {
    const relay = await startRelay({ settings: { RELAY_TOKEN_KEY: SECRET, RELAY_PUBLIC: "rooms" } });
    t.after(() => relay[Symbol.asyncDispose]());
    relay.upstream
      .channel(HANDLE)
      .broadcast(VIDEO)
      .chat.say([said("first")]);
    relay.upstream.channel("@another");
    const of = async (...rights: string[]) => answers(relay, await signed({ relay: rights }));
    assert.deepEqual(await answers(relay), [401, null, 401]);
    assert.deepEqual(await of("feature"), [200, CHANGING, 204]);
    assert.deepEqual(await of(`feature:${VIDEO}`), [200, CHANGING, 204]);
    assert.deepEqual(await of(`feature:${OTHER}`), [403, null, 403]);
    assert.deepEqual(await of(`feature:${HANDLE}`), [200, CHANGING, 204]);
    assert.deepEqual(await of("feature:@another"), [403, null, 403]);
    assert.deepEqual(await of("watch"), [200, READING, 403]);
    assert.deepEqual(await of(`watch:${VIDEO}`), [200, READING, 403]);
    assert.deepEqual(await of("rooms", "record"), [403, null, 403]);
  });

  for (const publicRights of ["watch", "rooms"])
    it(`are not needed to read it, even if no page names its channel (${publicRights})`, async (t) => {
      const settings = { RELAY_TOKEN_KEY: SECRET, RELAY_PUBLIC: publicRights };
      const relay = await startRelay({ settings });
      t.after(() => relay[Symbol.asyncDispose]());
      relay.upstream.fault({ on: ["popout", "watch", "next"], times: 100, as: { status: 503 } });
      const headers = bearer(await signed({ relay: ["watch", `feature:${HANDLE}`] }));
      const shown = await fetch(relay.url + path(), { headers });
      assert.deepEqual([shown.status, shown.headers.get("allow")], [200, READING]);
      const removed = await fetch(relay.url + path(), { headers, method: "DELETE" });
      assert.equal(removed.status, 502);
    });
});
