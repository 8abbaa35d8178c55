/** What a video is: its title, its channel, its begin and end, as pages show them and rooms keep them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Recordings } from "../../../src/rooms/recordings/recordings.ts";
import { VirtualRelay, type VirtualRelayOptions } from "../../harness/virtual-relay.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { recorderOf } from "../../support/recorder-parts.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";

const VIDEO = "facts-video";
const HANDLE = "@teller";
/** Longer than it takes until `next` was asked. */
const SOON_MS = 10_000;
const MINUTE = 60_000;
/** Longer than the grace time. */
const LATER_MS = 100_000;

/** A relay, and the live broadcast of a channel. */
function stage(chat: object = {}, options: VirtualRelayOptions = {}) {
  const relay = new VirtualRelay({ hasDisk: true, ...options });
  const channel = relay.upstream.channel(HANDLE, { title: "The Teller" });
  const broadcast = channel.broadcast(VIDEO, { title: "A first title", chat: { kinds: ["text"], ...chat } });
  broadcast.chat.say(3);
  const { channelId } = channel;
  const began = secondOf(relay);
  const named = { id: channelId, name: "The Teller", handle: HANDLE };
  return { relay, channel, broadcast, began, named };
}

async function told(relay: VirtualRelay, chat?: "live" | "replay") {
  const { title, channel, startedAt, endedAt } = await relay.when(relay.list.show(VIDEO, chat, true));
  return { title, channel, startedAt, endedAt };
}

/** The time now, as pages name times. */
function secondOf({ clock }: VirtualRelay): string {
  return new Date(Math.floor(clock.now() / 1000) * 1000).toISOString();
}

const calls = ({ upstream }: VirtualRelay, kind: string) =>
  upstream.requests.filter((request) => request.kind === kind).length;

/** Watchers that ask the pages of a video whether its chat is over, after the end of its room. */
const WATCHERS = {
  "a recording": (relay: VirtualRelay) =>
    new Recordings([VIDEO], recorderOf(relay), new AbortController().signal).start({ isListRun: false }),
  "a viewer of its channel": ({ service }: VirtualRelay) =>
    new ChannelVisitor(service, undefined, { channel: HANDLE }),
};

describe("what a video is", () => {
  it("is asked of next, once, if the popout page alone was loaded", async () => {
    const { relay, named } = stage();
    const viewer = await relay.enter({ videoId: VIDEO });
    assert.equal(calls(relay, "watch"), 0);
    await relay.advance(SOON_MS);
    const known = { title: "A first title", channel: named, startedAt: undefined, endedAt: undefined };
    assert.deepEqual(await told(relay), known);
    assert.deepEqual(
      (await relay.when(relay.list.all())).map(({ title, channel }) => ({ title, channel })),
      [{ title: known.title, channel: named }],
    );
    viewer.leave();
    for (const restart of [false, true, false]) {
      await relay.advance(LATER_MS);
      if (restart) await relay.restart();
      const again = await relay.enter({ videoId: VIDEO });
      await relay.advance(SOON_MS);
      again.leave();
    }
    assert.equal(calls(relay, "next"), 1);
    assert.deepEqual(await told(relay), known);
  });

  it("is asked again after a minute, and after two more, if next does not answer", async () => {
    const { relay, named } = stage();
    relay.upstream.fault({ on: "next", times: 2, as: "quota" });
    await relay.enter({ videoId: VIDEO });
    await relay.advance(SOON_MS);
    assert.equal(calls(relay, "next"), 1);
    await relay.advance(MINUTE);
    assert.equal(calls(relay, "next"), 2);
    await relay.advance(2 * MINUTE - SOON_MS);
    assert.equal(calls(relay, "next"), 2);
    await relay.advance(2 * SOON_MS);
    assert.equal(calls(relay, "next"), 3);
    const { title, channel } = await told(relay);
    assert.deepEqual({ title, channel }, { title: "A first title", channel: named });
  });

  it("is shown by the watch page where that is loaded, with the begin, and next is not asked", async () => {
    const { relay, named, began } = stage({ foundOn: "watch" });
    await relay.enter({ videoId: VIDEO });
    const known = { title: "A first title", channel: named, startedAt: began, endedAt: undefined };
    assert.deepEqual(await told(relay), known);
    await relay.advance(SOON_MS);
    assert.deepEqual([calls(relay, "watch"), calls(relay, "next")], [1, 0]);
  });

  it("changes with the title, and has the end, for the live chat and for the replay", async () => {
    const { relay, broadcast, began } = stage({ foundOn: "watch" });
    const viewer = await relay.enter({ videoId: VIDEO });
    broadcast.title = "A second title";
    await relay.advance(SOON_MS);
    const ended = secondOf(relay);
    broadcast.end("reload-only");
    await viewer.ended();
    await relay.advance(LATER_MS);
    broadcast.chat.change({ kind: "replay" });
    const reader = await relay.enter({ videoId: VIDEO });
    assert.equal(reader.init?.chatType, "liveChatReplayRenderer");
    await reader.ended();
    for (const chat of ["live", "replay"] as const) {
      const { title, startedAt, endedAt } = await told(relay, chat);
      assert.deepEqual(
        { title, startedAt, endedAt },
        { title: "A second title", startedAt: began, endedAt: ended },
      );
    }
    assert.equal(calls(relay, "next"), 0);
  });

  it("has the times of a watch page that shows no chat, though next is asked after it", async () => {
    const { relay, broadcast, began, named } = stage();
    const viewer = await relay.enter({ videoId: VIDEO });
    await relay.advance(SOON_MS);
    const ended = secondOf(relay);
    broadcast.end("no-contents");
    await viewer.ended();
    assert.deepEqual([calls(relay, "watch"), calls(relay, "next")], [1, 2]);
    const known = { title: "A first title", channel: named, startedAt: began, endedAt: ended };
    assert.deepEqual(await told(relay), known);
  });

  for (const [who, watch] of Object.entries(WATCHERS))
    for (const isReplayed of [false, true])
      it(`has the times of pages asked for ${who} about its end${isReplayed ? ", with its replay" : ""}`, async () => {
        const { relay, broadcast, began } = stage();
        watch(relay);
        await relay.advance(SOON_MS);
        const ended = secondOf(relay);
        broadcast.end("reload-only");
        await relay.requested("get_live_chat", { finished: true });
        assert.equal(calls(relay, "watch"), 0);
        if (isReplayed) broadcast.chat.change({ kind: "replay" });
        await relay.advance(MINUTE);
        const { startedAt, endedAt } = await told(relay, "live");
        assert.deepEqual({ startedAt, endedAt }, { startedAt: began, endedAt: ended });
      });

  it("has no begin while the stream is only scheduled", async () => {
    const { relay, channel } = stage();
    const scheduled = channel.broadcast("facts-later", {
      title: "Tomorrow",
      startsAt: relay.clock.now() + 86_400_000,
      chat: { foundOn: "watch" },
    });
    await relay.enter({ videoId: scheduled.videoId });
    const { title, startedAt } = await relay.when(relay.list.show(scheduled.videoId, undefined, true));
    assert.deepEqual([title, startedAt], ["Tomorrow", undefined]);
  });

  it("is in the first frame with details, and only there, also at an edge", async () => {
    const { relay, named, began } = stage({ foundOn: "watch" });
    await relay.enter({ videoId: VIDEO });
    const details = { title: "A first title", channel: named, startedAt: began };
    const { life } = await virtualEdge(relay);
    for (const rooms of [relay.rooms, life.rooms]) {
      const detailed = await relay.enter({ videoId: VIDEO, details: true }, rooms);
      assert.deepEqual(detailed.init?.details, details);
      const plain = await relay.enter({ videoId: VIDEO }, rooms);
      assert.equal(plain.init?.details, undefined);
    }
  });

  it("is shown by an edge that began to follow before the origin knew it, and on a bounded stream", async () => {
    const { relay, named } = stage();
    const { life } = await virtualEdge(relay);
    const asked = { videoId: VIDEO, details: true, backfill: 0 };
    const first = await relay.enter(asked, life.rooms);
    assert.equal(first.init?.details, undefined);
    await relay.advance(SOON_MS);
    const known = { title: "A first title", channel: named };
    for (const bound of [{ until: "now" } as const, {}]) {
      const later = await relay.enter({ ...asked, ...bound }, life.rooms);
      assert.deepEqual(later.init?.details, known);
    }
  });

  it("holds the place of other calls for five seconds at most, if next never answers", async () => {
    const { relay } = stage({ timeoutMs: 1000 }, { settings: { RELAY_GATE_CONCURRENCY: "2" } });
    relay.upstream.fault({ on: "next", times: 1, as: "silent" });
    relay.upstream.chat("another-one", { kinds: ["text"] });
    await relay.enter({ videoId: VIDEO });
    await relay.requested("next");
    const beganAt = relay.clock.monotonic();
    await relay.enter({ videoId: "another-one" });
    const tookMs = relay.clock.monotonic() - beganAt;
    assert.ok(tookMs < 7000, `a newcomer to another chat waited ${tookMs} ms`);
  });

  it("is not asked again if next shows nothing, and a failing next harms nobody", async () => {
    for (const isFailing of [false, true]) {
      const relay = new VirtualRelay({ hasDisk: true });
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
      if (isFailing) relay.upstream.fault({ on: "next", times: 1, as: { status: 500 } });
      const viewer = await relay.enter({ videoId: VIDEO });
      await relay.advance(SOON_MS);
      chat.say(2);
      await viewer.untilMessages(2);
      viewer.leave();
      await relay.advance(LATER_MS);
      await relay.enter({ videoId: VIDEO });
      await relay.advance(SOON_MS);
      assert.equal(calls(relay, "next"), isFailing ? 2 : 1);
      assert.deepEqual(Object.values(await told(relay)), [undefined, undefined, undefined, undefined]);
    }
  });
});
