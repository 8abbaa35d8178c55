/**
 * The standing of a chat for instances on one PostgreSQL: whichever reads the room, all wait for a chat that
 * is off or hidden, or whose standing is not known, and for all it ends if it is over.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { assertSame, CHAT, setUpInstances, VIDEO } from "../support/instances.ts";
import { testPostgres } from "../support/postgres-server.ts";
import { roomsIn } from "../support/relay.ts";

const { skip, server } = await testPostgres();
const SETTINGS = { RELAY_LOOK_MS: "200", RELAY_GRACE_MS: "60000" } as const;

/** A chat of three messages that an instance reads, for a viewer there and for one at another instance. */
async function onTwo(t: TestContext) {
  const { upstream, start, watch } = await setUpInstances(t, server);
  const chat = upstream.chat(VIDEO, CHAT);
  chat.say(3);
  const owner = await start(SETTINGS);
  const there = await watch(owner);
  await there.untilMessages(3);
  const other = await start(SETTINGS);
  const here = await watch(other, { lastEventId: 0 });
  await here.untilMessages(3);
  return { upstream, chat, watch, owner, there, other, here };
}

describe("a chat that is not there, on two instances", { skip, timeout: 120_000 }, () => {
  for (const kind of ["off", "private"] as const) {
    it(`is waited for on both if it is ${kind}, through the stop of the one that reads it`, async (t) => {
      const { chat, watch, owner, other, here } = await onTwo(t);
      chat.change({ kind });
      await roomsIn(owner, "waiting");
      const newcomer = await watch(other);
      await newcomer.untilMessages(3);
      await owner[Symbol.asyncDispose]();
      await roomsIn(other, "waiting");
      const later = await watch(other);
      chat.change({ kind: "live" });
      chat.say(2);
      await assertSame([here, newcomer, later], 5);
    });
  }

  for (const kind of ["disabled", "replay", "none"] as const) {
    it(`ends on both if it is ${kind} then, also for viewers that come back`, async (t) => {
      const { chat, watch, owner, there, other, here } = await onTwo(t);
      const first = here.messages[0]?.cursor ?? 0;
      chat.change({ kind });
      const back = async (instance: typeof owner) => await watch(instance, { lastEventId: first });
      for (const stream of [there, here]) assert.equal((await stream.ended())?.event, "end");
      for (const stream of [await back(owner), await back(other)]) {
        assert.equal((await stream.ended())?.event, "end");
        assert.equal(stream.messages.length, 2);
      }
    });
  }

  it("is waited for by a viewer with a cursor at an instance that has never read it", async (t) => {
    const { upstream, start, watch } = await setUpInstances(t, server);
    const chat = upstream.chat(VIDEO, CHAT);
    chat.say(3);
    const settings = { ...SETTINGS, RELAY_GRACE_MS: "1" };
    const first = await start(settings);
    const viewer = await watch(first);
    await viewer.untilMessages(3);
    await viewer.close();
    await roomsIn(first, "polling", 0);
    await roomsIn(first, "lingering", 0);
    chat.change({ kind: "off" });
    const second = await start(settings);
    const refusal = await fetch(`${second.url}/v1/stream?videoId=${VIDEO}`);
    assert.deepEqual([refusal.status, refusal.headers.get("chat-standing")], [404, "off"]);
    const [back, beside] = [await watch(second, { lastEventId: 0 }), await watch(first, { lastEventId: 0 })];
    await roomsIn(second, "waiting");
    chat.change({ kind: "live" });
    chat.say(2);
    await assertSame([back, beside], 5);
  });
});
