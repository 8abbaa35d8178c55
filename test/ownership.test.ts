/** A room that this instance owns, or no longer does: what it asks of the upstream, and what it leaves in the store. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { systemClock } from "../src/clock.ts";
import { PLAIN } from "../src/rooms/form.ts";
import { Rooms } from "../src/rooms/rooms.ts";
import { type Simulator, startSimulator } from "../src/simulator/index.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { UpstreamCalls } from "../src/upstream/calls.ts";
import { directEgress } from "../src/upstream/egress/egress.ts";
import { Flights } from "../src/upstream/flights.ts";
import { LiveChat } from "../src/upstream/live-chat.ts";
import { testConfig } from "./support/relay.ts";
import { observe } from "./support/store-subject.ts";

const VIDEO = "ownership-1";
const GRACE_MS = 40;
const NEVER = new AbortController().signal;

/** Rooms on a store that the test can reach, and one viewer in the room of the chat. */
async function roomsOn(store: MemoryStore) {
  await using owned = new AsyncDisposableStack();
  const upstream = owned.use(await startSimulator());
  const config = testConfig(upstream, { RELAY_GRACE_MS: String(GRACE_MS) });
  const telemetry = new Telemetry(silentLog);
  const clock = systemClock;
  const egress = directEgress(config.gate, clock, telemetry);
  const calls = new UpstreamCalls({
    ...config,
    hosts: config.upstream,
    flights: new Flights(clock),
    egress,
    telemetry,
  });
  owned.defer(() => calls.close());
  const liveChat = new LiveChat(calls, config.reading, clock, telemetry);
  const rooms = owned.adopt(
    new Rooms({
      store: observe(store, clock, telemetry),
      liveChat,
      clock,
      telemetry,
      settings: config.rooms,
    }),
    (running) => running.stop(),
  );
  const running = owned.move();
  return { rooms, upstream, [Symbol.asyncDispose]: () => running.disposeAsync() };
}

/** Opens the room with a viewer; what it gives ends the viewer from outside, or tells that it was ended. */
async function watch(rooms: Rooms) {
  const ended = Promise.withResolvers<void>();
  let close = () => {};
  await rooms.enter(
    {
      videoId: VIDEO,
      lastEventId: undefined,
      backfill: undefined,
      form: PLAIN,
      open: () => ({
        write: () => true,
        end: () => ended.resolve(),
        reset: () => ended.resolve(),
        onDrain: () => {},
        onClose: (listener) => {
          close = listener;
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
  await using fixture = await roomsOn(store);
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
  await using fixture = await roomsOn(store);
  fixture.upstream.chat(VIDEO, { timeoutMs: 5 }).say(3);
  (await watch(fixture.rooms)).leave();
  await finishing.promise;
  await fixture.rooms.stop();
  assert.equal((await store.getRoom(VIDEO))?.end?.state, "released");
});
