/** What an edge serves besides the stream of a video: history, rooms, several chats, channels, refusals. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it, type TestContext } from "node:test";
import { ROUTE_RIGHTS } from "../../../src/http/access/route-rights.ts";
import { Line } from "../../chaos/line.ts";
import { AnsweringServer, refuses } from "../../support/answering-server.ts";
import { ask } from "../../support/api.ts";
import { startTestEdge } from "../../support/edge.ts";
import { eventually } from "../../support/eventually.ts";
import { metric, startRelay, type TestRelayOptions } from "../../support/relay.ts";

const VIDEO = "dQw4w9WgXcQ";
const OTHER = "jNQXAC9IVRw";
const HANDLE = "@somebody";
const LIVE = ["live-first1", "live-later1"] as const;
const CHAT = { kinds: ["text" as const], timeoutMs: 20 };

async function setUp(t: TestContext, settings: TestRelayOptions["settings"] = {}) {
  const origin = await startRelay({ settings: { RELAY_ADMIN_TOKEN: "a-token-for-a-test", ...settings } });
  t.after(() => origin[Symbol.asyncDispose]());
  const line = await Line.to(Number(new URL(origin.url).port));
  t.after(() => line[Symbol.asyncDispose]());
  const edge = await startTestEdge(line.url);
  t.after(() => edge[Symbol.asyncDispose]());
  const chats = [VIDEO, OTHER].map((videoId) => origin.upstream.chat(videoId, CHAT));
  for (const chat of chats) chat.say(20);
  return { origin, line, edge, chats };
}

/** The frames of a stream up to this many messages. */
async function framesOf(
  url: string,
  query: string,
  messages: number,
  lastEventId = "",
  onMessages: (count: number) => void = () => {},
): Promise<string> {
  const abort = new AbortController();
  const headers = lastEventId ? { "last-event-id": lastEventId } : undefined;
  const { body } = await fetch(`${url}/v1/${query}`, { signal: abort.signal, ...(headers && { headers }) });
  let text = "";
  for await (const chunk of body ?? []) {
    text += Buffer.from(chunk).toString();
    const count = text.split("event: message").length - 1;
    onMessages(count);
    if (count >= messages) break;
  }
  abort.abort();
  return text.replaceAll(": keepalive\n\n", "");
}

const idsOf = (frames: string) => [...frames.matchAll(/^id: (.*)$/gm)].map(([, id = ""]) => id);

describe("an edge", { timeout: 300_000 }, () => {
  it("passes on the history as its origin answers, including headers and refusals", async (t) => {
    const { origin, edge } = await setUp(t);
    await framesOf(edge.url, `stream?videoId=${VIDEO}&backfill=500`, 20);
    for (const path of [
      `messages?videoId=${VIDEO}&limit=5`,
      `messages?videoId=${VIDEO}&limit=5&after=0&details=true`,
      `messages?videoId=${VIDEO}&limit=all&format=csv`,
      `messages?videoId=${VIDEO}&format=text&q=a`,
      `messages?videoId=${OTHER}`,
      `messages?videoId=${VIDEO}&limit=0`,
      `messages?videoId=${VIDEO}&limt=1`,
      "messages",
      `rooms/${VIDEO}?x=1`,
      `rooms/${OTHER}`,
      "rooms/nonsense",
    ]) {
      const [there, here] = await Promise.all(
        [origin, edge].map(async ({ url }) => {
          const response = await fetch(`${url}/v1/${path}`);
          const kept = [...response.headers].filter(
            ([name]) => !/^(date|age|connection|keep-alive|transfer|content-length)/.test(name),
          );
          return { status: response.status, headers: Object.fromEntries(kept), body: await response.text() };
        }),
      );
      assert.deepEqual(here, there, path);
    }
    const shown = await ask<{ videoId: string; viewers: number }>(edge.url, `/v1/rooms/${VIDEO}`);
    assert.deepEqual([shown.status, shown.body.videoId], [200, VIDEO]);
    const rooms = await ask<{ rooms: { videoId: string }[] }>(edge.url, "/v1/rooms");
    assert.deepEqual(
      rooms.body.rooms.map(({ videoId }) => videoId),
      [VIDEO],
    );
  });

  it("keeps pages that never change, and revalidates all others", async (t) => {
    const { line, edge } = await setUp(t);
    await framesOf(edge.url, `stream?videoId=${VIDEO}&backfill=500`, 20);
    const [final, open] = ["&after=0&limit=5", "&limit=5"].map(
      (query) => `/v1/messages?videoId=${VIDEO}${query}`,
    );
    const first = await ask(edge.url, final ?? "");
    const latest = await ask(edge.url, open ?? "");
    const { length } = line.requests;
    assert.deepEqual((await ask(edge.url, final ?? "")).body, first.body);
    assert.equal(line.requests.length, length);
    assert.deepEqual((await ask(edge.url, open ?? "")).body, latest.body);
    assert.match(line.requests.at(-1) ?? "", /if-none-match/i);
    line.shut();
    assert.deepEqual((await ask(edge.url, final ?? "")).body, first.body);
    const away = await ask<{ code: string }>(edge.url, open ?? "");
    assert.deepEqual([away.status, away.body.code], [503, "CAPACITY"]);
  });

  it("answers If-None-Match as the origin, whether it holds the page or not", async (t) => {
    const { origin, line, edge } = await setUp(t);
    await framesOf(edge.url, `stream?videoId=${VIDEO}&backfill=500`, 20);
    for (const query of ["&limit=5", "&limit=5&after=0", "&limit=all&format=csv"]) {
      const path = `/v1/messages?videoId=${VIDEO}${query}`;
      const etag = (await fetch(origin.url + path)).headers.get("etag") ?? "";
      const known = async (url: string, tag: string) => {
        const response = await fetch(url + path, { headers: { "if-none-match": tag } });
        const told = ["etag", "cache-control", "vary", "link", "content-type"];
        return [response.status, ...told.map((name) => response.headers.get(name)), await response.text()];
      };
      const there = await known(origin.url, etag);
      assert.equal(there[0], 304);
      for (const tag of [etag, etag, `"other", ${etag}`, "*"]) {
        assert.deepEqual(await known(edge.url, tag), there, `${query} ${tag}`);
      }
      assert.equal((await known(edge.url, '"other"'))[0], 200);
      assert.deepEqual(await known(edge.url, etag), there, query);
    }
    line.shut();
    const final = `${edge.url}/v1/messages?videoId=${VIDEO}&limit=5&after=0`;
    assert.equal((await fetch(final, { headers: { "if-none-match": "*" } })).status, 304);
  });

  it("says that its origin is away if a proxy answers for it, and passes on the origin's own refusal", async (t) => {
    const own = { code: "STORE_UNAVAILABLE", message: "The store is unavailable; try again shortly." };
    const refusals = [
      refuses(502, "<h1>Bad Gateway</h1>"),
      refuses(500, ""),
      refuses(503, { error: "no upstream" }),
      refuses(503, own, { "retry-after": "9" }),
    ];
    const proxy = await AnsweringServer.start((response, call) => {
      const answer = call.path === "/healthz" ? refuses(200, { status: "alive" }) : refusals.shift();
      answer?.(response, call);
    });
    t.after(() => proxy[Symbol.asyncDispose]());
    const edge = await startTestEdge(proxy.url);
    t.after(() => edge[Symbol.asyncDispose]());
    const answers = [];
    for (const path of ["messages?videoId=", "rooms/", "messages?videoId=", "messages?videoId="]) {
      const { status, headers, body } = await ask<{ code: string }>(edge.url, `/v1/${path}${VIDEO}`);
      answers.push([status, body.code, headers.get("retry-after")]);
    }
    assert.deepEqual(answers, [
      ...Array.from({ length: 3 }, () => [503, "CAPACITY", "5"]),
      [503, "STORE_UNAVAILABLE", "9"],
    ]);
  });

  it("serves the routes that docs/edge.md gives to it, and answers 404 for those of its origin alone", async (t) => {
    const { origin } = await setUp(t);
    // With a token, each route of which some method is served refuses the others with 405.
    const edge = await startTestEdge(origin.url, { RELAY_ADMIN_TOKEN: "an-admin-token-of-a-test" });
    t.after(() => edge[Symbol.asyncDispose]());
    const doc = readFileSync(new URL("../../../docs/edge.md", import.meta.url), "utf8");
    const [, table = ""] = /\n## What an edge serves\n(.*?)\n\n[^|]/s.exec(doc) ?? [];
    const given: Record<string, boolean> = {};
    for (const [, cell = "", answer = ""] of table.matchAll(/^\| (.*?`.*?) \| (.*) \|$/gm)) {
      for (const [, path = ""] of cell.matchAll(/`(\/[^`?]*)/g)) given[path] = !answer.startsWith("404");
    }
    const served: Record<string, boolean> = {};
    for (const route of Object.keys(ROUTE_RIGHTS)) {
      const { status } = await ask(edge.url, route.replace(/:\w+|\*/, "some"), { method: "DELETE" });
      assert.ok(status === 405 || status === 404, route);
      served[route.replace(/:(\w+)/, "{$1}")] = status === 405;
    }
    assert.deepEqual(given, served);
  });

  it("has neither an upstream nor recordings", async (t) => {
    const { edge } = await setUp(t);
    const headers = { authorization: "Bearer a-token-for-a-test" };
    for (const path of ["sessions", "poll", "probe"]) {
      const { status, body } = await ask<{ code: string }>(edge.url, `/v1/${path}`, { method: "POST" });
      assert.deepEqual([status, body.code], [404, "NOT_FOUND"], path);
    }
    assert.equal((await ask(edge.url, "/v1/recordings", { headers })).status, 404);
    const described = await ask<{ paths: object }>(edge.url, "/v1/openapi.json");
    assert.ok(!Object.keys(described.body.paths).some((path) => /sessions|poll|probe|recordings/.test(path)));
    const metrics = await (await fetch(`${edge.url}/metrics`)).text();
    const names = [...metrics.matchAll(/^# TYPE relay_(\w+)/gm)].map(([, name]) => name);
    assert.deepEqual(
      names.sort().join(" "),
      "build_info capacity_refusals_total channels connections_dropped_total limit multiplexed_connections origin_stream_breaks_total origin_streams origin_up publish_delay_seconds request_errors_total rooms sent_bytes_total task_faults_total viewers viewers_by_form viewers_dropped_total",
    );
    assert.match(metrics, /relay_origin_up 1/);
    assert.equal((await fetch(`${edge.url}/`)).status, 200);
  });

  it("merges several chats, and resumes them at another instance", async (t) => {
    const { origin, edge, chats } = await setUp(t);
    const query = `merged?videoIds=${VIDEO},${OTHER}&backfill=500`;
    const begun = await framesOf(edge.url, query, 40);
    const lastId = idsOf(begun).at(-1) ?? "";
    for (const chat of chats) chat.say(3);
    const [there, here] = [
      await framesOf(origin.url, query, 6, lastId),
      await framesOf(edge.url, query, 6, lastId),
    ];
    assert.deepEqual(new Set(here.split("\n\n")).size, new Set(there.split("\n\n")).size);
    const messages = (text: string) => text.match(/^data: \{"videoId":.*"type".*$/gm)?.sort();
    assert.equal(messages(here)?.length, 6);
    assert.deepEqual(messages(here), messages(there));
  });

  it("follows a channel by one stream of the origin, from one video to the next", async (t) => {
    const { origin, edge } = await setUp(t, { RELAY_CHANNEL_MS: "50" });
    const channel = origin.upstream.channel(HANDLE);
    const first = channel.broadcast(LIVE[0], { chat: CHAT });
    first.chat.say(20);
    const query = `stream?channel=${HANDLE}&backfill=500`;
    const before = await framesOf(origin.url, query, 20);
    const [here, again] = await Promise.all([framesOf(edge.url, query, 20), framesOf(edge.url, query, 20)]);
    assert.equal(here, before);
    assert.equal(again, before);
    await eventually(0, () => metric(edge, "relay_channels"));
    let isOver = false;
    const states = await framesOf(edge.url, query, 23, "", (messages) => {
      if (messages < 20 || isOver) return;
      isOver = true;
      first.end();
      channel.broadcast(LIVE[1], { chat: CHAT }).chat.say(3);
    });
    const there = await framesOf(origin.url, query, 3);
    assert.match(states, new RegExp(`"state":"live","videoId":"${LIVE[1]}"`));
    assert.ok(states.endsWith(there.slice(there.indexOf("event: init"))));
    // The rest of the video that is over comes first, then today's.
    const [id = ""] = idsOf(before);
    const resumed = await framesOf(edge.url, query, 22, id);
    assert.equal(resumed, await framesOf(origin.url, query, 22, id));
    const foreign = await framesOf(edge.url, query, 3, `${VIDEO}.5`);
    assert.equal(foreign, there);
  });

  it("refuses a channel that its origin does not find", async (t) => {
    const { origin, edge } = await setUp(t);
    origin.upstream.channel("@closed", { state: "gone" });
    const [there, here] = await Promise.all(
      [origin, edge].map(({ url }) => ask(url, "/v1/stream?channel=@closed")),
    );
    assert.deepEqual([here?.status, here?.body], [404, there?.body]);
  });
});
