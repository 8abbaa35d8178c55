/**
 * The event `standing`: whether the chat of an open room is there, or is waited for, as it is off or hidden,
 * for all viewers that ask for it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Scenario } from "../../../simulator/scenario.ts";
import type { StandingData } from "../../../src/protocol/chat.ts";
import type { VirtualViewer, Visit } from "../../harness/virtual-viewer.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { VIDEO, virtualRoom } from "../../support/virtual-room.ts";
import { HANDLE, MINUTE, watched } from "../../support/watched-channel.ts";

const SECOND = 1000;
const LIVE: StandingData = { state: "live" };
/** By what the watch page says: why viewers wait. */
const AWAITED: Partial<Record<Scenario["kind"], RegExp>> = {
  off: /^No live chat found: .*\bdisabled\b/,
  private: /^No live chat found: .*\bprivate\b/,
  "members-only": /^No live chat found: .*\bmembers\b/,
};

const asking = { videoId: VIDEO, facts: ["standing"] } as const satisfies Visit;
const shownTo = ({ frames }: Pick<VirtualViewer, "frames">) =>
  frames.filter(({ event }) => event === "standing").map(({ data }) => data as StandingData);
/** The first two frames. */
const beginning = ({ frames }: VirtualViewer) => frames.slice(0, 2).map(({ event }) => event);

function assertWaiting(shown: StandingData | undefined, why: RegExp) {
  assert.deepEqual(Object.keys(shown ?? {}), ["state", "reason"]);
  assert.equal(shown?.state, "waiting");
  assert.match(shown?.reason ?? "", why);
  assert.doesNotMatch(shown?.reason ?? "", /\.$/);
}

for (const [kind = "off", why = /^$/] of Object.entries(AWAITED) as [Scenario["kind"], RegExp][]) {
  describe(`the standing of a chat that is ${kind}`, () => {
    it("comes at once after init, at each change, and to nobody who does not ask", async () => {
      const room = await virtualRoom(3);
      const { relay, chat, viewer: plain } = room;
      const before = plain.text;
      const viewer = await relay.enter(asking);
      assert.deepEqual([beginning(viewer), shownTo(viewer)], [["init", "standing"], [LIVE]]);
      chat.change({ kind });
      await relay.advance(10 * SECOND);
      assert.equal(shownTo(viewer).length, 2);
      assertWaiting(shownTo(viewer)[1], why);
      await relay.advance(5 * MINUTE);
      assert.equal(shownTo(viewer).length, 2);
      chat.change({ kind: "live" });
      chat.say(1);
      await relay.advance(40 * SECOND);
      assert.deepEqual(shownTo(viewer).slice(2), [LIVE]);
      assert.deepEqual(viewer.ids, room.ids());
      assert.match(
        plain.text.slice(before.length),
        /^(: keepalive\n\n)+id: \d+\nevent: message\n.*\n\n(: keepalive\n\n)*$/,
      );
    });

    it("comes to a newcomer before its backfill, and to a viewer that comes back", async () => {
      const { relay, chat, viewer: first } = await virtualRoom(3);
      chat.change({ kind });
      await relay.advance(MINUTE);
      const newcomer = await relay.enter({ ...asking, backfill: 2 });
      const resumed = await relay.enter({ ...asking, lastEventId: first.cursors[0] });
      for (const viewer of [newcomer, resumed]) {
        assert.deepEqual(beginning(viewer), ["init", "standing"]);
        assertWaiting(shownTo(viewer)[0], why);
        assert.equal(viewer.ids.length, 2);
      }
    });

    for (const how of ["stopped", "killed"] as const)
      it(`comes after the service was ${how}, before the page is looked at`, async () => {
        const { relay, chat, viewer } = await virtualRoom(3, {}, {}, { hasDisk: true });
        chat.change({ kind });
        await relay.advance(MINUTE);
        if (how === "stopped") await relay.stop();
        else relay.kill();
        chat.change({ kind: "live" });
        relay.start();
        const back = await relay.enter({ ...asking, lastEventId: viewer.cursors.at(-1) });
        assertWaiting(shownTo(back)[0], why);
        await relay.advance(10 * SECOND);
        assert.deepEqual(shownTo(back).slice(1), [LIVE]);
      });

    it("comes over an edge, and over an edge of that", async () => {
      const { relay, chat } = await virtualRoom(3);
      const near = await virtualEdge(relay);
      const far = await virtualEdge(relay, {}, () => near.life);
      const enter = async () => [
        await relay.enter(asking, near.life.rooms),
        await relay.enter(asking, far.life.rooms),
      ];
      const viewers = await enter();
      for (const viewer of viewers) assert.deepEqual(shownTo(viewer), [LIVE]);
      chat.change({ kind });
      await relay.advance(10 * SECOND);
      const newcomers = await enter();
      for (const viewer of [...viewers, ...newcomers]) assertWaiting(shownTo(viewer).at(-1), why);
      near.line.cut(SECOND);
      await relay.advance(10 * SECOND);
      chat.change({ kind: "live" });
      await relay.advance(40 * SECOND);
      for (const viewer of viewers) assert.deepEqual([shownTo(viewer).length, shownTo(viewer)[2]], [3, LIVE]);
      for (const viewer of newcomers)
        assert.deepEqual([shownTo(viewer).length, shownTo(viewer)[1]], [2, LIVE]);
    });

    it("comes with its video on a channel's connection, and on that of several chats", async () => {
      const { relay, channel } = watched();
      const { chat } = channel.broadcast(VIDEO, { chat: { kinds: ["text"], timeoutMs: 5000 } });
      chat.say(1);
      const { life } = await virtualEdge(relay);
      const queries = [{ standing: "on" }, { channels: HANDLE, standing: "on" }];
      const visitors = [relay.service, life].flatMap((service) =>
        queries.map((query) => new ChannelVisitor(service, undefined, query)),
      );
      const plain = new ChannelVisitor(relay.service);
      await relay.advance(MINUTE);
      chat.change({ kind });
      await relay.advance(10 * SECOND);
      chat.change({ kind: "live" });
      chat.say(1);
      await relay.advance(40 * SECOND);
      for (const { events } of visitors) {
        const shown = events.filter(({ event }) => event === "standing").map(({ data }) => data as object);
        assert.deepEqual(
          [shown[0], shown[2]],
          [
            { videoId: VIDEO, ...LIVE },
            { videoId: VIDEO, ...LIVE },
          ],
        );
        const { videoId, ...waiting } = shown[1] as { videoId: string } & StandingData;
        assert.deepEqual([videoId, shown.length], [VIDEO, 3]);
        assertWaiting(waiting, why);
      }
      assert.doesNotMatch(plain.text, /standing/);
    });

    it("is the state of a channel for those who do not ask for it, and stops no newcomer", async () => {
      const { relay, channel } = watched();
      const { chat } = channel.broadcast(VIDEO, { chat: { kinds: ["text"], timeoutMs: 5000 } });
      chat.say(1);
      const { life: near } = await virtualEdge(relay);
      const { life: far } = await virtualEdge(relay, {}, () => near);
      const enter = () =>
        [relay.service, near, far].flatMap((service) => [
          new ChannelVisitor(service),
          new ChannelVisitor(service, undefined, { all: "on" }),
          new ChannelVisitor(service, undefined, { channels: HANDLE }),
        ]);
      const viewers = enter();
      await relay.advance(MINUTE);
      chat.change({ kind });
      await relay.advance(10 * SECOND);
      const newcomers = enter();
      await relay.advance(10 * SECOND);
      chat.change({ kind: "live" });
      chat.say(1);
      await relay.advance(40 * SECOND);
      for (const visitor of [...viewers, ...newcomers]) {
        const states = visitor.events.filter(({ event }) => event === "channel").map(({ data }) => data);
        const said = states.map(({ state, videoId }) => [state, videoId].join(" "));
        assert.deepEqual(said.slice(said.indexOf(`live ${VIDEO}`)), [
          `live ${VIDEO}`,
          `waiting ${VIDEO}`,
          `live ${VIDEO}`,
        ]);
        assert.match(states.at(-2)?.reason ?? "", why);
        const inits = visitor.events.filter(({ event }) => event === "init");
        visitor.news();
        assert.deepEqual([inits.length, visitor.ids], [1, chat.ledger.map(({ id }) => id)]);
      }
    });

    it("gives way to the channel's own once the broadcast is over, or the next one is live", async () => {
      const { relay, channel } = watched();
      const first = channel.broadcast(VIDEO, { chat: { kinds: ["text"], timeoutMs: 5000 } });
      first.chat.say(1);
      const edges = [];
      for (let n = 0; n < 5; n++) edges.push(await virtualEdge(relay));
      // So some hear of the end of the chat before their channel's stream says it.
      for (const { line } of edges) line.latency = { leastMs: 1, jitterMs: 2000 };
      const services = [relay.service, ...edges.map(({ life }) => life)];
      const visitors = services.map((service) => new ChannelVisitor(service));
      await relay.advance(MINUTE);
      first.chat.change({ kind });
      await relay.advance(10 * SECOND);
      for (const visitor of visitors) assert.match(visitor.news().at(-1) ?? "", /^channel waiting /);
      first.end();
      await relay.advance(5 * MINUTE);
      channel.broadcast("live-next01", { chat: { kinds: ["text"] } }).chat.say(1);
      await relay.advance(5 * MINUTE);
      // The page of a private video does not say that its stream is over. Elsewhere the end follows a gap.
      const over = kind === "private" ? [] : [`message ${VIDEO}`, "channel waiting"];
      const next = ["channel live live-next01", "init live-next01", "message live-next01"];
      for (const visitor of visitors) assert.deepEqual(visitor.news(), [...over, ...next]);
    });
  });
}

describe("the standing of a chat that cannot be off", () => {
  it("comes for no replay, and on no stream that ends by itself", async () => {
    const { relay, chat } = await virtualRoom(3);
    const stored = await relay.enter({ ...asking, until: "now" });
    chat.change({ kind: "off" });
    await relay.advance(10 * SECOND);
    const bounded = await relay.enter({ ...asking, until: "now" });
    relay.upstream.chat("replay-shown", { kind: "replay", kinds: ["text"] }).say(3);
    const replay = await relay.enter({ ...asking, videoId: "replay-shown" });
    for (const viewer of [stored, bounded, replay]) assert.deepEqual(shownTo(viewer), []);
  });

  it("is not sent for a chat that is over, and an edge sends the end at once", async () => {
    const { relay, chat, viewer } = await virtualRoom(3);
    const { life } = await virtualEdge(relay);
    chat.end("reload-only");
    await relay.until(() => viewer.end !== undefined);
    for (const rooms of [relay.rooms, life.rooms]) {
      const from = relay.clock.monotonic();
      const late = await relay.enter({ ...asking, lastEventId: 0 }, rooms);
      assert.ok(relay.clock.monotonic() - from < SECOND);
      await late.ended();
      assert.deepEqual(shownTo(late), []);
    }
  });
});
