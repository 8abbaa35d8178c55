/**
 * Nothing that a client chooses may be a key of anything that lives longer than its request. A table asks
 * each route by hundreds of clients, each with values of its own for all that it may choose: a route or a
 * parameter that no row asks with such values fails. When the clients have gone, and the time is over for
 * which something may be remembered, the service keeps as much as before.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { formOf, ROUTE_RIGHTS } from "../../../src/http/access/route-rights.ts";
import { BADGES } from "../../../src/protocol/kinds.ts";
import { vectorOf } from "../../../src/protocol/merged-id.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { type Kept, kept, largest } from "../../support/kept.ts";
import { SECRET, signedAtOnce } from "../../support/tokens.ts";
import { VirtualServer } from "../../support/virtual-server.ts";

const CLIENTS = 300;
/** Those with which a row is looked for that keeps something. */
const FEW = 60;
/** Connections at a time, and clients of each row before the first count. */
const AT_ONCE = 100;
/** The bytes that a client may leave: a row that keeps something of each would leave more. */
const BYTES = 1024;
/** What all clients together may leave else, however many they are: a busy machine closes some late. */
const MOST = { entries: 20, listeners: 20, timers: 5 };
/** The longest time for which the service remembers what a stranger has asked for. */
const FORGET_MS = 600_000;
/** The time after which an answered client is forgotten. */
const SOON_MS = 5000;
/** The engine gives back some of the memory of many clients only when others have come. */
const ROUNDS = 3;
const LIMIT = { timeout: 600_000 };

const VIDEO = "stays-chat1";
const SHORT = "stays-short";
const CHANNEL = "@stays.waiting";
const ADMIN = "an-admin-token-of-a-test";
const SAID = 100;
const POLL_MS = 10_000;

const TYPES = [
  "superchat",
  "supersticker",
  "membership",
  "milestone",
  "gift",
  "jewels",
  "poll",
  "raid",
  "mode",
];

let server: VirtualServer;
/** The cursor of the last message. */
let last: number;

/** A request of one client. */
interface Asked {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  body?: Record<string, unknown>;
  /** Whether the client leaves before it is answered. */
  isImpatient?: boolean;
}

const ask = (method: string, path: string, asked: Partial<Asked> = {}): Asked => ({
  method,
  path,
  query: {},
  headers: {},
  ...asked,
});
const get = (path: string, query: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  ask("GET", path, { query, headers });
const stream = (query: Record<string, string>, headers?: Record<string, string>) =>
  get("/v1/stream", query, headers);
const merged = (query: Record<string, string>, headers?: Record<string, string>) =>
  get("/v1/merged", query, headers);
const log = (query: Record<string, string>) => get(`/v1/log/${VIDEO}`, query);
const messages = (query: Record<string, string>) => get("/v1/messages", query);

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
/** The right to everything. */
const admin = bearer(ADMIN);
const holder = (n: number) =>
  bearer(
    signedAtOnce({
      sub: `holder-${n}`,
      relay: ["watch"],
      viewers: 3,
      exp: Math.floor(server.clock.now() / 1000) + 7200 + n,
    }),
  );

/** The n-th message's cursor; further ones are ahead of the chat. The first clients read all messages. */
const nth = (n: number) => last - SAID + n;
const cursor = (n: number) => `${nth(n)}`;
const made = (n: number) => `made-${String(n).padStart(6, "0")}`;
const at = (n: number) => `${server.clock.now() - 1000 * n}`;
const channelId = (n: number) => `UC${String(n).padStart(22, "x")}`;
/** The elements of a list by the bits of a number. */
const some = (list: readonly string[], n: number) => list.filter((_, bit) => (n >> bit) & 1);
const filter = (n: number) => ({
  types: ["chat", ...some(TYPES, n)].join(),
  minTier: `${1 + (n % 7)}`,
  minAmount: `${n}.5EUR`,
  badges: [BADGES[n % BADGES.length], ...some(BADGES, n)].join(),
});
const words = (n: number) => ({ q: `word${n}`, text: `text${n}`, author: channelId(n) });
const times = (n: number) => ({ from: at(n + 1), to: at(-n), saidFrom: at(n + 1), saidTo: at(-n) });
const poll = (n: number) => ({
  token: `token-${n}`,
  client: `client-${n}`,
  endpoint: "get_live_chat",
  apiKey: String(n).padStart(39, "a"),
  webVersion: `2.${n}`,
});

/** How many clients ask: the request of the n-th one. */
const ROWS: Record<string, (n: number) => Asked> = {
  "a stream from a cursor": (n) =>
    stream({ videoId: VIDEO, details: "true", ...filter(n) }, { "last-event-id": cursor(n) }),
  "a stream from a cursor in its query": (n) => stream({ videoId: VIDEO, lastEventId: cursor(n) }),
  "a stream from a text that is no cursor": (n) => stream({ videoId: VIDEO }, { "last-event-id": `x${n}` }),
  "a stream with a backfill, the featured message and the standing": (n) =>
    stream({ videoId: VIDEO, backfill: `${n}`, featured: "on", standing: "on" }),
  "a stream from a time": (n) => stream({ videoId: VIDEO, from: at(n) }),
  "a stored part": (n) => stream({ videoId: VIDEO, from: at(n), until: "now" }),
  "a stream with a parameter that is ignored": (n) => stream({ videoId: VIDEO, [`ignored${n}`]: "1" }),
  "a stream of a video without a chat": (n) => stream({ videoId: made(n) }, admin),
  "a stream of a channel that does not exist": (n) => stream({ channel: `@made.up.${n}` }, admin),
  "a stream of a channel, from a place": (n) =>
    stream({ channel: CHANNEL, all: "on", ...filter(n) }, { ...admin, "last-event-id": `${made(n)}.${n}` }),
  "a stream with a token": (n) => stream({ videoId: VIDEO }, holder(n)),
  "a stream with a token that is none": (n) => stream({ videoId: VIDEO }, bearer(`token-${n}`)),
  "a stream with a token in its query": (n) => stream({ videoId: VIDEO, access_token: `token-${n}` }),
  "a merged stream from an id": (n) =>
    merged({ videoIds: VIDEO, ...filter(n) }, { "last-event-id": vectorOf([nth(n)]) }),
  "a merged stream from an id in its query": (n) =>
    merged({ videoIds: VIDEO, lastEventId: vectorOf([nth(n)]), backfill: `${n}` }),
  "a merged stream from a time": (n) => merged({ videoIds: VIDEO, from: at(n) }),
  "a merged stream from cursors": (n) => merged({ videoIds: VIDEO, cursors: `${VIDEO}:${nth(n)}` }),
  "a merged stream of videos and channels that do not exist": (n) =>
    merged({ videoIds: made(n), channels: `@made.up.${n}`, cursors: `${made(n)}:${n}` }, admin),
  "a page of a log": (n) => log({ offset: offsetOf(nth(n)) }),
  "a long poll": (n) => log({ offset: offsetOf(nth(n)), live: "long-poll", cursor: `${9_000_000 + n}` }),
  "a long poll at the end": (n) => ({
    ...log({ offset: "now", live: "long-poll", cursor: `${9_000_000 + n}` }),
    isImpatient: true,
  }),
  "events of a log": (n) => log({ offset: offsetOf(nth(n)), live: "sse", cursor: `${9_000_000 + 1000 * n}` }),
  "a log of a video without a chat": (n) => get(`/v1/log/${made(n)}`, {}, admin),
  "a page of messages after a cursor": (n) =>
    messages({ videoId: VIDEO, after: cursor(n), limit: `${1 + (n % 1000)}`, ...filter(n) }),
  "a page of messages before a cursor": (n) => messages({ videoId: VIDEO, before: cursor(n), limit: "9" }),
  "a search": (n) => messages({ videoId: SHORT, ...words(n), ...filter(n) }),
  "a search in a time": (n) => messages({ videoId: SHORT, ...times(n) }),
  "a download": (n) => messages({ videoId: SHORT, limit: "all", format: "csv", q: `word${n}` }),
  "messages of a video that is not stored": (n) => get("/v1/messages", { videoId: made(n) }, admin),
  "how lively a room is": (n) => get(`/v1/rooms/${VIDEO}`, { activity: "true" }, holder(n)),
  "a room that is not stored": (n) => get(`/v1/rooms/${made(n)}`, {}, admin),
  "the channel of a video": (n) => get(`/v1/videos/${made(n)}`, { channels: `@made.up.${n}` }, admin),
  "the list of rooms": () => get("/v1/rooms"),
  "a session": (n) => ask("POST", "/v1/sessions", { body: { videoId: made(n) } }),
  "a poll": (n) => ask("POST", "/v1/poll", { body: { ...poll(n), client: "WEB" } }),
  "a poll with an unknown client": (n) => ask("POST", "/v1/poll", { body: poll(n) }),
  "a probe": (n) => ask("POST", "/v1/probe", { body: { videoId: made(n) } }),
  "the list of recordings": () => get("/v1/recordings", {}, admin),
  "a recording": (n) => ask("PUT", `/v1/recordings/@made.up.${n}`, { headers: admin }),
  "a recording's end": (n) => ask("DELETE", `/v1/recordings/@made.up.${n}`, { headers: admin }),
  "the featured message of a video": (n) => get(`/v1/featured/${made(n)}`, {}, admin),
  "a message to feature": (n) =>
    ask("PUT", `/v1/featured/${made(n)}`, { headers: admin, body: { messageId: `message-${n}` } }),
  "no message to feature": (n) => ask("DELETE", `/v1/featured/${made(n)}`, { headers: admin }),
  "the description": () => get("/v1/openapi.json"),
  "whether it lives": () => get("/healthz"),
  "whether it is ready": () => get("/readyz"),
  "the metrics": () => get("/metrics"),
  "the viewer page": (n) => get("/", { videoId: made(n) }),
  "the page of the probe": (n) => get("/probe", { videoId: made(n) }),
  "the overlay": (n) => get("/overlay", { videoId: made(n) }),
  "the overlay's set-up": (n) => get("/overlay/setup", { channel: `@made.up.${n}` }),
  "the SDK": (n) => get("/client.js", { version: `${n}` }),
  "the SDK's log": (n) => get("/client-log.js", { version: `${n}` }),
  "the SDK's polls": (n) => get("/client-poll.js", { version: `${n}` }),
  "the SDK's history": (n) => get("/client-history.js", { version: `${n}` }),
  "a file of the pages": (n) => get(`/web/made-up-${n}.js`),
  "a path at which there is nothing": (n) => get(`/v1/made-up-${n}`),
  "a path of YouTube": (n) => get("/watch", { v: made(n) }),
  "a method that is not allowed": (n) => ask(["PATCH", "DELETE", "QUERY"][n % 3] ?? "", "/v1/rooms"),
  "a header of any name": (n) => get("/v1/rooms", {}, { [`x-made-up-${n}`]: "1" }),
  "what a page may send": (n) =>
    ask("OPTIONS", "/v1/rooms", { headers: { "access-control-request-headers": `x-made-up-${n}` } }),
};

/** The bytes of a client's request. All have values of their own for what every request may have. */
function textOf({ method, path, query, headers, body }: Asked, n: number): string {
  const target = Object.keys(query).length > 0 ? `${path}?${new URLSearchParams(query)}` : path;
  const json = body && JSON.stringify(body);
  const all = {
    host: `host-${n}.example`,
    origin: `https://${n}.example`,
    accept: `*/*;q=0.${1000 + n}`,
    "accept-encoding": n % 2 === 0 ? `gzip;q=0.${1000 + n}` : `br;q=0.${1000 + n}`,
    "x-forwarded-for": `10.0.${n >> 8}.${n & 255}`,
    "if-none-match": `"tag-${n}"`,
    ...headers,
    ...(json && { "content-type": "application/json", "content-length": `${json.length}` }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n${json ?? ""}`;
}

async function answerTo(asked: Asked) {
  const client = server.connect(textOf(asked, 1));
  await server.answered([client]);
  client.destroy();
  return client;
}

/** The clients from one number to another ask, some at a time, and leave as soon as their answers begin. */
async function visitAll(row: (n: number) => Asked, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += AT_ONCE) {
    const numbers = Array.from({ length: Math.min(AT_ONCE, to - n) }, (_, i) => n + i);
    const asked = numbers.map((each) => ({ ...row(each), n: each }));
    const clients = asked.map((each) => server.connect(textOf(each, each.n)));
    if (asked[0]?.isImpatient) await server.clock.advance(100);
    else await server.answered(clients);
    for (const client of clients) client.destroy();
    await server.clock.advance(1);
  }
}

const count = async (): Promise<Kept> => {
  const { timers, ...counts } = await kept();
  return { ...counts, timers: timers + server.clock.pending };
};

/** The counts that have grown by more than they may, with this number of clients of each row. */
function excess(now: Kept, before: Kept, clients: number): string[] {
  const most: Kept = { ...MOST, bytes: BYTES * clients };
  const names = Object.keys(most) as (keyof Kept)[];
  const more = names.filter((name) => now[name] - before[name] > most[name]);
  return more.map((name) => `${now[name] - before[name]} ${name}`);
}

before(async () => {
  server = await VirtualServer.start({
    RELAY_ADMIN_TOKEN: ADMIN,
    RELAY_TOKEN_KEY: SECRET,
    RELAY_PUBLIC: `watch:${VIDEO},watch:${SHORT},rooms,probe,poll`,
    RELAY_TRUST_PROXY: "1",
    RELAY_MAX_VIEWERS_PER_ADDRESS: "100",
    RELAY_CORS_ORIGINS: "https://page.example",
    RELAY_CORS_HEADERS: "x-*",
    RELAY_GATE_SPACING_MS: "1",
    RELAY_NO_CHAT_MS: "300000",
    RELAY_LOG_LEVEL: "error",
  });
  const { upstream, clock } = server;
  upstream.channel(CHANNEL);
  upstream.chat(SHORT, { kinds: ["text"], timeoutMs: POLL_MS }).say(2);
  const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: POLL_MS });
  // A viewer of each stays, so that they are read on.
  const seen = [{ videoId: VIDEO }, { videoId: SHORT }, { channel: CHANNEL }];
  await server.answered(seen.map((query) => server.connect(textOf(stream(query, admin), 0))));
  chat.say(SAID);
  await clock.advance(2 * POLL_MS);
  const { answer } = await answerTo(log({ offset: "now" }));
  last = Number(/stream-next-offset: (\d+)/.exec(answer)?.[1]);
  assert.ok(last > 0);
  for (const row of Object.values(ROWS)) await visitAll(row, 0, AT_ONCE);
});
after(() => server.app.close());

describe("the table of what clients choose", () => {
  interface Schema {
    type?: string;
    enum?: unknown[];
    properties?: Record<string, Schema>;
  }
  interface Operation {
    parameters: { in: string; name: string; schema: Schema }[];
    requestBody?: { content: Record<string, { schema: Schema }> };
  }

  /** The names of all that two clients of a row have chosen differently, each with its place. */
  function choices(row: (n: number) => Asked): string[] {
    const [one, other] = [row(0), row(1)];
    const differing = (place: string, ours: object = {}, theirs: object = {}) =>
      Object.entries(ours).flatMap(([name, value]) =>
        value === Reflect.get(theirs, name) ? [] : [`${place} ${name}`],
      );
    return [
      ...(one.path === other.path ? [] : ["path"]),
      ...differing("query", one.query, other.query),
      ...differing("header", one.headers, other.headers),
      ...differing("body", one.body, other.body),
    ];
  }

  const rowsOf = (path: string, method?: string) =>
    Object.values(ROWS).filter((row) => {
      const asked = row(0);
      return (method ?? asked.method) === asked.method && formOf(path).test(asked.path);
    });

  it("has each route", () => {
    assert.deepEqual(
      Object.keys(ROUTE_RIGHTS).filter((route) => rowsOf(route).length === 0),
      [],
    );
  });

  it("has each parameter of each operation that can have many values", async () => {
    const { answer } = await answerTo(get("/v1/openapi.json"));
    const { paths } = JSON.parse(answer.slice(answer.indexOf("{")));
    const isFew = ({ type, enum: values }: Schema) => type === "boolean" || values !== undefined;
    let seen = 0;
    for (const [path, operations] of Object.entries<Record<string, Operation>>(paths)) {
      for (const [method, { parameters, requestBody }] of Object.entries(operations)) {
        const body = requestBody?.content["application/json"]?.schema.properties ?? {};
        const fields = Object.entries(body).map(([name, schema]) => ({ in: "body", name, schema }));
        const many = [...parameters, ...fields].filter(({ schema }) => !isFew(schema));
        const asked = rowsOf(path.replaceAll(/\{(\w+)\}/g, ":$1"), method.toUpperCase()).flatMap(choices);
        const missing = many
          .map((each) => (each.in === "path" ? "path" : `${each.in} ${each.name}`))
          .filter((choice) => !asked.includes(choice));
        assert.deepEqual(missing, [], `${method} ${path}`);
        seen += many.length;
      }
    }
    assert.ok(seen > 40, `${seen} parameters`);
  });
});

type Row = (n: number) => Asked;

/** Lets the time pass for which something may be remembered. Some is forgotten only when somebody asks. */
async function forget(rows: readonly Row[]): Promise<void> {
  await server.clock.advance(FORGET_MS);
  for (const row of rows) await visitAll(row, 0, 1);
  await server.clock.advance(SOON_MS);
}

/** The counts that have grown too much with further clients of each row. */
async function excessOf(rows: readonly Row[], from: number, clients = CLIENTS): Promise<string[]> {
  await forget(rows);
  const usual = await count();
  for (const row of rows) await visitAll(row, from, from + clients);
  let found: string[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await forget(rows);
    found = excess(await count(), usual, clients);
    if (found.length === 0) break;
  }
  return found;
}

it(`nothing is kept of ${CLIENTS} clients of each row, or of their choices`, LIMIT, async () => {
  const found = await excessOf(Object.values(ROWS), AT_ONCE);
  if (found.length === 0) return;
  const kept = `${found.join(", ")}: ${(await largest()).join("; ")}`;
  // Finds the row, by halves: fewer clients are enough, as all that they keep is more of the same.
  let suspects = Object.entries(ROWS);
  for (let from = AT_ONCE + CLIENTS; suspects.length > 1; from += FEW) {
    const half = suspects.splice(0, suspects.length / 2);
    const rows = half.map(([, row]) => row);
    if ((await excessOf(rows, from, FEW)).length > 0) suspects = half;
  }
  assert.fail(`${suspects[0]?.[0]}: ${kept}`);
});
