/** Whose polls go first where the gate cannot make all of them. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { standsBack } from "../src/rooms/rank.ts";
import { startSimulator } from "../src/simulator/index.ts";
import { inTime } from "./support/opening.ts";
import { roomsIn, startRelay } from "./support/relay.ts";
import { Stream } from "./support/stream.ts";
import { TEXT } from "./support/watched-room.ts";

it("recorded rooms go first, then watched ones, then those that linger", async () => {
  await using upstream = await startSimulator();
  const rooms = ["recorded--1", "watched---2", "lingering-3"];
  for (const videoId of rooms) upstream.chat(videoId, TEXT).say(1);
  const settings = {
    RELAY_RECORD: "recorded--1",
    RELAY_GATE_SPACING_MS: "40",
    RELAY_POLL_MAX_MS: "5",
    RELAY_MAX_LATENESS_MS: "60000",
  };
  await using relay = await startRelay({ upstream, settings });
  await inTime(upstream.requested("get_live_chat", { videoId: "recorded--1", since: 0 }), "the recording");
  await using watched = await Stream.open(relay.url, { videoId: "watched---2" });
  const lingering = await Stream.open(relay.url, { videoId: "lingering-3" });
  await Promise.all([watched, lingering].map((stream) => inTime(stream.untilMessages(1), "a message")));
  await lingering[Symbol.asyncDispose]();
  await roomsIn(relay, "lingering");
  const before = upstream.requests.length;
  await delay(900); // less than one room stands back behind another
  const asked = upstream.requests.slice(before).map(({ videoId }) => videoId);
  const recorded = asked.filter((videoId) => videoId === "recorded--1").length;
  assert.ok(recorded > asked.length / 2, `${recorded} of ${asked.length}`); // a third, if they took turns
  await inTime(upstream.requested("get_live_chat", { videoId: "watched---2" }), "a poll of the watched room");
});

it("of two rooms alike the livelier goes first, and what comes from another egress last", () => {
  const watched = { isRecorded: false, isWatched: true, isQuiet: false, isNewcomer: false };
  const order = [
    { ...watched, isRecorded: true },
    { ...watched, isRecorded: true, isQuiet: true },
    watched,
    { ...watched, isQuiet: true },
    { ...watched, isWatched: false },
    { ...watched, isNewcomer: true },
    { ...watched, isWatched: false, isQuiet: true, isNewcomer: true },
  ].map(standsBack);
  assert.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
  assert.equal(new Set(order).size, order.length);
});
