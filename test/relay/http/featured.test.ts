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

describe("a featured message", () => {
  it("is chosen, shown and taken away", async (t) => {
    const { relay } = await setUp(t);
    assertRefused(
      await ask(relay.url, path(), { headers: bearer(ADMIN), method: "PUT", body: "{}" }),
      415,
      "UNSUPPORTED_MEDIA_TYPE",
    );
    assert.deepEqual((await show(relay)).body, { messageId: null });
    assert.equal((await put(relay, "first")).status, 404, "nothing is stored yet");
    await viewed(t, relay);
    const unknown = await put(relay, "nobody-said-it");
    const { status, headers } = unknown;
    assertRefused({ status, headers, body: await unknown.json() }, 404, "NOT_STORED");
    const before = Date.now();
    const answer = await put(relay, "second");
    assert.deepEqual([answer.status, await answer.text()], [204, ""]);
    const { body } = await show(relay);
    assert.deepEqual(Object.keys(body), ["messageId", "featuredAt"]);
    assert.equal(body.messageId, "second");
    const at = Date.parse(body.featuredAt ?? "");
    assert.ok(at >= before - 1 && at <= Date.now() + 1, `${body.featuredAt}`);
    assert.equal((await take(relay)).status, 204);
    assert.deepEqual((await show(relay)).body, { messageId: null });
    assert.equal((await take(relay)).status, 204);
  });

  it("comes at once after init, and at each change, without moving the cursor", async (t) => {
    const { relay, chat } = await setUp(t);
    const viewer = await viewed(t, relay, stream("&details=true"));
    const plain = await viewed(t, relay, `/v1/stream?videoId=${VIDEO}`);
    await viewer.untilFeatured(null);
    assert.deepEqual(viewer.featured[0], { message: null });
    await put(relay, "first");
    await viewer.untilFeatured(null, "first");
    await put(relay, "second");
    await viewer.untilFeatured(null, "first", "second");
    await take(relay);
    await viewer.untilFeatured(null, "first", "second", null);
    await put(relay, "first");
    await viewer.untilFeatured(null, "first", "second", null, "first");
    chat.say([said("third")]);
    await eventually(true, () => plain.events.some(({ data }) => (data as { id: string }).id === "third"));
    const late = await viewed(t, relay, stream("&details=true"));
    await late.untilFeatured("first");
    assert.deepEqual(
      late.events.slice(0, 2).map(({ event }) => event),
      ["init", "featured"],
    );
    const [shown] = late.featured;
    const sent = () =>
      late.events.find(({ event, data }) => event === "message" && (data as { id: string }).id === "first");
    await eventually(true, () => sent() !== undefined);
    assert.deepEqual(shown?.message, sent()?.data);
    assert.equal(shown?.featuredAt, (await show(relay)).body.featuredAt);
    assert.ok(
      [...viewer.events, ...late.events].every(({ event, id }) => event !== "featured" || id === undefined),
    );
    assert.deepEqual(plain.featured, []);
    const briefly = await viewed(t, relay, stream());
    await briefly.untilFeatured("first");
    assert.equal(briefly.featured[0]?.message?.details, undefined);
  });

  it("is gone with its deletion, and with that of its author, even of one that nobody saw", async (t) => {
    const { relay, chat } = await setUp(t);
    const viewer = await viewed(t, relay);
    await put(relay, "first");
    chat.say([deletion("first")]);
    await viewer.untilFeatured(null, "first", null);
    assert.deepEqual((await show(relay)).body, { messageId: null });
    assert.equal((await put(relay, "first")).status, 404, "it was deleted");
    await put(relay, "second");
    await viewer.untilFeatured(null, "first", null, "second");
    await viewer[Symbol.asyncDispose]();
    chat.say([authorDeletion, said("third")]);
    const late = await viewed(t, relay, stream("&backfill=5"));
    await eventually(true, () => late.events.some(({ data }) => (data as { id: string }).id === "third"));
    await eventually(null, () => late.ids.at(-1) ?? null);
    assert.deepEqual((await show(relay)).body, { messageId: null });
  });

  it("is in NDJSON, on several chats' connection, on a channel's, and in a bounded stream", async (t) => {
    const { relay } = await setUp(t);
    relay.upstream.chat(OTHER, { kinds: ["text"] }).say([said("other")]);
    const merged = await viewed(t, relay, `/v1/merged?videoIds=${VIDEO},${OTHER}&featured=on`);
    await eventually(true, () => merged.featured.length === 2);
    await put(relay, "first");
    await eventually(true, () => merged.featured.length === 3);
    assert.deepEqual(Object.keys(merged.featured[2] ?? {}), ["videoId", "message", "featuredAt"]);
    assert.deepEqual([merged.featured[2]?.videoId, merged.ids[2]], [VIDEO, "first"]);
    const channel = await viewed(t, relay, `/v1/stream?channel=${HANDLE}&featured=on`);
    await channel.untilFeatured("first");
    assert.equal(channel.featured[0]?.videoId, VIDEO);
    const bounded = await fetch(relay.url + stream("&until=now"), {
      headers: { accept: "application/x-ndjson" },
    });
    const lines = (await bounded.text())
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    assert.equal(lines[1].event, "featured");
    assert.equal(lines[1].message.id, "first");
    assert.deepEqual(Object.keys(lines[1]), ["event", "message", "featuredAt"]);
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
    const { relay, chat } = await setUp(t);
    const edge = await startTestEdge(relay.url);
    t.after(() => edge[Symbol.asyncDispose]());
    const second = await startTestEdge(edge.url);
    t.after(() => second[Symbol.asyncDispose]());
    const near = await viewed(t, edge, stream("&details=true"));
    const far = await viewed(t, second, stream("&details=true"));
    const own = await viewed(t, relay, stream("&details=true"));
    await put(relay, "second");
    for (const viewer of [near, far, own]) await viewer.untilFeatured(null, "second");
    assert.deepEqual(near.featured, own.featured);
    assert.deepEqual(far.featured, own.featured);
    await (await viewed(t, second)).untilFeatured("second");
    const stored = await fetch(edge.url + stream("&until=now&backfill=0"));
    assert.match(await stored.text(), /event: featured\ndata: \{"message":\{"type":"chat","id":"second"/);
    chat.say([deletion("second")]);
    for (const viewer of [near, far, own]) await viewer.untilFeatured(null, "second", null);
  });

  it("is shown by edges, and by edges of edges, as the origin has it, and changed at the origin alone", async (t) => {
    const { relay } = await setUp(t);
    const edge = await startTestEdge(relay.url, { RELAY_ADMIN_TOKEN: ADMIN });
    t.after(() => edge[Symbol.asyncDispose]());
    const second = await startTestEdge(edge.url);
    t.after(() => second[Symbol.asyncDispose]());
    await viewed(t, relay);
    for (const change of [() => put(relay, "second"), () => take(relay), () => put(relay, "first")]) {
      assert.equal((await change()).status, 204);
      const own = await show(relay);
      for (const { url } of [edge, second]) {
        const { status, headers, body } = await ask(url, path());
        assert.deepEqual([status, body], [200, own.body]);
        assert.equal(headers.get("allow"), "GET, HEAD, OPTIONS");
        assert.equal(headers.get("cache-control"), "no-store");
      }
    }
    const refused = await put(edge, "second");
    assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "GET, HEAD, OPTIONS"]);
    assert.equal((await put(second, "second")).status, 404, "nobody can have the right there");
    assert.equal((await ask(edge.url, `${path()}?x=1`)).status, 400);
    assert.equal((await ask(edge.url, "/v1/featured/no")).status, 400);
    assert.equal((await show(relay)).body.messageId, "first");
    await relay.service.stop();
    for (const { url } of [edge, second]) {
      const { status, headers } = await ask(url, path());
      assert.deepEqual([status, headers.get("allow")], [503, null], "nobody has said what is allowed");
    }
  });

  it("is refused in other words than on and off", async (t) => {
    const { relay } = await setUp(t);
    const asked = `/v1/stream?videoId=${VIDEO}&featured=yes`;
    assert.match(assertRefused(await ask(relay.url, asked), 400, "INVALID_REQUEST"), /^featured: /);
    const plain = await viewed(t, relay, `/v1/stream?videoId=${VIDEO}&featured=off`);
    assert.deepEqual(plain.featured, []);
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
});
