/** The pages that watchers of channels cost, and what they see if none can be read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RelayError } from "../../../src/protocol/errors.ts";
import { Broadcasts } from "../../../src/rooms/channels/broadcasts.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { heldMb } from "../../support/memory.ts";
import { HANDLE, HOUR, MINUTE, watched } from "../../support/watched-channel.ts";

/** Each one would keep about a kilobyte. */
const VISITS = 2500;
const MOST_MB = 0.75;

describe("the pages of a watched channel", () => {
  it("cost one look a minute for a hundred watchers, and none without watchers", async () => {
    const { relay, channel, watcher, looks } = watched();
    channel.broadcast("live-first1");
    const watchers = Array.from({ length: 100 }, () => watcher());
    await relay.advance(10 * MINUTE - 1);
    assert.equal(looks().length, 11, "the first look is two pages, and each later one the tab");
    assert.ok(watchers.every(({ states }) => states.length === 1));
    for (const one of watchers) one.leave();
    await relay.advance(HOUR);
    assert.equal(looks().length, 11);
    const again = watcher();
    await relay.advance(1000);
    assert.deepEqual([looks().length, again.last?.state], [13, "live"]);
  });

  it("are not loaded again for a watcher that returns within the interval", async () => {
    const { relay, watcher, looks } = watched();
    for (let visit = 0; visit < 20; visit++) {
      const seen = watcher();
      await relay.advance(1000);
      assert.equal(seen.last?.state, "waiting");
      seen.leave();
      await relay.advance(1000);
    }
    assert.equal(looks().length, 2);
  });

  it("are loaded for the next watcher if the first left before it was shown anything", async () => {
    const { relay, upstream, watcher } = watched();
    upstream.fault({ on: "live", times: 1, as: { delayMs: 10_000 } });
    const first = watcher();
    await relay.advance(2000);
    first.leave();
    await relay.advance(1);
    const second = watcher();
    await relay.advance(2000);
    assert.equal(second.last?.state, "waiting");
  });

  it("are loaded again after RELAY_LOOK_MS if the last watcher has left during a look", async () => {
    const { relay, channel, upstream, watcher } = watched({}, { settings: { RELAY_LOOK_MS: "2000" } });
    const first = watcher();
    await relay.advance(MINUTE - 1000);
    upstream.fault({ on: "live", times: 1, as: { delayMs: 5000 } });
    channel.broadcast("live-first1");
    await relay.requested("live");
    first.leave();
    await relay.advance(10);
    const second = watcher();
    await relay.advance(1500);
    assert.equal(second.last?.state, "waiting");
    await relay.advance(1000);
    assert.equal(second.last?.state, "live");
  });

  it("are loaded as often as RELAY_CHANNEL_MS says", async () => {
    const { relay, watcher, looks } = watched({}, { settings: { RELAY_CHANNEL_MS: "5000" } });
    watcher();
    await relay.advance(MINUTE - 1);
    assert.equal(looks().length, 2 * 12);
  });

  it("take precedence over those of a flood of names that may be invented", async () => {
    const { relay, upstream, watcher, settled } = watched();
    await settled();
    await relay.advance(MINUTE / 2 - 1000);
    for (let i = 0; i < 100; i++) watcher(`@made-up-${i}`);
    await relay.advance(10_000);
    const [first, second] = upstream.requests.filter(
      ({ kind, channel }) => kind === "live" && channel === HANDLE,
    );
    assert.ok(first && second && second.at - first.at < MINUTE + 2000);
  });

  it("are not displaced by a flood of the first watcher's address if another address waits, too", async () => {
    const { relay, upstream, watcher } = watched({}, { settings: { RELAY_MAX_ROOMS: "10" } });
    upstream.fault({ on: "live", times: Number.POSITIVE_INFINITY, as: "silent" });
    for (let i = 0; i < 20; i++) watcher(`@before-${i}`, "192.0.2.8");
    await relay.advance(10);
    watcher(HANDLE, "192.0.2.9");
    const other = watcher();
    for (let i = 0; i < 1200; i++) watcher(`@made-up-${i}`, "192.0.2.9");
    await relay.advance(100);
    assert.equal(other.error, undefined);
  });

  it("are counted in metrics, and each change is logged", async () => {
    const { relay, upstream, channel, settled } = watched();
    const seen = await settled();
    assert.equal(await relay.metric("relay_channels"), 1);
    channel.broadcast("live-first1");
    await relay.advance(2 * MINUTE);
    upstream.fault({ on: ["live", "streams"], times: 2, as: "consent" });
    await relay.advance(MINUTE);
    const looks = (outcome: string) => relay.metric(`relay_channel_looks_total{outcome="${outcome}"}`);
    assert.deepEqual(await Promise.all(["nothing", "live", "unreadable"].map(looks)), [1, 2, 1]);
    const lines = relay.log.filter(({ msg }) => msg.startsWith("channel "));
    assert.deepEqual(
      lines.map(({ level, msg, channel: name, videoId }) => [level, msg, name, videoId]),
      [
        [30, "channel waiting", HANDLE, undefined],
        [30, "channel live", HANDLE, "live-first1"],
      ],
    );
    seen.leave();
    await relay.advance(1000);
    assert.equal(await relay.metric("relay_channels"), 0);
  });
});

describe("a channel that cannot be read", () => {
  it("is waited for with the reason, and read as soon as the wall is gone", async () => {
    const { relay, upstream, channel, settled } = watched();
    const live = channel.broadcast("live-first1");
    const wall = upstream.fault({ on: ["live", "streams"], times: 100, as: "consent" });
    const seen = await settled();
    await relay.advance(10 * MINUTE);
    const why = "YouTube asks for consent to cookies in place of the page";
    assert.deepEqual(seen.news(), [`waiting ${why}`]);
    wall.cancel();
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["live live-first1"]);
    upstream.fault({ on: ["live", "streams"], times: 20, as: "consent" });
    await relay.advance(10 * MINUTE);
    assert.deepEqual(seen.news(), [], "a wall in front of the pages does not end a chat");
    live.end();
    seen.watch.ended("live-first1");
    await relay.advance(1000);
    assert.deepEqual(seen.news(), [`waiting ${why}`]);
  });

  it("is not looked at during a cooldown of pages, however long", async () => {
    const { relay, upstream, watcher, looks } = watched();
    const headers = { "Retry-After": "600" };
    upstream.fault({ on: "live", times: 1, as: { status: 429, headers } });
    const seen = watcher();
    await relay.advance(9.9 * MINUTE);
    assert.deepEqual(seen.news(), ["waiting YouTube is throttling this server"]);
    assert.equal(looks().length, 1);
    await relay.advance(MINUTE);
    assert.deepEqual(seen.news(), ["waiting"]);
  });

  it("is looked at again as soon as one of two throttled egresses may, not when both may", async () => {
    const { relay, upstream, watcher, looks } = watched(
      {},
      { settings: { RELAY_EGRESS: "a=direct,b=direct" } },
    );
    const throttles = (from: string, seconds: number) =>
      upstream.fault({
        on: "live",
        from,
        times: 1,
        as: { status: 429, headers: { "Retry-After": `${seconds}` } },
      });
    throttles("a", 120);
    throttles("b", 86_400);
    const seen = watcher();
    await relay.advance(1.9 * MINUTE);
    assert.deepEqual(seen.news(), ["waiting YouTube is throttling this server"]);
    assert.equal(looks().length, 2);
    await relay.advance(2 * MINUTE);
    assert.deepEqual(seen.news(), ["waiting"]);
  });

  it("is also waited for without a network", async () => {
    const { relay, clock, channel, watcher } = watched();
    channel.broadcast("live-first1");
    relay.network.refusesUntil = clock.monotonic() + 5 * MINUTE;
    const seen = watcher();
    await relay.advance(7 * MINUTE);
    const [reason = "", live, ...more] = seen.news();
    assert.match(reason, /^waiting main\.simulated cannot be reached/);
    assert.deepEqual([live, ...more], ["live live-first1"]);
  });

  it("is refused to its watchers, and to later ones without a new look until the interval is over", async () => {
    const { relay, watcher, looks } = watched({ state: "gone" });
    for (let visit = 0; visit < 3; visit++) {
      const seen = watcher();
      await relay.advance(5000);
      assert.ok(seen.error instanceof RelayError && seen.error.code === "NO_LIVE_CHAT");
      assert.match(seen.error.message, /^There is no channel @somebody on YouTube/);
    }
    assert.equal(looks().length, 2);
  });

  it("ends no chat if it was known and is not found, and is looked for at growing waits", async () => {
    const { relay, channel, settled, looks } = watched();
    const live = channel.broadcast("live-first1");
    const seen = await settled();
    channel.change({ state: "gone" });
    await relay.advance(5 * MINUTE);
    assert.deepEqual([seen.error, seen.news()], [undefined, ["live live-first1"]]);
    live.end();
    seen.watch.ended("live-first1");
    await relay.advance(HOUR);
    const why = "waiting There is no channel @somebody on YouTube";
    assert.deepEqual([seen.error, seen.news()], [undefined, [why]]);
    const began = looks().filter(({ kind }) => kind === "live" || kind === "streams");
    assert.ok(began.length < 30, `${began.length} pages`);
    channel.change({ state: "open" });
    channel.broadcast("live-secon1");
    await relay.advance(10 * MINUTE);
    assert.deepEqual(seen.news(), ["live live-secon1"]);
  });

  it("waits for a later watcher, too, if it was known and is not found", async () => {
    const { relay, channel, settled, watcher } = watched();
    const first = await settled();
    first.leave();
    await relay.advance(5 * MINUTE);
    watcher("@other").leave(); // the watch of the first is dropped
    channel.change({ state: "gone" });
    const seen = watcher();
    await relay.advance(MINUTE);
    const why = "waiting There is no channel @somebody on YouTube";
    assert.deepEqual([seen.error, seen.news()], [undefined, [why]]);
  });

  it("waits after a restart if its videos are stored and it is not found, and their rest is served", async () => {
    const { relay, channel } = watched({}, { hasDisk: true });
    const { chat } = channel.broadcast("live-first1", { chat: { kinds: ["text"], timeoutMs: 5000 } });
    const said = chat.say(3);
    const first = new ChannelVisitor(relay.service);
    await relay.advance(MINUTE);
    first.news();
    assert.deepEqual(first.ids, said);
    channel.change({ state: "gone" });
    await relay.restart(5 * MINUTE);
    const back = new ChannelVisitor(relay.service, `live-first1.${Number(first.lastId?.split(".")[1]) - 1}`);
    const newcomer = new ChannelVisitor(relay.service);
    const stranger = new ChannelVisitor(relay.service, undefined, { channel: "@made-up" });
    await relay.advance(MINUTE);
    const waits = "channel waiting There is no channel @somebody on YouTube";
    assert.deepEqual(back.news(), [waits, "init live-first1", "message live-first1", waits]);
    assert.deepEqual([back.ids, newcomer.news()], [said.slice(2), [waits]]);
    assert.ok(stranger.refusal instanceof RelayError && stranger.refusal.code === "NO_LIVE_CHAT");
    channel.change({ state: "open" });
    const later = chat.say(1);
    await relay.advance(10 * MINUTE);
    back.news();
    assert.deepEqual(back.ids, [...said.slice(2), ...later]);
  });

  it("counts towards RELAY_MAX_ROOMS once a page has shown that it exists", async () => {
    const { relay, upstream, watcher } = watched({}, { settings: { RELAY_MAX_ROOMS: "2" } });
    upstream.channel("@other");
    const seen = [watcher(), watcher("@other"), watcher("@made-up")];
    await relay.advance(3000);
    assert.throws(() => watcher("@third"), { code: "CAPACITY", retryAfterMs: 30_000 });
    watcher().leave();
    for (const one of seen) one.leave();
    await relay.advance(MINUTE);
    watcher("@third");
  });
});

it("a channel keeps nothing of its former watchers, even if its state does not change for long", async () => {
  const broadcasts = new Broadcasts();
  broadcasts.show({ channel: HANDLE, state: "waiting" });
  const visit = async () => {
    const gone = new AbortController();
    await broadcasts.known(gone.signal);
    const next = broadcasts.changedSince(broadcasts.changes, gone.signal);
    gone.abort();
    await assert.rejects(next, { name: "AbortError" });
  };
  const visits = async () => {
    for (let i = 0; i < VISITS; i++) await visit();
    return heldMb();
  };
  // The process itself can grow by more than a megabyte, but not in each round.
  const rounds = [await visits(), await visits(), await visits(), await visits()];
  const grownMb = rounds.slice(1).map((mb, round) => mb - (rounds[round] ?? mb));
  assert.ok(Math.min(...grownMb) < MOST_MB, `${grownMb.join(", ")} MB for ${VISITS} visits each`);
});
