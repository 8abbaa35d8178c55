/** The featured message of a video at each of several instances on one PostgreSQL. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ask } from "../support/api.ts";
import { deletion, FeaturedViewer, putFeatured, said } from "../support/featured-viewer.ts";
import { CHAT, setUpInstances, VIDEO } from "../support/instances.ts";
import { testPostgres, UNHEARD } from "../support/postgres-server.ts";
import { bearer } from "../support/tokens.ts";

const ADMIN = "an-admin-token-of-a-test";
const { skip, server } = await testPostgres();

describe("a featured message", { skip, timeout: 120_000 }, () => {
  const ways = { "by notices": {}, "by looks, if no notice arrives": { RELAY_STORE_LISTEN_URL: UNHEARD } };
  for (const [way, settings] of Object.entries(ways))
    it(`is the same at all instances, ${way}`, async (t) => {
      const { upstream, start } = await setUpInstances(t, server);
      const chat = upstream.chat(VIDEO, CHAT);
      chat.say([said("first"), said("second")]);
      const given = { ...settings, RELAY_ADMIN_TOKEN: ADMIN };
      const [one, other] = await Promise.all([start(given), start(given)]);
      const path = `/v1/stream?videoId=${VIDEO}&featured=on&details=true`;
      const viewers: FeaturedViewer[] = [];
      for (const { url } of [one, other]) {
        const viewer = await FeaturedViewer.open(url, path);
        t.after(() => viewer[Symbol.asyncDispose]());
        viewers.push(viewer);
        await viewer.untilFeatured(null);
      }
      const seen = async (...ids: (string | null)[]) => {
        for (const viewer of viewers) await viewer.untilFeatured(...ids);
        assert.deepEqual(viewers[0]?.featured, viewers[1]?.featured);
      };
      assert.equal((await putFeatured(other.url, VIDEO, "second", ADMIN)).status, 204);
      await seen(null, "second");
      assert.equal((await putFeatured(one.url, VIDEO, "first", ADMIN)).status, 204);
      await seen(null, "second", "first");
      chat.say([deletion("first")]);
      await seen(null, "second", "first", null);
      for (const { url } of [one, other]) {
        const { body } = await ask(url, `/v1/featured/${VIDEO}`, { headers: bearer(ADMIN) });
        assert.deepEqual(body, { messageId: null });
      }
    });
});
