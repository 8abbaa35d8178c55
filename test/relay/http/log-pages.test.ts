/** `GET /v1/log/{videoId}` in pages: the stored part of a chat, and how long caches may keep it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import { offsetOf } from "../../../src/serving/log-position.ts";
import type { Store } from "../../../src/store/port.ts";
import { countRequests } from "../../support/begun-requests.ts";
import { eventually } from "../../support/eventually.ts";
import { B, said, several, withRoom } from "../../support/history.ts";
import { type LogAnswer, readLog } from "../../support/log.ts";
import { OTHER, ROOM } from "../../support/store-subject.ts";

const FOR_EVER = "public, max-age=31536000, immutable";
const AT_THE_END = "public, max-age=1, stale-while-revalidate=30";
/** The offset behind the n-th message. */
const behind = (n: number) => offsetOf(B + n);
const places = (cursors: number[]) => cursors.map((cursor) => cursor - B);

describe("a page of a log", () => {
  it("has the items that /v1/messages has, byte for byte", async (t) => {
    const messages = [
      said("a", { message: "line\u2028break <&>" }),
      ...several(3),
      said("ö", { amount: "5 €" }),
    ];
    const { url, text } = await withRoom(t, messages);
    const { body } = { body: await text({ videoId: ROOM, details: "true" }) };
    const log = await readLog(url, ROOM);
    assert.equal(log.headers.get("content-type"), "application/json");
    assert.ok(body.includes(`"messages":${log.text}`), log.text);
    assert.equal(log.cursors.length, messages.length);
  });

  it("follows its offset, and says where to read on", async (t) => {
    const { url } = await withRoom(t);
    const rows: [offset: string | undefined, items: number[]][] = [
      [undefined, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      ["-1", [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      [behind(0), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]],
      [behind(7), [8, 9, 10]],
      [behind(10), []],
      ["now", []],
    ];
    for (const [offset, items] of rows) {
      const log = await readLog(url, ROOM, offset === undefined ? {} : { offset });
      assert.deepEqual(places(log.cursors), items, String(offset));
      assert.deepEqual([log.status, log.next, log.isUpToDate, log.isClosed], [200, behind(10), true, false]);
      assert.equal(log.headers.get("cache-control"), offset === "now" ? "no-store" : AT_THE_END);
      assert.equal(log.headers.has("etag"), offset !== "now");
      if (items.length === 0) assert.equal(log.text, "[]");
    }
  });

  it("has at most a thousand items", async (t) => {
    const { url } = await withRoom(t, several(1003));
    const first = await readLog(url, ROOM);
    assert.deepEqual([first.cursors.length, first.next, first.isUpToDate], [1000, behind(1000), false]);
    const exact = await readLog(url, ROOM, { offset: behind(12) });
    assert.deepEqual([exact.cursors.length, exact.cursors[0]], [991, B + 13]);
  });

  it("has at most 1 MiB", async (t) => {
    const { url } = await withRoom(t, longOnes(12));
    const first = await readLog(url, ROOM);
    assert.ok(first.cursors.length > 3 && first.cursors.length < 12, `${first.cursors.length}`);
    assert.ok(Buffer.byteLength(first.text) <= 1024 * 1024);
    assert.equal(first.isUpToDate, false);
    const last = await readLog(url, ROOM, { offset: first.next });
    assert.deepEqual(places(last.cursors).at(-1), 12);
  });

  it("is immutable once it is full", async (t) => {
    const { url } = await withRoom(t, [...several(1000), ...longOnes(12)]);
    const cachedFrom = async (offset?: string) => {
      const { headers, next } = await readLog(url, ROOM, offset === undefined ? {} : { offset });
      return { kept: headers.get("cache-control"), next };
    };
    const byItems = await cachedFrom();
    const byBytes = await cachedFrom(byItems.next);
    const rest = await cachedFrom(byBytes.next);
    assert.deepEqual([byItems.kept, byBytes.kept, rest.kept], [FOR_EVER, FOR_EVER, AT_THE_END]);
  });

  it("is the same from the beginning and from the offset before the first message", async (t) => {
    const { url } = await withRoom(t, several(1003));
    const [first, named] = [await readLog(url, ROOM), await readLog(url, ROOM, { offset: behind(0) })];
    assert.equal(named.text, first.text);
    assert.equal(named.headers.get("cache-control"), first.headers.get("cache-control"));
  });

  it("has one item at least, of any length", async (t) => {
    const long = said("long", { message: "x".repeat(1_200_000) });
    const { url } = await withRoom(t, [long, ...several(1)]);
    assert.deepEqual(places((await readLog(url, ROOM)).cursors), [1]);
  });

  it("is never immutable if deleted messages are blanked", async (t) => {
    const { url, store, claim } = await withRoom(t, several(1001), { RELAY_DELETED: "blank" });
    const before = await readLog(url, ROOM);
    assert.deepEqual([before.cursors.length, before.headers.get("cache-control")], [1000, AT_THE_END]);
    await store.append(claim, B + 1001, several(1, 1001), "");
    const after = await readLog(url, ROOM);
    assert.notEqual(after.headers.get("etag"), before.headers.get("etag"));
  });

  it("is answered 304 while its tag stays, with the places but without a body", async (t) => {
    const { url, store, claim } = await withRoom(t);
    const etag = (await readLog(url, ROOM)).headers.get("etag") ?? assert.fail("no tag");
    const headers = { "if-none-match": etag };
    const same = await readLog(url, ROOM, {}, { headers });
    assert.deepEqual([same.status, same.text, same.next], [304, "", behind(10)]);
    assert.equal(same.headers.get("etag"), etag);
    await store.append(claim, B + 10, several(1, 10), "");
    assert.equal((await readLog(url, ROOM, {}, { headers })).status, 200);
  });

  it("says at its end that the chat is over, under another tag, and only there", async (t) => {
    const { url, store, claim } = await withRoom(t, several(1001));
    const open = await readLog(url, ROOM, { offset: behind(1001) });
    assert.equal(open.isClosed, false);
    await store.finish(claim, ENDED);
    const headers = { "if-none-match": open.headers.get("etag") ?? "" };
    const closed = await readLog(url, ROOM, { offset: behind(1001) }, { headers });
    assert.deepEqual(
      [closed.status, closed.text, closed.isUpToDate, closed.isClosed],
      [200, "[]", true, true],
    );
    assert.match(closed.headers.get("etag") ?? "", /:c"$/);
    assert.equal((await readLog(url, ROOM)).isClosed, false);
    assert.equal((await readLog(url, ROOM, { offset: "now" })).isClosed, true);
  });

  it("is compressed for clients that accept it", async (t) => {
    const { url } = await withRoom(t);
    const plain = await readLog(url, ROOM, {}, { headers: { "accept-encoding": "identity" } });
    const zipped = await readLog(url, ROOM);
    assert.deepEqual(
      [plain, zipped].map(({ headers }) => [headers.get("content-encoding"), headers.get("vary")]),
      [
        [null, "Accept-Encoding"],
        ["gzip", "Accept-Encoding"],
      ],
    );
    assert.equal(zipped.text, plain.text);
    assert.notEqual(zipped.headers.get("etag"), plain.headers.get("etag"), "the bytes are others");
  });

  it("is answered 304 to a weak tag, too, and in each coding to its own", async (t) => {
    const { url } = await withRoom(t);
    const other = { identity: "gzip", gzip: "identity" } as const;
    for (const coding of ["identity", "gzip"] as const) {
      const read = (headers: Record<string, string>) =>
        readLog(url, ROOM, {}, { headers: { "accept-encoding": coding, ...headers } });
      const etag = (await read({})).headers.get("etag") ?? assert.fail("no tag");
      for (const known of [etag, `W/${etag}`, `"another", W/${etag}`, "*"]) {
        const { status, headers } = await read({ "if-none-match": known });
        assert.deepEqual([status, headers.get("etag")], [304, etag], known);
      }
      for (const known of [`"another"`, `W/"another"`, etag.slice(1)])
        assert.equal((await read({ "if-none-match": known })).status, 200, known);
      const elsewhere = { "if-none-match": etag, "accept-encoding": other[coding] };
      assert.equal((await read(elsewhere)).status, 200);
    }
  });
});

describe("a log", () => {
  it("refuses what it does not know with 400, and offsets that it does not have with 410", async (t) => {
    const { url } = await withRoom(t);
    const rows: [query: Record<string, string>, status: number, message: RegExp][] = [
      [{ offset: "" }, 400, /offset: must be -1, now, or/],
      [{ offset: "12" }, 400, /offset: must be -1, now, or/],
      [{ ofset: "-1" }, 400, /offset/],
      [{ types: "chat" }, 400, /types/],
      [{ offset: "-1", live: "yes" }, 400, /long-poll/],
      [{ live: "long-poll" }, 400, /offset: is required/],
      [{ live: "sse" }, 400, /offset: is required/],
      [{ offset: offsetOf(B - 1) }, 410, new RegExp(`begins at ${behind(0)}`)],
      [{ offset: behind(11) }, 410, new RegExp(`begins at ${behind(0)}`)],
      [{ offset: "9".repeat(16) }, 410, new RegExp(`begins at ${behind(0)}`)],
      [{ offset: "9".repeat(16), live: "long-poll" }, 410, new RegExp(`begins at ${behind(0)}`)],
      [{ offset: "9".repeat(16), live: "sse" }, 410, new RegExp(`begins at ${behind(0)}`)],
      [{ offset: offsetOf(7), live: "long-poll" }, 410, new RegExp(`begins at ${behind(0)}`)],
      [{ offset: behind(11), live: "sse" }, 410, new RegExp(`begins at ${behind(0)}`)],
    ];
    for (const [query, status, message] of rows) {
      const refused = await readLog(url, ROOM, query);
      assert.equal(refused.status, status, JSON.stringify(query));
      assert.match((JSON.parse(refused.text) as { message: string }).message, message);
      assertGuarded(refused.headers);
    }
    assert.equal((await readLog(url, "tooshort")).status, 400);
  });

  it("refuses to HEAD what it refuses to GET", async (t) => {
    const { url } = await withRoom(t);
    const offsets = ["", "12", "foo", offsetOf(7), offsetOf(B - 1), behind(11), "9".repeat(16)];
    const served = ["-1", "now", behind(0), behind(10)].map((offset) => ({ offset }));
    for (const query of [...offsets.map((offset) => ({ offset })), { live: "sse" }, ...served]) {
      const statusOf = async (method: string) => (await readLog(url, ROOM, query, { method })).status;
      assert.equal(await statusOf("HEAD"), await statusOf("GET"), JSON.stringify(query));
    }
  });

  it("takes GET, HEAD and OPTIONS alone", async (t) => {
    const { url } = await withRoom(t);
    for (const method of ["POST", "PUT", "DELETE"]) {
      const { status, headers } = await readLog(url, ROOM, {}, { method });
      assert.deepEqual([status, headers.get("allow")], [405, "GET, HEAD, OPTIONS"], method);
    }
  });

  it("is described by HEAD, which opens nothing", async (t) => {
    const { url, upstream, store, claim } = await withRoom(t);
    const head = (videoId: string) => readLog(url, videoId, {}, { method: "HEAD" });
    const open = await head(ROOM);
    assert.deepEqual([open.status, open.text, open.next, open.isClosed], [200, "", behind(10), false]);
    assert.equal(open.headers.get("content-type"), "application/json");
    assert.equal(open.headers.get("cache-control"), "no-store");
    assertGuarded(open.headers);
    await store.finish(claim, ENDED);
    assert.equal((await head(ROOM)).isClosed, true);
    assert.equal((await head(OTHER)).status, 404);
    assert.equal(upstream.requests.length, 0);
  });

  it("of a stored video is read without a call to the upstream", async (t) => {
    const { url, upstream } = await withRoom(t);
    assertGuarded((await readLog(url, ROOM)).headers);
    assert.equal(upstream.requests.length, 0);
  });
});

function assertGuarded(headers: Headers): void {
  assert.equal(headers.get("x-content-type-options"), "nosniff");
  assert.equal(headers.get("cross-origin-resource-policy"), "cross-origin");
}

/** Messages of 150 kB each. */
function longOnes(count: number) {
  return Array.from({ length: count }, (_, n) => said(`long-${n}`, { message: "x".repeat(75_000) }));
}

describe("pages of logs that are asked for at the same time", { timeout: 300_000 }, () => {
  it("are made once for all who ask for the same, plain and compressed", async (t) => {
    const { url, store } = await withRoom(t, several(20));
    const { reads, release } = heldReads(store);
    const begun = countRequests(t, { url });
    const pages = Array.from({ length: 40 }, (_, n) =>
      readLog(url, ROOM, {}, { headers: { "accept-encoding": n % 2 ? "gzip" : "identity" } }),
    );
    await eventually(true, () => begun() === 40 && reads.now === 2);
    release();
    const texts = (await Promise.all(pages)).map(({ text }) => text);
    assert.equal(new Set(texts).size, 1);
    assert.ok(reads.count <= 4, `${reads.count} reads of the store`);
  });

  it("are made four at a time, and are refused while 500 more wait", async (t) => {
    const { url, store } = await withRoom(t, several(600));
    const { reads, release } = heldReads(store);
    const answers: LogAnswer[] = [];
    const asked = Array.from({ length: 600 }, async (_, n) => {
      answers.push(await readLog(url, ROOM, { offset: behind(n) }));
    });
    await eventually(96, () => answers.length);
    for (const { status, headers } of answers)
      assert.deepEqual([status, headers.get("retry-after")], [503, "5"]);
    release();
    await Promise.all(asked);
    assert.equal(answers.filter(({ status }) => status === 200).length, 504);
    assert.ok(reads.most <= 4, `${reads.most} reads at a time`);
  });
});

/** The reads of the store from now on, which wait until they are released. */
function heldReads(store: { read: Store["read"] }) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const reads = { count: 0, now: 0, most: 0 };
  const { read } = store;
  store.read = async (...args) => {
    reads.count += 1;
    reads.now += 1;
    reads.most = Math.max(reads.most, reads.now);
    await released;
    return await read(...args).finally(() => {
      reads.now -= 1;
    });
  };
  return { reads, release };
}
