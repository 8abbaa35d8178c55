/** Downloads of a history whose clients take nothing: how long they last, and how many there may be. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "../../../src/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { said, withRoom } from "../../support/history.ts";
import { ROOM } from "../../support/store-subject.ts";

/** More than the system takes for a client that reads nothing. */
const LONG = Array.from({ length: 6000 }, (_, n) => said(n, { message: "x".repeat(5000) }));
const NEVER_MS = 3_600_000;
const QUERY = { videoId: ROOM, limit: "all", format: "ndjson" };

/** A client of a download that reads its beginning alone: its status. */
async function stalled(t: TestContext, url: string): Promise<{ socket: Socket; status: string }> {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  const query = new URLSearchParams(QUERY);
  socket.write(`GET /v1/messages?${query} HTTP/1.1\r\nHost: a\r\n\r\n`);
  await once(socket, "readable");
  return { socket, status: String(socket.read(12)).slice(-3) };
}

describe("a download", () => {
  it("is closed once its client has taken nothing for the time of a stall", async (t) => {
    const { url, connections } = await withRoom(t, LONG, {}, { downloads: { most: 1, stallMs: 300 } });
    await stalled(t, url);
    await eventually(0, connections);
  });

  it("is not closed while it waits for the store", async (t) => {
    const { store, text } = await withRoom(
      t,
      LONG.slice(0, 5000),
      {},
      { downloads: { most: 1, stallMs: 100 } },
    );
    const { read } = store;
    store.read = async (...args) => {
      await systemClock.sleep(150);
      return read(...args);
    };
    assert.equal((await text(QUERY)).trimEnd().split("\n").length, 5000);
  });

  it("above the limit is refused with 503 CAPACITY, until another one is over", async (t) => {
    const { url, get } = await withRoom(t, LONG, {}, { downloads: { most: 2, stallMs: NEVER_MS } });
    const { socket } = await stalled(t, url);
    await stalled(t, url);
    const { status, headers, body } = await get<{ code: string; message: string }>(QUERY);
    assert.deepEqual(
      [status, headers.get("retry-after"), body],
      [503, "30", { code: "CAPACITY", message: "Too many downloads are being sent." }],
    );
    assert.equal((await get({ videoId: ROOM })).status, 200); // a page
    socket.destroy();
    await eventually("200", async () => (await stalled(t, url)).status);
  });
});
