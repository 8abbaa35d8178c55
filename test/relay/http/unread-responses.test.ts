/** Answers whose clients take nothing: how long they last, and how many bytes of them there may be. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fastify from "fastify";
import { boundUnreadResponses } from "../../../src/http/connections/unread-responses.ts";
import { askRaw } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { said, several, withRoom } from "../../support/history.ts";
import { readLog } from "../../support/log.ts";
import { heldMb } from "../../support/memory.ts";
import { ROOM } from "../../support/store-subject.ts";

/** More than the system takes for a client that reads nothing, also as one page. */
const LONG = Array.from({ length: 2000 }, (_, n) => said(n, { message: "x".repeat(8000) }));
setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

const NEVER_MS = 3_600_000;
const MANY_BYTES = 1e9;
const DOWNLOAD = { videoId: ROOM, limit: "all", format: "ndjson" };
/** The messages are of one letter, which compresses to nothing. */
const PLAIN = { "accept-encoding": "identity" };
const PAGE = { videoId: ROOM, limit: "1000" };

/** A client that reads the beginning of its answer alone: its status. */
async function stalled(t: TestContext, url: string, query: Record<string, string>, headers = "") {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  socket.write(`GET /v1/messages?${new URLSearchParams(query)} HTTP/1.1\r\nHost: a\r\n${headers}\r\n`);
  await once(socket, "readable");
  return { socket, status: String(socket.read(12)).slice(-3) };
}

describe("an answer", () => {
  for (const [name, query] of [
    ["a download", DOWNLOAD],
    ["a page", PAGE],
  ] as const) {
    it(`that is ${name} is closed if its client takes nothing for the time limit of a stall`, async (t) => {
      const answers = { bytes: MANY_BYTES, stallMs: 300 };
      const { url, connections } = await withRoom(t, LONG, {}, { answers });
      await stalled(t, url, query);
      await eventually(0, connections);
    });
  }

  it("is not closed while it waits for the store", async (t) => {
    const answers = { bytes: MANY_BYTES, stallMs: 100 };
    const { store, text } = await withRoom(t, several(500), {}, { answers });
    const { promise: isStalled, resolve: stalled } = Promise.withResolvers<void>();
    const onRequest = (begun: unknown) =>
      void (begun as { response: ServerResponse }).response.once("timeout", () => stalled());
    subscribe("http.server.request.start", onRequest);
    t.after(() => unsubscribe("http.server.request.start", onRequest));
    const { read } = store;
    store.read = async (...args) => {
      await isStalled;
      return read(...args);
    };
    assert.equal((await text(DOWNLOAD)).trimEnd().split("\n").length, 500);
  });

  it("is refused with 503 CAPACITY while the unread ones reach their bound", async (t) => {
    const answers = { bytes: 0, stallMs: NEVER_MS };
    const { url, get, text } = await withRoom(t, LONG, {}, { answers });
    answers.bytes = MANY_BYTES;
    const { length } = await text(PAGE, PLAIN);
    answers.bytes = 2.5 * length;
    const clients: Awaited<ReturnType<typeof stalled>>[] = [];
    for (let i = 0; i < 7; i++) clients.push(await stalled(t, url, PAGE));
    assert.deepEqual(
      clients.map(({ status }) => status),
      ["200", "200", ...Array(5).fill("503")],
    );
    await eventually(true, () => {
      collectGarbage(); // which frees the memory of buffers beside the program, and so a little later
      return process.memoryUsage().arrayBuffers < 4 * length;
    });
    const { status, headers, body } = await get<{ code: string; message: string }>(PAGE, PLAIN);
    assert.deepEqual(
      [status, headers.get("retry-after"), body],
      [503, "30", { code: "CAPACITY", message: "Too many answers wait for their clients to read them." }],
    );
    assert.equal((await get({ videoId: ROOM, limit: 1 })).status, 200); // a small answer
    clients[0]?.socket.destroy();
    await eventually("200", async () => (await stalled(t, url, PAGE)).status);
  });

  it("is small by its bytes, and not by its characters", async (t) => {
    const app = fastify();
    t.after(() => app.close());
    boundUnreadResponses(app, { bytes: 0, stallMs: NEVER_MS });
    app.get("/v1/:letter", ({ params }) => (params as { letter: string }).letter.repeat(8000));
    const statusOf = async (letter: string) =>
      (await app.inject(`/v1/${encodeURIComponent(letter)}`)).statusCode;
    assert.deepEqual([await statusOf("a"), await statusOf("漢")], [200, 503]);
  });

  it("that is refused has no header of the answer that it replaces", async (t) => {
    const answers = { bytes: 0, stallMs: NEVER_MS };
    const { get } = await withRoom(t, several(10), {}, { answers });
    const { status, headers } = await get(DOWNLOAD, { "accept-encoding": "gzip" });
    const names = ["content-encoding", "content-disposition", "etag", "access-control-allow-origin"];
    assert.equal(status, 503);
    assert.deepEqual(
      names.map((name) => headers.get(name)),
      [null, null, null, "*"],
    );
  });

  it("that refuses a log has the security headers of a log", async (t) => {
    const { url } = await withRoom(t, several(200), {}, { answers: { bytes: 0, stallMs: NEVER_MS } });
    const { status, headers } = await readLog(url, ROOM, {}, { headers: PLAIN });
    assert.deepEqual(
      [status, headers.get("x-content-type-options"), headers.get("cross-origin-resource-policy")],
      [503, "nosniff", "cross-origin"],
    );
    assert.equal(headers.has("stream-next-offset"), false);
  });

  it("that is a download counts as 256 KiB, whatever the length of its messages", async (t) => {
    const answers = { bytes: 2.5 * 256 * 1024, stallMs: NEVER_MS };
    const { url } = await withRoom(t, LONG, {}, { answers });
    const statuses: string[] = [];
    for (let i = 0; i < 4; i++) statuses.push((await stalled(t, url, DOWNLOAD)).status);
    assert.deepEqual(statuses, ["200", "200", "503", "503"]);
  });
});

it("an unread download holds no more memory than is counted for it", async (t) => {
  const answers = { bytes: MANY_BYTES, stallMs: NEVER_MS };
  const random = Array.from({ length: 2500 }, (_, n) =>
    said(n, { message: randomBytes(3000).toString("base64") }),
  );
  const { url, connections } = await withRoom(t, random, {}, { answers });
  for (const headers of ["", "Accept-Encoding: gzip\r\n"]) {
    for (const format of ["csv", "ndjson"]) {
      const opened: Socket[] = [];
      const open = async (count: number) => {
        for (let i = 0; i < count; i++)
          opened.push((await stalled(t, url, { ...DOWNLOAD, format }, headers)).socket);
      };
      await open(5);
      const before = heldMb();
      await open(30);
      const each = Math.round(((heldMb() - before) * 1024) / 30);
      for (const socket of opened) socket.destroy();
      await eventually(0, connections);
      t.diagnostic(`${format} ${headers.trim()}: ${each} KB`);
      assert.ok(each <= 256, `${each} KB`);
    }
  }
});

it("a request for a page is refused at once if too many wait already", async (t) => {
  const { store, url } = await withRoom(t);
  const { read } = store;
  const free = Promise.withResolvers<void>();
  let reads = 0;
  store.read = async (...args) => {
    reads += 1;
    await free.promise;
    return read(...args);
  };
  const request = `GET /v1/messages?videoId=${ROOM}&limit=5 HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n`;
  const asked = Array.from({ length: 520 }, () => askRaw(url, request));
  const refused: Headers[] = [];
  const answered = asked.map(async (answer) => {
    const { status, headers } = await answer;
    if (status !== 200) refused.push(headers);
    return status;
  });
  await eventually(16, () => refused.length);
  assert.ok(refused.every((headers) => headers.get("retry-after") === "5"));
  free.resolve();
  const statuses = await Promise.all(answered);
  assert.deepEqual(
    [statuses.indexOf(200) >= 0, statuses.filter((status) => status === 503).length],
    [true, 16],
  );
  assert.equal(reads, 504);
});
