/** The stored rest of a stream, for a viewer of its channel that returns while its room cannot be entered. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChannelVisitor } from "./support/channel-visitor.ts";
import { MINUTE, watched } from "./support/watched-channel.ts";

const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const FIRST = "live-first1";

type Parts = ReturnType<typeof watched>;
const OBSTACLES: [why: string, settings: object, obstruct: (parts: Parts) => unknown][] = [
  [
    "there is no place for its room",
    { RELAY_MAX_ROOMS: "1" },
    async ({ relay, upstream }) => {
      upstream.chat("other-one-1", CHAT);
      await relay.enter({ videoId: "other-one-1" });
    },
  ],
  [
    "its chat cannot be opened",
    {},
    ({ upstream }) =>
      upstream.fault({ on: ["popout", "watch", "next"], videoId: FIRST, times: 1000, as: "bot" }),
  ],
];

describe("a viewer of a channel that comes back", () => {
  for (const [why, settings, obstruct] of OBSTACLES) {
    it(`gets the stored rest of its stream before the next one if ${why}`, async () => {
      const parts = watched({}, { settings: { RELAY_GRACE_MS: "1000", ...settings } });
      const { relay, channel } = parts;
      const { chat } = channel.broadcast(FIRST, { chat: CHAT });
      const [leaves, stays] = [new ChannelVisitor(relay.service), new ChannelVisitor(relay.service)];
      chat.say(3);
      await relay.advance(MINUTE);
      leaves.news();
      leaves.leave();
      const missed = chat.say(4);
      await relay.advance(MINUTE);
      stays.leave();
      await relay.advance(MINUTE);
      await obstruct(parts);
      const back = new ChannelVisitor(relay.service, leaves.lastId);
      await relay.advance(MINUTE);
      assert.ok(!back.news().includes(`init ${FIRST}`));
      channel.broadcast("live-secon1", { chat: CHAT }).chat.say(2);
      await relay.advance(5 * MINUTE);
      back.news();
      assert.deepEqual(back.ids.slice(0, missed.length), missed);
    });
  }
});
