/** A room that this instance owns, or no longer does: what it asks of the upstream, and what it leaves in the store. */
import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../src/clock.ts";
import type { Rooms } from "../src/rooms/rooms.ts";
import { FORMS } from "../src/serving/form.ts";
import type { Simulator } from "../src/simulator/index.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { roomsOn } from "./support/rooms-on.ts";
import { own, readAll } from "./support/store-reading.ts";
import { isFenced } from "./support/store-subject.ts";

const VIDEO = "ownership-1";
const GRACE_MS = 40;
const POLL_MS = 200;
const SETTINGS = { RELAY_GRACE_MS: String(GRACE_MS) };
const NEVER = new AbortController().signal;

/** Opens the room with a viewer; what it gives ends the viewer from outside, or tells that it was ended. */
async function watch(rooms: Rooms) {
  const ended = Promise.withResolvers<void>();
  let close = () => {};
  await rooms.enter(
    {
      videoId: VIDEO,
      lastEventId: undefined,
      backfill: undefined,
      address: () => "",
      open: () => ({
        form: FORMS.plain.bare,
        write: () => true,
        written: 0,
        taken: async () => 0,
        end: () => ended.resolve(),
        reset: () => ended.resolve(),
        attach: (owner) => {
          close = () => owner.closed();
        },
      }),
    },
    NEVER,
  );
  return { ended: ended.promise, leave: () => close() };
}

const polls = ({ requests }: Simulator) => requests.filter(({ kind }) => kind === "get_live_chat").length;

/** A room with a viewer, once its first poll is stored and the next one is not due. */
async function polledRoom(t: TestContext) {
  const store = new MemoryStore(systemClock);
  const fixture = await roomsOn(store, SETTINGS);
  t.after(() => fixture[Symbol.asyncDispose]());
  const { rooms, upstream } = fixture;
  const chat = upstream.chat(VIDEO, { timeoutMs: POLL_MS });
  chat.say(3);
  const viewer = await watch(rooms);
  let isEnded = false;
  void viewer.ended.then(() => {
    isEnded = true;
  });
  await upstream.requested("get_live_chat", { finished: true });
  await delay(50);
  return { store, upstream, chat, viewer, isEnded: () => isEnded };
}

it("another owner's room is asked of the upstream no more, left as it is, and never lingers", async (t) => {
  const { store, upstream, viewer, isEnded } = await polledRoom(t);
  const other = await own(store, VIDEO);
  // As where instances share the store: it stays the other one's.
  const freed = (_: string, signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  Object.assign(store.ownership, { take: async () => undefined, freed });
  const before = polls(upstream);
  await delay(2 * POLL_MS);
  assert.equal(polls(upstream), before);
  assert.equal(isEnded(), false, "its viewers follow it");
  viewer.leave();
  await delay(3 * GRACE_MS);
  assert.equal((await store.getRoom(VIDEO))?.end, null);
  assert.equal(polls(upstream), before);
  other.assertHeld();
});

it("a room that nobody else can own is taken back, and read on for its viewers", async (t) => {
  const { store, upstream, chat, viewer, isEnded } = await polledRoom(t);
  const other = await own(store, VIDEO);
  chat.say(2);
  const before = polls(upstream);
  for (const limit = AbortSignal.timeout(5000); polls(upstream) < before + 2; await delay(10))
    assert.ok(!limit.aborted, "it is not read on");
  assert.equal(isEnded(), false);
  assert.throws(() => other.assertHeld(), isFenced);
  assert.equal((await readAll(store, VIDEO)).length, 5);
  viewer.leave();
});

it("a stop waits for the room that is being released", async () => {
  const finishing = Promise.withResolvers<void>();
  class SlowStore extends MemoryStore {
    override async finish(...args: Parameters<MemoryStore["finish"]>): Promise<void> {
      finishing.resolve();
      await delay(60);
      await super.finish(...args);
    }
  }
  const store = new SlowStore(systemClock);
  await using fixture = await roomsOn(store, SETTINGS);
  fixture.upstream.chat(VIDEO, { timeoutMs: 5 }).say(3);
  (await watch(fixture.rooms)).leave();
  await finishing.promise;
  await fixture.rooms.stop();
  assert.equal((await store.getRoom(VIDEO))?.end?.state, "released");
});
