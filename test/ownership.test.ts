/** A room that this instance owns, or no longer does: what it asks of the upstream, and what it leaves in the store. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../src/clock.ts";
import type { Rooms } from "../src/rooms/rooms.ts";
import { FORMS } from "../src/serving/form.ts";
import type { Simulator } from "../src/simulator/index.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { roomsOn } from "./support/rooms-on.ts";

const VIDEO = "ownership-1";
const GRACE_MS = 40;
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

it("another owner's room is asked of the upstream no more, left as it is, and never lingers", async () => {
  const store = new MemoryStore(systemClock);
  await using fixture = await roomsOn(store, SETTINGS);
  const { rooms, upstream } = fixture;
  const chat = upstream.chat(VIDEO, { timeoutMs: 200 });
  chat.say(3);
  const viewer = await watch(rooms);
  await upstream.requested("get_live_chat", { finished: true });
  await delay(50); // what it brought is stored, and the next poll is not due
  await store.claim(VIDEO);
  const before = polls(upstream);
  await viewer.ended;
  assert.equal(polls(upstream), before);
  await delay(3 * GRACE_MS);
  assert.equal((await store.getRoom(VIDEO))?.end, null);
  assert.equal(polls(upstream), before);
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
