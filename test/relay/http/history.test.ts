/** `GET /v1/messages`: pages of a room's history, by cursor and by time, and filtered. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { ENDED } from "../../../src/protocol/chat.ts";
import type { StoredMessage } from "../../../src/store/stored-message.ts";
import { ask, assertRefused } from "../../support/api.ts";
import {
  B,
  channel,
  type KeptMessage,
  type Page,
  placesOf,
  said,
  several,
  withRoom,
} from "../../support/history.ts";
import { startRelay } from "../../support/relay.ts";
import { own } from "../../support/store-reading.ts";
import { OTHER, ROOM } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

describe("a page of history", () => {
  it("begins at the floor, has a hundred messages, and describes its room", async (t) => {
    const { get } = await withRoom(t, several(150));
    const { body, headers } = await get({ videoId: ROOM });
    const { messages, ...rest } = body;
    const chat = { videoId: ROOM, chatType: "liveChatRenderer", chats: ["live"] };
    const room = { ...chat, state: "released", base: B, floor: B, head: B + 150 };
    assert.deepEqual(rest, { ...room, next: B + 100, prev: null });
    assert.deepEqual(
      Object.keys(body),
      "videoId chatType chats state base floor head messages next prev".split(" "),
    );
    assert.deepEqual(
      messages.map(({ cursor, id }) => [cursor, id]),
      several(100).map(({ id }, n) => [B + 1 + n, id]),
    );
    assert.deepEqual(
      Object.keys(messages[0] ?? {}),
      "cursor type id timestamp author message amount color parts".split(" "),
    );
    assert.match(headers.get("content-type") ?? "", /^application\/json/);
  });

  it("is bounded by cursors, both exclusive; with `before` alone it ends there", async (t) => {
    const { get } = await withRoom(t);
    const rows: [Record<string, number>, number[], next: number | null, prev: number | null][] = [
      [{ after: B + 3, limit: 2 }, [4, 5], 5, 4],
      [{ after: B + 8, limit: 2 }, [9, 10], null, 9],
      [{ after: B + 10 }, [], null, 11],
      [{ after: B + 99 }, [], null, 11],
      [{ after: 0, limit: 3 }, [1, 2, 3], 3, null],
      [{ before: B + 4, limit: 2 }, [2, 3], null, 2],
      [{ before: B + 4 }, [1, 2, 3], null, null],
      [{ before: B + 99, limit: 3 }, [8, 9, 10], null, 8],
      [{ before: B + 1 }, [], null, null],
      [{ before: 0 }, [], null, null],
      [{ after: B + 3, before: B + 8, limit: 2 }, [4, 5], 5, null],
      [{ after: B + 5, before: B + 8, limit: 2 }, [6, 7], null, null],
      [{ after: B + 7, before: B + 3 }, [], null, null],
    ];
    for (const [query, places, next, prev] of rows) {
      const found = placesOf(await get({ videoId: ROOM, ...query }));
      assert.deepEqual(found, [places, next, prev], JSON.stringify(query));
    }
  });

  it("is bounded by times, which fall before the first message stored at or after them", async (t) => {
    const { get, store, wall, claim } = await withRoom(t, several(2));
    for (const n of [1, 2, 3]) {
      wall.nowMs = B + 1000 * n;
      await store.append(claim, B + 2 * n, several(2, 2 * n), "");
    }
    const iso = (ms: number) => new Date(B + ms).toISOString();
    const rows: [Record<string, string | number>, number[], next: number | null, prev: number | null][] = [
      [{ from: B + 1000 }, [3, 4, 5, 6, 7, 8], null, null],
      [{ from: B + 1001, limit: 1 }, [5], 5, null],
      [{ from: iso(1000), to: iso(3000) }, [3, 4, 5, 6], null, null],
      [{ from: iso(1000).replace("Z", "+00:00"), to: iso(1001) }, [3, 4], null, null],
      [{ to: B + 2000, limit: 3 }, [1, 2, 3], 3, null],
      [{ from: iso(3000).replace("Z", "0001Z") }, [], null, null],
      [{ from: B + 99_000 }, [], null, null],
      [{ to: B + 99_000, limit: 7 }, [1, 2, 3, 4, 5, 6, 7], 7, null],
      [{ from: 0, to: B }, [], null, null],
      [{ from: B + 1000, after: B + 4, limit: 1 }, [5], 5, 5],
      [{ from: B + 1000, before: B + 5, limit: 1 }, [4], null, 4],
      [{ from: B + 1000, before: B + 5 }, [3, 4], null, null],
      [{ from: B + 2000, after: B + 1 }, [5, 6, 7, 8], null, null],
      [{ to: B + 1000, before: B + 9, limit: 1 }, [2], null, 2],
    ];
    for (const [query, places, next, prev] of rows) {
      const found = placesOf(await get({ videoId: ROOM, ...query }));
      assert.deepEqual(found, [places, next, prev], JSON.stringify(query));
    }
  });

  it("keeps its bounds if pruning overtakes it", async (t) => {
    const { get, store, wall } = await withRoom(t);
    const { read } = store;
    let isPruned = false;
    store.read = async (...args) => {
      wall.nowMs += 1;
      if (!isPruned) await store.prune(0, 3);
      isPruned = true;
      return read(...args);
    };
    assert.deepEqual(placesOf(await get({ videoId: ROOM, before: B + 6, limit: 4 })), [[4, 5], null, null]);
    isPruned = false;
    assert.deepEqual(placesOf(await get({ videoId: ROOM, before: B + 6 })), [[], null, null]);
  });

  it("is empty for a room without messages, and NOT_STORED for a video that was never stored", async (t) => {
    const { get, url, store, wall, upstream } = await withRoom(t);
    wall.nowMs += 1;
    await store.prune(0, 4);
    assert.deepEqual(placesOf(await get({ videoId: ROOM, after: 0, limit: 2 })), [[5, 6], 6, null]);
    assert.deepEqual(placesOf(await get({ videoId: ROOM, before: B + 6 })), [[5], null, null]);
    await store.prune(0, 10);
    assert.deepEqual(placesOf(await get({ videoId: ROOM })), [[], null, null]);
    await own(store, OTHER); // and never reads it
    for (const videoId of [OTHER, "never-heard"]) {
      assertRefused(await ask(url, `/v1/messages?videoId=${videoId}`), 404, "NOT_STORED");
    }
    assert.deepEqual(upstream.requests, []);
  });

  it("includes the details on request", async (t) => {
    const { get } = await withRoom(t);
    const { body } = await get({ videoId: `https://youtu.be/${ROOM}`, details: "true", limit: 1 });
    const storedAt = new Date(B).toISOString();
    assert.deepEqual(body.messages[0]?.details, { storedAt, authorId: channel("ines") });
    assert.equal(body.videoId, ROOM);
  });

  it("is refused for each invalid value and each unknown parameter", async (t) => {
    const { url } = await withRoom(t);
    const rows: [query: string, words: RegExp][] = [
      ["", /^videoId: is required/],
      ["after=x", /^after: /],
      ["after=-1", /^after: /],
      ["after=1.5", /^after: /],
      ["before=", /^before: /],
      ["from=yesterday", /^from: must be ISO 8601 with a zone/],
      ["from=2026-11-20T20:17:31", /^from: /],
      ["from=", /^from: /],
      ["to=2026-02-30T00:00:00Z", /^to: /],
      ["limit=0", /^limit: must be a whole number from 1 to 1000, or all/],
      ["limit=1001", /^limit: /],
      ["limit=1e2", /^limit: /],
      ["limit=", /^limit: /],
      ["limit=all", /^limit: all needs .*ndjson, csv or text/],
      ["limit=all&format=json", /^limit: all /],
      ["types=", /^types: "" /],
      ["types=chat,superchats", /^types: "superchats" .*did you mean superchat\?/],
      ["types=nonsense", /^types: "nonsense" .*chat, paid, members/],
      ["author=", /^author: /],
      ["author=ines", /^author: must be a channel id/],
      [`author=${channel("a")}x`, /^author: /],
      ["q=", /^q: must not be empty/],
      [`q=${"x".repeat(101)}`, /^q: must not be longer than 100/],
      ["details=yes", /^details: must be one of true, false/],
      ["raw=1", /^raw: /],
      ["bom=yes", /^bom: must be one of true, false/],
      ["format=xml", /^format: must be one of json, ndjson, csv, text/],
      ["limits=5", /^limits: .*did you mean limit\?/],
      ["videoid=x", /^videoid: .*did you mean videoId\?/],
      ["somethingElse=5", /^somethingElse: .*videoId, after, before/],
      ["__proto__=5", /^__proto__: /],
      ["limit=5&limit=6", /^limit: must be given only once/],
    ];
    for (const [query, words] of rows) {
      const video = query === "" ? "" : `videoId=${ROOM}&`;
      const answer = await ask(url, `/v1/messages?${video}${query}`);
      assert.match(assertRefused(answer, 400, "INVALID_REQUEST"), words);
    }
    assertRefused(await ask(url, "/v1/messages?videoId=short"), 400, "INVALID_VIDEO_ID");
  });

  it("is 503 while the store does not work", async (t) => {
    const { url, store } = await withRoom(t);
    await store.close();
    assertRefused(await ask(url, `/v1/messages?videoId=${ROOM}`), 503, "STORE_UNAVAILABLE");
  });

  it("neither opens nor keeps a room, and shows the same state as the list of rooms", async () => {
    await using relay = await startRelay({ settings: { RELAY_GRACE_MS: "10" } });
    const chat = relay.upstream.chat(ROOM, { kinds: ["text"], timeoutMs: 5 });
    chat.say(3);
    const page = () => ask<Page>(relay.url, `/v1/messages?videoId=${ROOM}`);
    const listed = () => ask<{ rooms: { state: string }[] }>(relay.url, "/v1/rooms");
    {
      await using stream = await Stream.open(relay.url, { videoId: ROOM });
      await stream.untilMessages(3);
      assert.equal((await page()).body.state, "polling");
    }
    for (;;) {
      const { state } = (await page()).body;
      if (state === "released") break;
      assert.match(state, /^(polling|lingering)$/);
    }
    assert.equal((await listed()).body.rooms[0]?.state, "released");
    const before = relay.upstream.requests.length;
    assert.equal((await page()).body.messages.length, 3);
    assert.equal(relay.upstream.requests.length, before);
  });
});

/** A link as the upstream shows it, and its target. */
const SHOWN = "https://example.org/a/long/path/that/th...";
const WHOLE = "https://www.example.org/a/long/path/that/the/place/has";
const text = (words: string) => ({ kind: "text" as const, text: words });

describe("a filtered page", () => {
  const mixed = [
    said(1, { author: "@Ines", message: "Hello World" }),
    said(2, { author: "@piotr", message: "nothing", type: "superchat" }),
    said("gap:2", { type: "gap", author: "", message: "Messages may be missing." }),
    said(4, { author: "@piotr", message: 'says "hello", twice\n' }),
    said("author_deleted:x", {
      type: "author_deleted",
      author: "",
      message: "",
      details: { target: { authorId: channel("piotr") } },
    } as never),
    said(6, { author: "@ΟΔΟΣ", message: "ΟΔΥΣΣΕΥΣ" }),
    said("hello", { author: "@mia", message: "", type: "membership", details: { level: "hello" } } as never),
    said(8, { author: "@E\u0301milie", message: "か\u3099き\u3099 at the E\u0301cole" }),
    said(9, { author: "@İlker", message: "ＡＢＣ in İstanbul" }),
    said(11, {
      author: "@olga",
      message: `see ${SHOWN} now`,
      parts: [text("see "), { kind: "link", text: SHOWN, url: WHOLE }, text(" now")],
    }),
    said(10, { author: "@Straße", message: 'a cafe\u0301, "quoted"' }),
  ];
  // The gap, number 3, always comes.
  const rows: [title: string, query: Record<string, string>, places: number[]][] = [
    ["finds types", { types: "superchat" }, [2, 3]],
    ["finds groups and blanks", { types: " paid , members" }, [2, 3, 7]],
    ["finds an author by the channel id alone", { author: channel("piotr") }, [2, 3, 4]],
    ["finds words in any letter case", { q: "hELLO" }, [1, 3, 4]],
    ["finds words with quotes and line breaks", { q: '"HELLO", twice\n' }, [3, 4]],
    ["finds words of a name", { q: "@ine" }, [1, 3]],
    ["finds both forms of sigma", { q: "οδυσσευσ" }, [3, 6]],
    ["finds the end of a Greek name", { q: "ΟΔΟΣ" }, [3, 6]],
    ["finds composed letters in their parts", { q: "École" }, [3, 8]],
    ["finds composed kana in their parts", { q: "がぎ" }, [3, 8]],
    ["finds letters in their parts, behind an escape", { q: "café" }, [3, 11]],
    [
      "finds a shortened link by what is not shown",
      { q: "SEE https://www.example.org/a/long/path/that/the/place/has now" },
      [3, 10],
    ],
    ["finds a shortened link as it is shown", { q: "path/that/th... NOW" }, [3, 10]],
    ["finds nothing by the target of another link", { q: "no-such-place" }, [3]],
    ["finds letters of full width", { q: "abc" }, [3, 9]],
    ["finds the dotted capital I", { q: "istanbul" }, [3, 9]],
    ["finds names in any form", { q: "@ilker" }, [3, 9]],
    ["finds nothing that has other accents", { q: "ecole" }, [3]],
    ["finds no ß by ss", { q: "strasse" }, [3]],
    ["finds no words outside of text and author", { q: "superchat" }, [3]],
    ["finds messages by all filters at once", { types: "chat", author: channel("piotr"), q: "says" }, [3, 4]],
  ];
  for (const [title, query, places] of rows) {
    it(title, async (t) => {
      const { get } = await withRoom(t, mixed);
      const { body } = await get({ videoId: ROOM, ...query });
      assert.deepEqual(
        body.messages.map(({ cursor }) => cursor - B),
        places,
      );
    });
  }

  it("leads back to those before it, one by one", async (t) => {
    const { get } = await withRoom(t, mixed);
    for (const [before, ...page] of [
      [12, [4], null, 4],
      [4, [3], null, 3],
      [3, [1], null, null],
    ] as const)
      assert.deepEqual(
        placesOf(await get({ videoId: ROOM, q: "hello", limit: 1, before: B + before })),
        page,
      );
  });

  it("has a shortened link whole in CSV and as text, and in JSON as it is shown", async (t) => {
    const parts = [text("see "), { kind: "link" as const, text: SHOWN, url: WHOLE }];
    const { get, text: textOf } = await withRoom(t, [said(1, { message: `see ${SHOWN}`, parts })]);
    const { body } = await get({ videoId: ROOM });
    assert.deepEqual([body.messages[0]?.message, body.messages[0]?.parts], [`see ${SHOWN}`, parts]);
    assert.match(await textOf({ videoId: ROOM, format: "csv" }), new RegExp(`,see ${WHOLE},`));
    assert.match(await textOf({ videoId: ROOM, format: "text" }), new RegExp(`: see ${WHOLE}\n$`));
  });

  it("searches at most twenty thousand messages, and continues after them", async (t) => {
    const rare = said("rare", { message: "a needle" });
    const { get, store } = await withRoom(t, [...several(21_999), rare, ...several(2, 50_000)]);
    const { read } = store;
    const lengths: number[] = [];
    store.read = (videoId, after, limit) => {
      lengths.push(limit);
      return read(videoId, after, limit);
    };
    const pages: KeptMessage[][] = [];
    for (let query: Record<string, number> = {}; ; ) {
      const { body } = await get({ videoId: ROOM, q: "needle", limit: 1, ...query });
      pages.push(body.messages);
      if (body.next === null) break;
      query = { after: body.next };
    }
    assert.deepEqual(
      pages.map((page) => page.map(({ id }) => id)),
      [[], ["rare"], []],
    );
    const { body } = await get({ videoId: ROOM, q: "needle", before: B + 22_000 });
    assert.deepEqual([body.messages, body.prev], [[], B + 2000]);
    assert.equal(Math.max(...lengths), 500);
    assert.equal(
      lengths.reduce((sum, length) => sum + length, 0),
      22_002 + 20_000,
    );
  });
});

describe("a page of rare types", () => {
  /** A room of `count` messages, of which the third is paid. `rows`: how many its store has read. */
  async function longRoom(t: TestContext, count: number) {
    const messages = [...several(2), said("paid", { type: "superchat" }), ...several(count - 3, 100)];
    const room = await withRoom(t, messages);
    const { store } = room;
    const { read, readTypes } = store;
    let rows = 0;
    const counted = async (reading: Promise<StoredMessage[]>) => {
      rows += (await reading).length;
      return reading;
    };
    store.read = (...asked) => counted(read(...asked));
    store.readTypes = (...asked) => counted(readTypes(...asked));
    return { ...room, rows: () => rows };
  }

  it("finds the only one of 21,000 messages by reading no other, forwards and backwards", async (t) => {
    const { get, text, rows } = await longRoom(t, 21_000);
    const query = { videoId: ROOM, types: "superchat" };
    assert.deepEqual(placesOf(await get(query)), [[3], null, null]);
    assert.deepEqual(placesOf(await get({ ...query, before: B + 21_001 })), [[3], null, null]);
    assert.deepEqual(placesOf(await get({ ...query, after: B + 3 })), [[], null, 4]);
    assert.match(await text({ ...query, format: "csv", limit: "all" }), /^[^\n]*\n[^\n]*paid[^\n]*\n$/);
    assert.equal(rows(), 3);
  });

  it("reads what it contains, and no more", async (t) => {
    const { get, rows, store, claim } = await longRoom(t, 1000);
    const paid = Array.from({ length: 30 }, (_, n) =>
      said(`paid ${n}`, { type: n % 3 ? "superchat" : "raid" }),
    );
    await store.append(claim, B + 1000, paid, "");
    const places = await get({ videoId: ROOM, types: "superchat,raid", limit: 5 });
    assert.deepEqual(placesOf(places), [[3, 1001, 1002, 1003, 1004], 1004, null]);
    const before = await get({ videoId: ROOM, types: "superchat", limit: 5, before: B + 1011 });
    assert.deepEqual(placesOf(before), [[1003, 1005, 1006, 1008, 1009], null, 1003]);
    assert.equal(rows(), 10);
  });
});

it("a finished room is reported as finished", async (t) => {
  const { get, store, claim } = await withRoom(t);
  await store.finish(claim, ENDED);
  assert.equal((await get({ videoId: ROOM })).body.state, "ended");
});
