/** The event `standing` at each of several instances on one PostgreSQL. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StandingData } from "../../src/protocol/chat.ts";
import { eventually } from "../support/eventually.ts";
import { FeaturedViewer } from "../support/featured-viewer.ts";
import { CHAT, setUpInstances, VIDEO } from "../support/instances.ts";
import { testPostgres, UNHEARD } from "../support/postgres-server.ts";
import { roomsIn } from "../support/relay.ts";

const { skip, server } = await testPostgres();
const SETTINGS = { RELAY_LOOK_MS: "200", RELAY_GRACE_MS: "60000" } as const;

describe("the standing of a chat", { skip, timeout: 120_000 }, () => {
  const ways = { "by notices": {}, "by looks, if no notice arrives": { RELAY_STORE_LISTEN_URL: UNHEARD } };
  for (const [way, settings] of Object.entries(ways))
    it(`comes at all instances, ${way}, and through the stop of the one that reads it`, async (t) => {
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
});
