/**
 * Viewers of rare types in a long chat, on a store and at an edge: they get the newest of these, however far
 * back they are, and the log is not read for the messages in between.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { dig } from "../../../simulator/plain-json.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { filterAsked } from "../../../src/http/filter-query.ts";
import { OriginHttpConnections } from "../../../src/origin/http-connections.ts";
import { Origin } from "../../../src/origin/origin.ts";
import { OriginRoomLog } from "../../../src/origin/origin-log.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { Room, type StreamRequest } from "../../../src/serving/room.ts";
import type { RoomLog } from "../../../src/serving/room-log.ts";
import type { EncodedMessage, StoredMessage } from "../../../src/store/stored-message.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { OriginEvents } from "../../../src/telemetry/origin-events.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { B, said, several, withRoom } from "../../support/history.ts";
import { ROOM } from "../../support/store-subject.ts";

const SETTINGS = { keepaliveMs: 60_000, isBlanking: false };
/** Many times what may be read for a viewer of rare types. */
const COUNT = 6000;

/** A chat of 6,000 messages; those at these places are of rare types. */
function chatWith(types: Readonly<Record<number, string>>): EncodedMessage[] {
  const chat = several(COUNT);
  for (const [place, type] of Object.entries(types)) {
    chat[Number(place) - 1] = said(`rare ${place}`, { type } as object);
  }
  return chat;
}

/** A room of a stored chat whose viewers' streams end with it. */
async function roomOf(t: TestContext, chat: readonly EncodedMessage[], isAtEdge: boolean) {
  const { store, url } = await withRoom(t, [...chat]);
  const telemetry = new Telemetry(silentLog);
  const origin = new Origin(url, new OriginHttpConnections(url), systemClock, 1000);
  t.after(() => origin.close());
  const events = new OriginEvents(telemetry);
  const log: RoomLog = isAtEdge ? new OriginRoomLog(origin, systemClock, events) : store;
  let rows = 0;
  const counted = async (reading: Promise<StoredMessage[]>) => {
    rows += (await reading).length;
    return reading;
  };
  const { read, readTypes } = store;
  store.read = (...asked) => counted(read(...asked));
  store.readTypes = (...asked) => counted(readTypes(...asked));
  const room = new Room(ROOM, B + chat.length, {
    store: log,
    clock: systemClock,
    telemetry,
    census: { viewers: 0 },
    settings: SETTINGS,
  });
  room.bound("left", ["live"]);
  /** The start of a stream and the places that it contains. */
  const stream = async (types: string, asked: Partial<StreamRequest>) => {
    const lines: string[] = [];
    const sink = new SimulatedSink(FORMS.ndjson.plain.bare, (bytes) => {
      lines.push(...bytes.toString().trim().split("\n"));
    });
    const wanted = {
      videoId: ROOM,
      lastEventId: undefined,
      backfill: undefined,
      filter: filterAsked({ types }),
    };
    await room.add({ ...wanted, address: () => "", openSink: () => sink, ...asked });
    await sink.closed;
    const frames = lines.map((line) => JSON.parse(line) as unknown);
    const cursors = (event: string) =>
      frames
        .filter((frame) => dig(frame, "event") === event)
        .map((frame) => Number(dig(frame, "cursor")) - B);
    return { start: cursors("init"), places: cursors("message") };
  };
  return { stream, rows: () => rows };
}

for (const isAtEdge of [false, true])
  describe(`a viewer of rare types ${isAtEdge ? "at an edge" : "of a store"}`, () => {
    it("gets the only paid message of 6,000 by a backfill, and each gap after it", async (t) => {
      const chat = chatWith({ 90: "gap", 100: "superchat", 3000: "gap", 4000: "raid" });
      const { stream, rows } = await roomOf(t, chat, isAtEdge);
      assert.deepEqual(await stream("superchat", { backfill: 50 }), { start: [99], places: [100, 3000] });
      assert.ok(rows() <= 10, `${rows()} rows`);
    });

    it("gets the newest of these that it asks for", async (t) => {
      const places = [5, 100, 200, 5000, 5900];
      const chat = chatWith(Object.fromEntries(places.map((place) => [place, "raid"])));
      const { stream, rows } = await roomOf(t, chat, isAtEdge);
      for (const count of [1, 3, 5])
        assert.deepEqual(await stream("raid,superchat", { backfill: count }), {
          start: [(places.at(-count) ?? 0) - 1],
          places: places.slice(-count),
        });
      assert.ok(rows() <= 25, `${rows()} rows`);
    });

    it("resumes far back without reading messages of other types", async (t) => {
      const { stream, rows } = await roomOf(t, chatWith({ 100: "superchat", 200: "superchat" }), isAtEdge);
      const resumed = await stream("superchat", { lastEventId: B + 100 });
      assert.deepEqual(resumed, { start: [100], places: [200] });
      assert.ok(rows() <= 5, `${rows()} rows`);
    });

    it("gets all of many long ones once and in order, and the store is asked for each hundred once", async (t) => {
      const paid = (n: number) => said(n, { type: "superchat", message: "x".repeat(3000) });
      const chat = Array.from({ length: 3000 }, (_, n) => (n % 10 ? said(n) : paid(n)));
      const { stream, rows } = await roomOf(t, chat, isAtEdge);
      const { places } = await stream("superchat", { lastEventId: B });
      assert.deepEqual(
        places,
        Array.from({ length: 300 }, (_, n) => 10 * n + 1),
      );
      assert.ok(rows() <= 310, `${rows()} rows`);
    });
  });

it("a viewer of plain chat gets the newest of it from far back, too", async (t) => {
  const chat = Array.from({ length: 3000 }, (_, n) =>
    said(n, { type: n < 20 ? "chat" : "membership" } as object),
  );
  const { stream } = await roomOf(t, chat, false);
  const { start, places } = await stream("chat", { backfill: 5 });
  assert.deepEqual([start, places], [[15], [16, 17, 18, 19, 20]]);
});
