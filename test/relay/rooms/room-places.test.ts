/** RELAY_MAX_ROOMS and RELAY_MAX_VIEWERS in virtual time: which chats, and which viewers, take a place. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { requestLog } from "../../harness/origin-api.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";

const [LIVE, OTHER, REPLAY, SECOND] = ["live-first1", "live-secon1", "replay-1st1", "replay-2nd1"];
const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const TOO_MANY = "Too many rooms are open.";
/** Longer than the grace time. */
const GRACE_MS = 100_000;

function relayOfOne() {
  const relay = new VirtualRelay({ settings: { RELAY_MAX_ROOMS: "1" } });
  const { upstream } = relay;
  const chat = upstream.chat(LIVE, CHAT);
  upstream.chat(OTHER, CHAT);
  for (const videoId of [REPLAY, SECOND])
    upstream.chat(videoId, { ...CHAT, kind: "replay", pageSize: 1 }).say(500);
  return { relay, chat };
}

describe("RELAY_MAX_ROOMS", () => {
  it("lets no replay take the place of a live chat", async () => {
    const { relay } = relayOfOne();
    const viewers = [await relay.enter({ videoId: REPLAY }), await relay.enter({ videoId: LIVE })];
    assert.equal((await relay.refusal({ videoId: OTHER })).message, TOO_MANY);
    assert.ok(viewers.every(({ end }) => end === undefined));
  });

  it("limits replays in the same way, apart from live chats", async () => {
    const { relay } = relayOfOne();
    await relay.enter({ videoId: REPLAY });
    const { code, message } = await relay.refusal({ videoId: SECOND });
    assert.deepEqual([code, message], ["CAPACITY", TOO_MANY]);
  });

  it("does not refuse the log of a replay because of live chats", async () => {
    const { relay } = relayOfOne();
    await relay.enter({ videoId: LIVE });
    const path = `/v1/log/${REPLAY}?offset=-1&chat=replay`;
    const { signal } = new AbortController();
    const read = requestLog(relay.service, { path, headers: {} }, "reader", signal);
    assert.equal((await relay.when(read)).statusCode, 200);
    assert.equal((await relay.refusal({ videoId: SECOND })).message, TOO_MANY);
    assert.equal((await relay.refusal({ videoId: OTHER, chat: "replay" })).message, TOO_MANY);
  });

  it("serves a newcomer to a stream whose live chat is over, although others take all places", async () => {
    const { relay, chat } = relayOfOne();
    const viewer = await relay.enter({ videoId: LIVE });
    chat.say(3);
    await viewer.untilMessages(3);
    chat.end("reload-only");
    await viewer.ended();
    chat.change({ kind: "replay" });
    await relay.enter({ videoId: OTHER });
    await relay.advance(GRACE_MS);
    const late = await relay.enter({ videoId: LIVE });
    assert.equal(late.init.chatType, "liveChatReplayRenderer");
    assert.equal((await late.ended())?.event, "end");
    await relay.advance(GRACE_MS);
    const kept = await relay.enter({ videoId: LIVE });
    assert.deepEqual(kept.ids, late.ids);
  });

  it("does not count a video during the search for its chat: the video found first gets the place", async () => {
    const { relay } = relayOfOne();
    relay.upstream.fault({ on: "popout", videoId: OTHER, times: 1, as: { delayMs: 5000 } });
    const late = relay.visit({ videoId: OTHER });
    await relay.requested("popout", { videoId: OTHER, since: 0 });
    const first = await relay.enter({ videoId: LIVE });
    await assert.rejects(relay.when(late.entered), { code: "CAPACITY", message: TOO_MANY });
    assert.equal(first.end, undefined);
  });

  it("refuses one of two rooms that would continue at the same time after a restart", async () => {
    const relay = new VirtualRelay({ settings: { RELAY_MAX_ROOMS: "2" }, hasDisk: true });
    for (const videoId of [LIVE, OTHER]) {
      relay.upstream.chat(videoId, CHAT).say(1);
      await (await relay.enter({ videoId })).untilMessages(1);
    }
    await relay.restart(0, { RELAY_MAX_ROOMS: "1" });
    const visits = [LIVE, OTHER].map((videoId) => relay.visit({ videoId }));
    const entered = await relay.when(Promise.allSettled(visits.map((viewer) => viewer.entered)));
    assert.deepEqual(entered.map(({ status }) => status).sort(), ["fulfilled", "rejected"]);
  });

  it("counts a room that lingers, and none whose chat is over", async () => {
    const { relay, chat } = relayOfOne();
    const viewer = await relay.enter({ videoId: LIVE });
    viewer.leave();
    await relay.advance(1000);
    assert.equal((await relay.refusal({ videoId: OTHER })).message, TOO_MANY);
    await relay.enter({ videoId: LIVE });
    chat.end("continuations-absent");
    await relay.advance(10_000);
    assert.equal(relay.rooms.openHere(LIVE)?.state, "ended");
    await relay.enter({ videoId: OTHER });
    assert.equal(relay.rooms.openHere(OTHER)?.state, "polling");
  });
});

describe("RELAY_MAX_VIEWERS", () => {
  for (const [what, isOpen] of [
    ["an open room", true],
    ["a closed room", false],
  ] as const)
    it(`counts no viewer of ${what} that leaves amid a slow read, and opens no room for it`, async () => {
      const relay = new VirtualRelay({ settings: { RELAY_MAX_VIEWERS: "2" }, hasDisk: true });
      relay.upstream.chat(LIVE, CHAT);
      if (isOpen) await relay.enter({ videoId: LIVE });
      relay.disk.commit = { leastMs: 60_000, jitterMs: 0 };
      const gone = relay.visit({ videoId: LIVE, lastEventId: 1 });
      await relay.advance(1000);
      assert.equal(relay.rooms.viewerCount, isOpen ? 2 : 1);
      gone.leave();
      await relay.advance(1000);
      assert.equal(relay.rooms.viewerCount, isOpen ? 1 : 0);
      await assert.rejects(gone.entered, { message: "the viewer left" });
      await relay.advance(120_000);
      assert.equal(relay.rooms.viewerCount, isOpen ? 1 : 0);
    });
});
