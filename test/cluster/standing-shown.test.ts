/** The event `standing` at each of several instances on one PostgreSQL. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { unlessAborted } from "../../src/base/deadline.ts";
import type { StandingData } from "../../src/protocol/chat.ts";
import { openStore, SHARED_DEFAULTS } from "../../src/store/open.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { eventually, inTime } from "../support/eventually.ts";
import { FeaturedViewer } from "../support/featured-viewer.ts";
import { CHAT, setUpInstances, VIDEO } from "../support/instances.ts";
import { ownSchema, testPostgres, UNHEARD } from "../support/postgres-server.ts";
import { roomsIn } from "../support/relay.ts";
import { own } from "../support/store-reading.ts";
import { openFor, ROOM } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();
/** Between two looks at the rooms of the others while no notice arrives. */
const LOOK_MS = 250;
const SETTINGS = { RELAY_LOOK_MS: "200", RELAY_GRACE_MS: "60000" } as const;

describe("the standing of a chat", { skip, timeout: 120_000 }, () => {
  const ways = { "by notices": {}, "by looks, if no notice arrives": { RELAY_STORE_LISTEN_URL: UNHEARD } };
  for (const [way, settings] of Object.entries(ways))
    it(`comes at all instances, ${way}, and through the stop of its reader`, async (t) => {
      const { upstream, start } = await setUpInstances(t, server);
      const chat = upstream.chat(VIDEO, CHAT);
      chat.say(1);
      const owner = await start({ ...SETTINGS, ...settings });
      const viewed = async ({ url }: { url: string }) => {
        const viewer = await FeaturedViewer.open(url, `/v1/stream?videoId=${VIDEO}&standing=on`);
        t.after(() => viewer[Symbol.asyncDispose]());
        const shown = () =>
          viewer.events.filter(({ event }) => event === "standing").map(({ data }) => data as StandingData);
        return async (...expected: StandingData["state"][]) => {
          await eventually(true, () => shown().length >= expected.length);
          assert.deepEqual(
            shown().map(({ state }) => state),
            expected,
          );
          return shown().at(-1);
        };
      };
      const there = await viewed(owner);
      await there("live");
      const other = await start({ ...SETTINGS, ...settings });
      const here = await viewed(other);
      await here("live");
      chat.change({ kind: "off" });
      await there("live", "waiting");
      assert.deepEqual(await here("live", "waiting"), await there("live", "waiting"));
      chat.change({ kind: "live" });
      await there("live", "waiting", "live");
      await here("live", "waiting", "live");
      chat.change({ kind: "private" });
      assert.match((await here("live", "waiting", "live", "waiting"))?.reason ?? "", /private/);
      const newcomer = await viewed(other);
      await newcomer("waiting");
      await owner[Symbol.asyncDispose]();
      await roomsIn(other, "waiting");
      chat.change({ kind: "live" });
      await newcomer("waiting", "live");
      await here("live", "waiting", "live", "waiting", "live");
    });

  it("is sent when it changes back between two looks, without a notification", async (t) => {
    assert.ok(server);
    const url = await ownSchema(t, server);
    const reader = await openFor(t, url);
    const hold = await own(reader, ROOM);
    const change = (absence: object | undefined) =>
      reader.append(hold, hold.head, [], JSON.stringify({ absence }));
    await change(undefined);
    const { clock, look } = handedLooks();
    const shared = { ...SHARED_DEFAULTS, listenUrl: UNHEARD };
    const other = await openStore(url, clock, new Telemetry(silentLog), { shared });
    const over = new AbortController();
    t.after(() => other.close());
    t.after(() => over.abort());
    void other.follow(ROOM, hold.head, over.signal)[Symbol.asyncIterator]().next();
    const facts = other.fact(ROOM, "standing", over.signal)[Symbol.asyncIterator]();
    const next = async () => (await inTime(facts.next(), "the standing")).value?.value;
    assert.equal(await next(), undefined);
    await look();
    await change({ is: "off", why: "it is off" });
    other.factChanged(ROOM, "standing");
    assert.match((await next()) ?? "", /it is off$/);
    await change(undefined);
    const shown = next();
    await look();
    assert.equal(await shown, undefined);
  });
});

/** A clock of an instance that hears no notice: it looks at the others' rooms when the test says so. */
function handedLooks(): { clock: Clock; look: () => Promise<void> } {
  let looks = Promise.withResolvers<void>();
  let isAsleep = Promise.withResolvers<void>();
  const sleep: Clock["sleep"] = async (ms, signal) => {
    if (ms !== LOOK_MS) return systemClock.sleep(ms, signal);
    isAsleep.resolve();
    await unlessAborted(looks.promise, signal);
  };
  const look = async () => {
    await inTime(isAsleep.promise, "the wait for a look");
    isAsleep = Promise.withResolvers();
    looks.resolve();
    looks = Promise.withResolvers();
    await inTime(isAsleep.promise, "a look");
  };
  return { clock: { ...systemClock, sleep }, look };
}
