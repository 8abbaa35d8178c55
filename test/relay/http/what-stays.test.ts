/**
 * Nothing that a client chooses may be a key of anything that lives longer than its request: after 200 values
 * of each, and when the clients have gone, the service keeps no more entries than before, and after all of
 * them together no more memory.
 */
import assert from "node:assert/strict";
import { connect } from "node:net";
import { after, before, describe, it } from "node:test";
import { offsetOf } from "../../../src/serving/log-position.ts";
import { eventually } from "../../support/eventually.ts";
import { keptEntries } from "../../support/kept-entries.ts";
import { readLog } from "../../support/log.ts";
import { heldMb } from "../../support/memory.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "stays-chat1";
const SHORT = "stays-short";
const ADMIN = "an-admin-token-of-a-test";
const SAID = 400;
/** As many as two polls bring at most. */
const ROUND = 100;
const VALUES = 200;
const WARM_UP = 40;
/** Rooms forget what their viewers shared once a second. */
const FORGET_MS = 2000;
/** Between two counts, each of which collects all garbage. */
const COUNT_MS = 300;
/** Connections at a time. */
const AT_ONCE = 20;
/** Entries, and megabytes of all values, that come and go without regard to the values. */
const MOST_ENTRIES = 40;
const MOST_MB = 6;

const TYPES = [
  "superchat",
  "supersticker",
  "membership",
  "milestone",
  "gift",
  "jewels",
  "poll",
  "raid",
  "notice",
  "mode",
];
const filterOf = (n: number) => ["chat", ...TYPES.filter((_, bit) => (n >> bit) & 1)].join();
const made = (n: number) => `made-up-${String(n % 1000).padStart(3, "0")}`;

let relay: TestRelay;
let last: number;
/** The entries, and the megabytes, after some requests of each kind. */
let usual: number;
let usualMb: number;
before(async () => {
  const simulator = { keepRequests: 10 };
  relay = await startRelay({
    simulator,
    settings: {
      RELAY_ADMIN_TOKEN: ADMIN,
      RELAY_TRUST_PROXY: "1",
      RELAY_MAX_VIEWERS_PER_ADDRESS: "0",
      RELAY_CORS_ORIGINS: "https://page.example",
      RELAY_CORS_HEADERS: "x-*",
    },
  });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 50 });
  chat.say(1);
  const viewer = await Stream.open(relay.url, { videoId: VIDEO });
  after(() => viewer.close());
  const end = async () => Number((await readLog(relay.url, VIDEO, { offset: "now" })).next);
  last = await end();
  for (const due = last + SAID; last < due; ) {
    const next = last + ROUND;
    chat.say(ROUND);
    await eventually(true, async () => {
      last = await end();
      return last >= next;
    });
  }
  relay.upstream.chat(SHORT).say(2);
  await visit(get(`/v1/stream?videoId=${SHORT}`));
  const apart = (VALUES + WARM_UP) / WARM_UP;
  for (const request of Object.values(CHOSEN)) await visitAll((n) => request(n * apart), 0, WARM_UP);
  usual = await settled();
  usualMb = heldMb();
});
after(() => relay[Symbol.asyncDispose]());

/** The cursor of the n-th message. The first requests lead to all messages, so each is encoded early. */
const nth = (n: number) => last - VALUES - WARM_UP + n;
const get = (path: string, headers = "") => `GET ${path} HTTP/1.1\r\nHost: x\r\n${headers}\r\n`;
const post = (path: string, body: object) => {
  const text = JSON.stringify(body);
  return `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
};
const stream = (query: string, headers?: string) => get(`/v1/stream?videoId=${VIDEO}&${query}`, headers);
const log = (query: string, headers?: string) => get(`/v1/log/${VIDEO}?${query}`, headers);
const messages = (query: string, headers?: string) => get(`/v1/messages?videoId=${VIDEO}&${query}`, headers);
const short = (query: string) => get(`/v1/messages?videoId=${SHORT}&${query}`);
const GZIP = "Accept-Encoding: gzip\r\n";

/** All that a client chooses: the request with the n-th value of it. */
const CHOSEN: Record<string, (n: number) => string> = {
  "the cursor of a stream, as a header": (n) => stream("", `Last-Event-ID: ${nth(n)}\r\n`),
  "the cursor of a stream, in its query": (n) => stream(`lastEventId=${nth(n)}`, GZIP),
  "a cursor that is none": (n) => stream("backfill=0", `Last-Event-ID: x${n}\r\n`),
  "the backfill": (n) => stream(`backfill=${VALUES + WARM_UP - n}&details=true`),
  "the time from which a stream begins": (n) => stream(`from=${1_700_000_000_000 + n}`),
  "the time from which a stored part begins": (n) => stream(`until=now&from=${1_700_000_000_000 + n}`),
  "the filter of a stream": (n) => stream(`backfill=10&types=${filterOf(n)}`, GZIP),
  "a parameter that is ignored": (n) => stream(`backfill=0&buster${n}=${n}`),
  "the cursors of a merged stream": (n) =>
    get(`/v1/merged?videoIds=${VIDEO}&lastEventId=${(nth(n)).toString(36)}`),
  "the offset of a page": (n) => log(`offset=${offsetOf(nth(n))}`, GZIP),
  "the offset of a long poll": (n) => log(`offset=${offsetOf(nth(n))}&live=long-poll`, GZIP),
  "the cursor of a long poll": (n) => log(`offset=-1&live=long-poll&cursor=${9_000_000 + n}`),
  "the offset of events": (n) => log(`offset=${offsetOf(nth(n))}&live=sse`, GZIP),
  "the cursor of events": (n) => log(`offset=${offsetOf(last - 1)}&live=sse&cursor=${9_000_000 + 1000 * n}`),
  "the cursor of a page": (n) => messages(`after=${nth(n)}`, GZIP),
  "what is searched for": (n) => short(`q=word${n}`),
  "words alone": (n) => short(`text=word${n}`),
  "the time from which messages were said": (n) => short(`saidFrom=${1_700_000_000_000 + n}`),
  "an author": (n) => short(`author=UC${String(n).padStart(22, "x")}`),
  "a tag": (n) => messages("limit=1", `If-None-Match: "tag-${n}"\r\n`),
  "a token of upstream": (n) =>
    post("/v1/poll", {
      token: `token-${n}`,
      client: "WEB",
      endpoint: "get_live_chat",
      apiKey: "a".repeat(39),
      webVersion: "2.2026",
    }),
  "a message to feature": (n) =>
    post(`/v1/featured/${SHORT}`, { messageId: `message-${n}` })
      .replace("POST", "PUT")
      .replace("Host: x", `Host: x\r\nAuthorization: Bearer ${ADMIN}`),
  "a stream with the featured message": (n) => stream(`featured=on&lastEventId=${nth(n)}`, GZIP),
  "a video that is not stored": (n) => get(`/v1/messages?videoId=${made(n)}`),
  "a video without a chat": (n) => get(`/v1/stream?videoId=${made(n)}`),
  "a channel that does not exist": (n) => get(`/v1/stream?channel=@made.up.${n}`),
  "channels that a video may be of": (n) => get(`/v1/videos/${VIDEO}?channels=@made.up.${n}`),
  "the host": (n) => get("/v1/rooms", "").replace("Host: x", `Host: host-${n}`),
  "an address": (n) => stream("backfill=0", `X-Forwarded-For: 10.0.${n >> 8}.${n & 255}\r\n`),
  "a path": (n) => get(`/v1/path-${n}`),
  "a method": (n) => get("/v1/rooms").replace("GET", ["PUT", "PATCH", "DELETE", "QUERY"][n % 4] ?? ""),
  "a header that a page wants to send": (n) =>
    get("/v1/rooms", `Origin: https://page.example\r\nAccess-Control-Request-Headers: x-${n}\r\n`).replace(
      "GET",
      "OPTIONS",
    ),
  "a header": (n) =>
    get(
      "/v1/rooms",
      `X-Header-${n}: ${n}\r\nOrigin: https://${n}.example\r\nAuthorization: Bearer t${n}\r\n`,
    ),
};

/** The fewest entries within a time in which rooms forget. */
async function settled(): Promise<number> {
  const begun = performance.now();
  let least = Number.POSITIVE_INFINITY;
  await eventually(
    true,
    async () => {
      least = Math.min(least, (await keptEntries()).count);
      return performance.now() - begun > FORGET_MS;
    },
    COUNT_MS,
  );
  return least;
}

/** Asks, and leaves as soon as the answer has begun. */
async function visit(request: string): Promise<void> {
  const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
  socket.write(request);
  for await (const _ of socket) break; // which destroys it
}

/** Asks with the values from `from` to `to`, some at a time. */
async function visitAll(request: (n: number) => string, from: number, to: number): Promise<void> {
  let n = from;
  const client = async () => {
    while (n < to) await visit(request(n++));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
}

describe("nothing is kept of what a client chooses", { timeout: 1_200_000 }, () => {
  for (const [what, request] of Object.entries(CHOSEN)) {
    it(`(${what})`, async (t) => {
      await visitAll(request, WARM_UP, VALUES + WARM_UP);
      let kept = { count: Number.NaN, largest: [""] };
      await eventually(
        true,
        async () => {
          kept = await keptEntries();
          return kept.count - usual <= MOST_ENTRIES;
        },
        COUNT_MS,
      ).catch(() => assert.fail(`${kept.count - usual} entries more: ${kept.largest.join("; ")}`));
      t.diagnostic(`${kept.count - usual} entries`);
      usual = Math.min(usual, kept.count);
    });
  }

  it("(all of these, in memory)", () => {
    const grown = heldMb() - usualMb;
    assert.ok(grown <= MOST_MB, `${grown} MB`);
  });
});
