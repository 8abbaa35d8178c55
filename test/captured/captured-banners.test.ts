/** Which banners are stackable: the simulator's as the captured ones with the same contents. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { asArray, dig } from "../../src/base/json.ts";
import { capturedFiles, capturedJson, noCaptures } from "../support/captures.ts";
import { firstToken, poll, startFor } from "../support/simulator-reader.ts";

/** By the renderer of its contents: whether a banner is stackable. */
function stackableBanners(actions: readonly unknown[]): Map<string, unknown> {
  const banners = actions.map((action) =>
    dig(action, "addBannerToLiveChatCommand", "bannerRenderer", "liveChatBannerRenderer"),
  );
  return new Map(
    banners
      .filter((banner) => banner !== undefined)
      .map((banner) => [Object.keys(dig(banner, "contents") ?? {})[0] ?? "", dig(banner, "isStackable")]),
  );
}

test("a simulated banner is stackable if the captured one is", { skip: noCaptures }, async (t) => {
  const bodies = capturedFiles("actions").map((name) => capturedJson(name));
  const captured = stackableBanners(bodies.flatMap((body) => asArray(body) ?? [body]));
  const upstream = await startFor(t);
  const chat = upstream.chat("banners0001", { kinds: ["banner", "raid", "summary"] });
  const token = await firstToken(upstream, "banners0001");
  chat.say(60);
  const simulated = stackableBanners((await poll(upstream, token)).actions);
  for (const [contents, isStackable] of captured)
    assert.equal(simulated.get(contents), isStackable, contents);
  assert.equal(captured.size, 3);
});
