/** The stored rest of a channel's stream, for a viewer that was not in its room. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { HOUR, MINUTE, watched } from "../../support/watched-channel.ts";

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

  it("gets the last messages of its stream, which was over before any process read it again", async () => {
    const settings = { RELAY_CHANNEL_MS: "2000" };
    const { relay, channel, upstream } = watched({}, { settings, hasDisk: true });
    const broadcast = channel.broadcast(FIRST, { chat: CHAT });
    const { chat } = broadcast;
    const viewer = new ChannelVisitor(relay.service);
    const heard = chat.say(3);
    await relay.advance(MINUTE);
    viewer.news();
    assert.deepEqual(viewer.ids, heard);
    relay.kill();
    const missed = chat.say(4);
    broadcast.end("continuations-absent");
    upstream.fault({ on: ["get_live_chat"], times: 1, as: { delayMs: 3000 } });
    relay.start();
    const back = new ChannelVisitor(relay.service, viewer.lastId);
    await relay.advance(MINUTE);
    assert.deepEqual(back.news(), [
      ...["channel waiting", `init ${FIRST}`, `message ${FIRST}`],
      "channel waiting", // again, behind the rest of an earlier stream
    ]);
    assert.deepEqual(back.ids, missed);
    channel.broadcast("live-secon1", { chat: CHAT }).chat.say(2);
    await relay.advance(MINUTE);
    assert.deepEqual(back.news(), ["channel live live-secon1", "init live-secon1", "message live-secon1"]);
  });

  it("gets each message once if the newer stream fails and the channel returns to the earlier one", async () => {
    const settings = { RELAY_FAILING_MS: "0", RELAY_CHANNEL_MS: "10000" };
    const { relay, channel, upstream } = watched({}, { settings });
    const first = channel.broadcast(FIRST, { chat: CHAT });
    const leaves = new ChannelVisitor(relay.service);
    const said = first.chat.say(1);
    await relay.advance(MINUTE);
    leaves.news();
    leaves.leave();
    const second = channel.broadcast("live-secon1", { chat: CHAT });
    await relay.advance(MINUTE);
    const back = new ChannelVisitor(relay.service, leaves.lastId);
    said.push(...second.chat.say(2));
    await relay.advance(MINUTE);
    upstream.fault({ on: ["popout", "watch", "next"], videoId: "live-secon1", times: 1000, as: "bot" });
    second.chat.expireTokens();
    await relay.until(() => back.events.at(-1)?.data.state === "waiting");
    second.end();
    said.push(...first.chat.say(3));
    await relay.advance(MINUTE);
    const [failed = "", ...turned] = back.news().slice(-4);
    assert.match(failed, /^channel waiting YouTube asks/);
    assert.deepEqual(turned, [`channel live ${FIRST}`, `init ${FIRST}`, `message ${FIRST}`]);
    assert.deepEqual(back.ids, said.slice(1));
  });
});

describe("a viewer of a channel that stays", () => {
  it("gets a scheduled stream's chat to its end, even if the page does not list it any more", async () => {
    const { relay, channel, clock } = watched({}, { settings: { RELAY_CHANNEL_MS: "2000" } });
    const scheduled = channel.broadcast(FIRST, { chat: CHAT, startsAt: clock.now() + HOUR });
    const viewer = new ChannelVisitor(relay.service);
    const said = scheduled.chat.say(2);
    await relay.advance(MINUTE);
    channel.remove(scheduled);
    await relay.advance(MINUTE);
    said.push(...scheduled.chat.say(3));
    await relay.advance(10_000);
    scheduled.chat.end("reload-only");
    await relay.advance(10_000);
    assert.deepEqual(viewer.news(), [
      `channel upcoming ${FIRST}`,
      `init ${FIRST}`,
      `message ${FIRST}`,
      "channel waiting",
    ]);
    assert.deepEqual(viewer.ids, said);
  });
});

describe("a slow viewer of a channel", () => {
  it("gets the rest of a stream that goes on before it turns to a newer one", async () => {
    const { relay, channel } = watched({}, { settings: { RELAY_CHANNEL_MS: "2000" } });
    const { chat } = channel.broadcast(FIRST, { chat: CHAT });
    const [slow, quick] = [new ChannelVisitor(relay.service), new ChannelVisitor(relay.service)];
    await relay.advance(1000);
    slow.sink.stall();
    for (let second = 0; second < 10; second++) {
      chat.say(20);
      await relay.advance(1000);
    }
    channel.broadcast("live-secon1", { chat: CHAT }).chat.say(2);
    await relay.advance(10_000);
    assert.equal(quick.news().at(-1), "message live-secon1");
    slow.sink.readOn();
    await relay.advance(1000);
    assert.equal(slow.news().at(-1), "message live-secon1");
    assert.deepEqual(slow.ids, quick.ids);
  });

  it("gets the rest of a room that failed, was read again, and has ended", async () => {
    const settings = { RELAY_FAILING_MS: "0", RELAY_CHANNEL_MS: "2000" };
    const { relay, channel, upstream } = watched({}, { settings });
    const { chat } = channel.broadcast(FIRST, { chat: { ...CHAT, timeoutMs: 1000 } });
    const [slow, quick] = [new ChannelVisitor(relay.service), new ChannelVisitor(relay.service)];
    await relay.advance(1000);
    slow.sink.stall();
    chat.say(100);
    await relay.advance(2000);
    quick.news();
    chat.expireTokens();
    const wall = upstream.fault({ on: ["popout", "watch", "next"], times: 1000, as: "bot" });
    await relay.until(() => quick.events.length > 0);
    wall.cancel();
    await relay.advance(4000);
    chat.say(5);
    chat.end("reload-only");
    await relay.advance(4000);
    assert.deepEqual(quick.news().slice(-2), [`message ${FIRST}`, "channel waiting"]);
    slow.sink.readOn();
    await relay.advance(1000);
    assert.equal(slow.news().at(-1), "channel waiting");
    assert.deepEqual(slow.ids, quick.ids);
  });
});
