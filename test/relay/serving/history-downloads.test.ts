/**
 * The formats of a history, by name and by `Accept`, and all of a history as a download, which is read no
 * faster than it is taken.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, it } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { CHAT_TABLE } from "../../../src/serving/history/csv.ts";
import { History } from "../../../src/serving/history/history.ts";
import { LinePrinter, plain } from "../../../src/serving/history/line-printer.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { encodeMessage, type StoredMessage } from "../../../src/store/stored-message.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { documentedMessages } from "../../support/documented-messages.ts";
import { eventually } from "../../support/eventually.ts";
import { B, linksIn, type Page, said, several, withRoom } from "../../support/history.ts";
import { own } from "../../support/store-reading.ts";
import { observe, ROOM } from "../../support/store-subject.ts";

/** One message of each type, with all that it may have. */
const EVERY_TYPE = documentedMessages().map((message, n) => {
  // The clock of the store is in the past, so all are stored when the first one was said.
  const details = { ...message.details, storedAt: "2026-01-02T03:04:05.678Z" };
  return { ...message, id: `${message.id}-${n}`, details } as Message;
});
const RECEIVED = EVERY_TYPE.map((message, n) => ({ ...message, cursor: B + 1 + n }));
const STORED = EVERY_TYPE.map(encodeMessage);
const TYPES = {
  json: "application/json; charset=utf-8",
  ndjson: "application/x-ndjson",
  csv: "text/csv; charset=utf-8",
  text: "text/plain; charset=utf-8",
};

/** The headers of a client that takes nothing compressed. */
const PLAIN = { "accept-encoding": "identity" };

const linesOf = (text: string) => text.trimEnd().split("\n");

describe("a format", () => {
  it("is a JSON line for each message, cursor first", async (t) => {
    const { text } = await withRoom(t, STORED);
    const bare = linesOf(await text({ videoId: ROOM, format: "ndjson" }));
    assert.match(bare[0] ?? "", /^\{"cursor":\d+,"type":/);
    assert.deepEqual(
      bare.map((line) => JSON.parse(line)),
      RECEIVED.map(({ details: _, ...message }) => message),
    );
    const detailed = linesOf(await text({ videoId: ROOM, format: "ndjson", details: "true" }));
    assert.deepEqual(
      detailed.map((line) => JSON.parse(line)),
      RECEIVED,
    );
  });

  it("is CSV with all columns, guarded unless raw, exactly as export writes it", async (t) => {
    const said = EVERY_TYPE.map((message) => ({ ...message, message: `=${message.message}` }));
    const { text } = await withRoom(t, said.map(encodeMessage));
    for (const raw of [false, true]) {
      const rows = said.map((message, n) => CHAT_TABLE.line({ ...message, cursor: B + 1 + n }, raw));
      const sent = await text({ videoId: ROOM, format: "csv", ...(raw && { raw: "true" }) });
      assert.equal(sent, CHAT_TABLE.header + rows.join(""));
    }
  });

  it("is CSV after a byte order mark on request, in a page and in a download", async (t) => {
    const { text } = await withRoom(t, STORED);
    for (const limit of ["1000", "all"]) {
      const query = { videoId: ROOM, format: "csv", limit };
      assert.equal(await text({ ...query, bom: "true" }), `\ufeff${await text(query)}`);
      assert.equal(await text({ ...query, bom: "false" }), await text(query));
      const lines = { ...query, format: "ndjson" };
      assert.equal(await text({ ...lines, bom: "true" }), await text(lines));
    }
  });

  it("is a text line for each message, as watch prints it", async (t) => {
    const { text } = await withRoom(t, STORED);
    const printer = new LinePrinter(plain);
    const expected = RECEIVED.map((message) => printer.line(message)).join("");
    assert.equal(await text({ videoId: ROOM, format: "text" }), expected);
  });

  it("contains no character that could cut a line, in either form of JSON", async (t) => {
    const odd = said(1, { message: "a\u2028b\u0085c\u009bd" });
    const { text } = await withRoom(t, [odd]);
    for (const format of ["json", "ndjson"])
      assert.doesNotMatch((await text({ videoId: ROOM, format })).trimEnd(), /[\p{Cc}\u2028]/u);
  });

  it("is chosen by the parameter, else by Accept, else JSON", async (t) => {
    const { path } = await withRoom(t, STORED);
    const rows: [accept: string | undefined, format: string | undefined, keyof typeof TYPES][] = [
      [undefined, undefined, "json"],
      ["*/*", undefined, "json"],
      ["image/png", undefined, "json"],
      ["application/x-ndjson", undefined, "ndjson"],
      ["text/csv", undefined, "csv"],
      ["TEXT/Plain; charset=utf-8", undefined, "text"],
      ["text/html, text/*;q=0.5, */*;q=0.1", undefined, "csv"],
      ["text/csv;q=0.2, application/x-ndjson;q=0.9", undefined, "ndjson"],
      ["application/json, text/plain, */*", undefined, "json"],
      ["application/json;q=0, text/csv;q=0", undefined, "json"],
      ["text/csv", "text", "text"],
      ["text/csv", "json", "json"],
    ];
    for (const [accept, format, expected] of rows) {
      const url = format === undefined ? path : `${path}&format=${format}`;
      const response = await fetch(url, { headers: accept === undefined ? {} : { accept } });
      assert.equal(response.headers.get("content-type"), TYPES[expected], `${accept} ${format}`);
      await response.body?.cancel();
    }
  });

  it("without a place for the next page names it in Link", async (t) => {
    const { text, url } = await withRoom(t, several(5));
    const seen: number[] = [];
    for (let next = `${url}/v1/messages?videoId=${ROOM}&limit=2&format=ndjson`; next; ) {
      const response = await fetch(next);
      for (const line of linesOf(await response.text())) seen.push(JSON.parse(line).cursor - B);
      const { next: link } = linksIn(response.headers);
      next = link === undefined ? "" : String(new URL(link, next));
    }
    assert.deepEqual(seen, [1, 2, 3, 4, 5]);
    assert.equal(await text({ videoId: ROOM, format: "csv", after: B + 9 }), CHAT_TABLE.header);
    assert.equal(await text({ videoId: ROOM, format: "text", after: B + 9 }), "");
  });
});

describe("a download", () => {
  it("contains all matching messages, whatever the filter, as a file", async (t) => {
    const messages = [...several(20_100), said("rare", { type: "superchat" }), said("last")];
    const { path } = await withRoom(t, messages);
    const all = await fetch(`${path}&limit=all&format=ndjson`, { headers: PLAIN });
    assert.equal(linesOf(await all.text()).length, 20_102);
    assert.equal(all.headers.get("content-disposition"), `attachment; filename="${ROOM}.ndjson"`);
    assert.equal(all.headers.get("cache-control"), "no-cache");
    assert.equal(all.headers.get("link"), null);
    const part = await fetch(`${path}&limit=all&format=text&after=${B + 10}&before=${B + 1500}`);
    assert.equal(linesOf(await part.text()).length, 1489);
    assert.equal(part.headers.get("content-disposition"), `attachment; filename="${ROOM}.txt"`);
    const paid = await fetch(`${path}&limit=all&types=paid`, { headers: { accept: "text/csv" } });
    assert.match(await paid.text(), /^cursor,[^\n]*\r\n\d+,superchat,rare,[^\n]*\r\n$/);
    assert.equal(paid.headers.get("content-disposition"), `attachment; filename="${ROOM}.csv"`);
  });

  it("is compressed if the client accepts it, and 304 until a message is added", async (t) => {
    const { path, store, claim } = await withRoom(t, several(1000));
    const url = `${path}&limit=all&format=ndjson`;
    const zipped = await fetch(url, { headers: { "accept-encoding": "gzip" } });
    assert.equal(zipped.headers.get("content-encoding"), "gzip");
    const plainly = await fetch(url, { headers: PLAIN });
    assert.equal(plainly.headers.get("content-encoding"), null);
    assert.equal(await zipped.text(), await plainly.text());
    const etag = plainly.headers.get("etag") ?? "";
    const again = (address = url) => fetch(address, { headers: { "if-none-match": etag } });
    assert.equal((await again()).status, 304);
    for (const other of [`${path}&limit=all&format=csv`, `${url}&details=true`, `${url}&types=chat`])
      assert.equal((await again(other)).status, 200);
    const bounded = `${url}&before=${B + 500}`;
    const { headers } = await fetch(bounded);
    await store.append(claim, B + 1000, several(1, 1000), "");
    assert.equal((await again()).status, 200);
    // A new message may have blanked one before the bound.
    const known = { "if-none-match": headers.get("etag") ?? "" };
    assert.equal((await fetch(bounded, { headers: known })).status, 200);
  });

  for (const [format, begun] of [
    ["csv", 1],
    ["text", 2], // at a time: a line may name the author of an earlier one
  ] as const)
    it(`as ${format} ${begun === 1 ? "shares" : "does not share"} its pieces with those that wait for the same`, async (t) => {
      const { path, store } = await withRoom(t, several(2000));
      const released = Promise.withResolvers<void>();
      let [requests, reads] = [0, 0];
      const { getRoom, read } = store;
      store.getRoom = (videoId) => {
        requests += 1;
        return getRoom(videoId);
      };
      store.read = async (...args) => {
        reads += 1;
        await released.promise;
        return read(...args);
      };
      const download = async () => {
        const response = await fetch(`${path}&limit=all&format=${format}`, { headers: PLAIN });
        return await response.text();
      };
      const downloads = Array.from({ length: 10 }, download);
      await standstill(() => requests);
      assert.equal(reads, begun);
      released.resolve();
      const [first = "", ...others] = new Set(await Promise.all(downloads));
      assert.equal(others.length, 0);
      assert.ok(linesOf(first).length >= 2000);
    });

  it("does not share its pieces with a download in another format", async (t) => {
    const { path, store } = await withRoom(t, [said(1, { message: "=1" })]);
    const released = Promise.withResolvers<void>();
    const { read } = store;
    store.read = async (...args) => {
      await released.promise;
      return read(...args);
    };
    let requests = 0;
    const texts = ["", "&raw=true"].map(async (written) => {
      const response = await fetch(`${path}&limit=all&format=csv${written}`, { headers: PLAIN });
      requests += 1;
      return await response.text();
    });
    await eventually(2, () => requests);
    released.resolve();
    const [guarded = "", raw = ""] = await Promise.all(texts);
    assert.deepEqual([guarded.includes(",'=1,"), raw.includes(",=1,")], [true, true]);
  });

  it("is read no faster than its client takes it, and stops when the client is gone", async (t) => {
    const long = Array.from({ length: 2500 }, (_, n) => said(n, { message: "x".repeat(5000) }));
    const { url, store } = await withRoom(t, long);
    let [reads, messages] = [0, 0];
    const { read } = store;
    store.read = (videoId, after, limit) => {
      reads += 1;
      messages += limit;
      return read(videoId, after, limit);
    };
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    t.after(() => socket.destroy());
    socket.write(`GET /v1/messages?videoId=${ROOM}&limit=all&format=ndjson HTTP/1.1\r\nHost: a\r\n\r\n`);
    await once(socket, "readable");
    await standstill(() => reads);
    assert.ok(messages > 0 && messages < 1700, `${messages} of 2500 messages`);
    socket.destroy();
    const before = reads;
    await standstill(() => reads);
    assert.ok(reads <= before + 2, `${reads - before} reads for nobody`);
    // The next request finds the turns of the one that is gone free.
    const page = await fetch(`${url}/v1/messages?videoId=${ROOM}&limit=1000`);
    assert.equal(((await page.json()) as Page).messages.length, 1000);
  });

  it("is not read for HEAD, in either coding", async (t) => {
    const { url, store } = await withRoom(t, several(500));
    let reads = 0;
    const { read } = store;
    store.read = (...asked) => {
      reads += 1;
      return read(...asked);
    };
    for (const coding of ["gzip", "identity"]) {
      const { status, headers } = await fetch(`${url}/v1/messages?videoId=${ROOM}&limit=all&format=csv`, {
        method: "HEAD",
        headers: { "accept-encoding": coding },
      });
      assert.equal(status, 200);
      assert.equal(headers.get("content-disposition"), `attachment; filename="${ROOM}.csv"`);
      assert.equal(headers.get("content-encoding"), coding === "gzip" ? "gzip" : null);
      assert.equal(headers.has("content-length"), false);
    }
    await standstill(() => reads);
    assert.equal(reads, 0);
  });
});

/** Resolves when the count has been the same for a while of other requests' work. */
async function standstill(count: () => number): Promise<void> {
  for (let [last, calm] = [count(), 0]; calm < 30; calm = count() === last ? calm + 1 : 0) {
    last = count();
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  }
}

it("a page stops searching once its client is gone", async (t) => {
  const { path, store, connections } = await withRoom(t, several(4000));
  const leaving = new AbortController();
  let reads = 0;
  const { read } = store;
  store.read = async (...args) => {
    reads += 1;
    if (reads === 3) leaving.abort();
    if (reads === 3) await noticed.promise;
    return read(...args);
  };
  const noticed = Promise.withResolvers<void>();
  await assert.rejects(fetch(`${path}&q=nowhere`, { signal: leaving.signal }), { name: "AbortError" });
  await eventually(0, connections);
  noticed.resolve();
  await standstill(() => reads);
  assert.equal(reads, 3);
});

describe("the store of a history", () => {
  const VIDEO = "stored-chat";
  const NEVER = new AbortController().signal;

  /** A relay on a simulated disk, and the history of a room of 2,000 messages on it. */
  async function onDisk() {
    const relay = new VirtualRelay({ hasDisk: true });
    const claim = await relay.when(own(relay.store, VIDEO));
    await relay.when(relay.store.append(claim, claim.head, several(2000), ""));
    return { relay, history: new History(relay.store, relay.clock) };
  }

  it("is waited for in the middle of a download, but not for a page", async () => {
    const { relay, history } = await onDisk();
    const request = { videoId: VIDEO, filter: {} };
    const whole = await relay.when(history.whole(request));
    const seen: StoredMessage[] = [];
    const copying = (async () => {
      for (let place = whole.next(); place; ) {
        const batch = await whole.read(place, NEVER);
        place = whole.next(batch);
        seen.push(...batch.messages);
        const isMiddle = seen.length > 500 && seen.length - batch.messages.length <= 500;
        if (isMiddle) relay.disk.goneUntil = relay.clock.monotonic() + 20_000;
      }
    })();
    await relay.until(() => seen.length > 500);
    await assert.rejects(relay.when(history.page(request, 10, NEVER)), { code: "STORE_UNAVAILABLE" });
    await relay.when(copying);
    assert.deepEqual(
      seen.map(({ id }) => id),
      several(2000).map(({ id }) => id),
    );
  });

  const COUNT = 5000;
  it("is searched in slices, so the event loop runs in between even if the store answers at once", async () => {
    const store = observe(memoryStore(systemClock));
    const claim = await own(store, VIDEO);
    await store.append(claim, claim.head, several(COUNT), "");
    let [now, pauses] = [0, 0];
    const sleep = async () => {
      pauses += 1;
    };
    const monotonic = () => {
      now += 0.1; // each look at the clock
      return now;
    };
    const history = new History(store, { ...systemClock, monotonic, sleep });
    const searches = ["one", "two", "three"].map((text) =>
      history.page({ videoId: VIDEO, filter: { text } }, 10, NEVER),
    );
    await Promise.all(searches);
    const slices = (3 * COUNT * 0.1) / 8 / 10;
    assert.ok(pauses > slices / 2 && pauses < slices * 2, `${pauses} pauses`);
  });

  it("is read for two requests at a time, in turns, and not for clients that are gone", async () => {
    const { relay, history } = await onDisk();
    let [running, most, total] = [0, 0, 0];
    const { read } = relay.store;
    relay.store.read = async (...args) => {
      running += 1;
      total += 1;
      most = Math.max(most, running);
      return read(...args).finally(() => {
        running -= 1;
      });
    };
    const leaving = new AbortController();
    const done: string[] = [];
    const page = (name: string, limit: number, signal = NEVER) =>
      history
        .page({ videoId: VIDEO, filter: {} }, limit, signal)
        .then(() => done.push(name))
        .catch(() => done.push(`${name} gone`));
    const pages = [
      page("long", 2000),
      page("gone", 2000, leaving.signal),
      ...["a", "b", "c"].map((name) => page(name, 100)),
    ];
    leaving.abort();
    await relay.when(Promise.all(pages));
    assert.equal(most, 2);
    assert.ok(total <= 4 + 1 + 3, `${total} reads`);
    assert.deepEqual(done, ["gone gone", "a", "b", "c", "long"]);
  });
});
