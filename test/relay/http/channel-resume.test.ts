/** The channel of the video in whose chat a client of a channel resumes, at an instance and at an edge. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { FaultOrder } from "../../../simulator/faults.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { virtualEdge } from "../../support/virtual-edge.ts";
import { HANDLE, MINUTE, watched } from "../../support/watched-channel.ts";

const CHAT = { kinds: ["text"], timeoutMs: 5000 } as const;
const [PAST, TODAY, FOREIGN] = ["past-video1", "live-today1", "other-one-1"];
/** More streams than a tab lists. */
const LATER = 31;

/** The events for a client with a place in the past stream, and for one without a place. */
const RESUMED = [
  `channel live ${TODAY}`,
  `init ${PAST}`,
  `message ${PAST}`,
  `channel live ${TODAY}`,
  `init ${TODAY}`,
  `message ${TODAY}`,
];
const ABSENT = [`channel live ${TODAY}`, `init ${TODAY}`, `message ${TODAY}`];

/**
 * A channel that is live, after a stream of which 3 of 7 messages were read, and which its pages do not list
 * any more; and a stored chat of another channel. `isKept`: whether the store knows the channels of both.
 */
async function resumed(where: string, isKept = false) {
  const { relay, channel: own, upstream } = watched({}, { hasDisk: true });
  if (!isKept) upstream.fault({ on: "next", times: Number.POSITIVE_INFINITY, as: { status: 503 } });
  const past = own.broadcast(PAST, { chat: CHAT });
  const foreign = upstream.channel("@other").broadcast(FOREIGN, { chat: CHAT });
  for (const { chat } of [past, foreign]) chat.say(7);
  const places: string[] = [];
  for (const videoId of [PAST, FOREIGN]) {
    const viewer = await relay.enter({ videoId, backfill: 500 });
    await viewer.untilMessages(7);
    places.push(`${videoId}.${viewer.cursors[2]}`);
    viewer.leave();
  }
  await relay.advance(MINUTE);
  past.end();
  for (let n = 0; n < LATER; n++) own.broadcast(`later-${String(n).padStart(5, "0")}`).end();
  own.broadcast(TODAY, { chat: CHAT }).chat.say(2);
  await relay.advance(5 * MINUTE);
  await relay.restart();
  const edge = where === "an edge" ? (await virtualEdge(relay)).life : undefined;
  const [place = "", foreignPlace = ""] = places;
  return {
    relay,
    upstream,
    past,
    place,
    foreignPlace,
    stop: () => (edge ? relay.when(edge.stop()) : relay.stop()),
    visit: (id: string, channel = HANDLE) => new ChannelVisitor(edge ?? relay.service, id, { channel }),
    /** The watch pages of a video that were loaded. */
    pages: (asked: string) =>
      upstream.requests.filter(({ kind, videoId }) => kind === "watch" && videoId === asked).length,
    fail: (as: FaultOrder["as"], on: FaultOrder["on"] = "watch", videoId = PAST) =>
      upstream.fault({ on, as, times: Number.POSITIVE_INFINITY, ...(on === "watch" && { videoId }) }),
  };
}

for (const where of ["an instance", "an edge"]) {
  describe(`a client that comes back to a channel at ${where}`, () => {
    it("gets the rest of its stream if the video's page names the channel; one load serves all", async () => {
      const { relay, visit, place, past, pages } = await resumed(where);
      const before = pages(PAST);
      const back = [visit(place), visit(place)];
      await relay.advance(MINUTE);
      for (const viewer of back) {
        assert.deepEqual(viewer.news(), RESUMED);
        assert.deepEqual(
          viewer.ids.slice(0, 4),
          past.chat.ledger.slice(3).map(({ id }) => id),
        );
      }
      assert.equal(pages(PAST), before + 1);
      await relay.advance(30 * MINUTE);
      const late = visit(place);
      await relay.advance(MINUTE);
      assert.deepEqual(late.news(), RESUMED);
      assert.equal(pages(PAST), before + 1, "the store knows it");
    });

    it("gets it without a page, although the video is private now, if the store knows its channel", async () => {
      const { relay, visit, place, past, pages } = await resumed(where, true);
      past.chat.change({ kind: "private" });
      const before = pages(PAST);
      const viewer = visit(place);
      await relay.advance(MINUTE);
      assert.deepEqual([viewer.news(), pages(PAST)], [RESUMED, before]);
    });

    it("begins without a place if the video is another channel's, also if that is stored", async () => {
      const { relay, visit, foreignPlace } = await resumed(where);
      for (const id of [foreignPlace, "never-asked.5"]) {
        const viewer = visit(id);
        await relay.advance(MINUTE);
        assert.deepEqual([viewer.news(), viewer.ids.length], [ABSENT, 2]);
      }
    });

    it("waits with the reason while the video's page is a wall, and then gets the rest", async () => {
      const { relay, visit, place, fail } = await resumed(where);
      const wall = fail("consent");
      const viewer = visit(place);
      await relay.advance(MINUTE / 2);
      const [waiting = "", ...more] = viewer.news();
      assert.match(waiting, /^channel waiting .*YouTube asks for consent/);
      assert.deepEqual(more, []);
      wall.cancel();
      await relay.advance(2 * MINUTE);
      assert.deepEqual(viewer.news(), RESUMED);
    });

    it("begins without a place if no page shows for two minutes whose video it is (a private one)", async () => {
      const { relay, visit, place, past } = await resumed(where);
      past.chat.change({ kind: "private" });
      const viewer = visit(place);
      await relay.advance(MINUTE);
      assert.match(viewer.news().join(), /^channel waiting .*private/);
      await relay.advance(2 * MINUTE);
      assert.deepEqual(viewer.news(), ABSENT);
    });

    it("is known by the channel's id, if it came by the name of an old URL", async () => {
      const { relay, upstream, visit, place, fail } = await resumed(where);
      const name = `c/${HANDLE.slice(1)}`;
      const wall = fail("consent", ["live", "streams"]);
      const viewer = visit(place, name);
      await relay.advance(MINUTE);
      assert.match(viewer.news().join(), /^channel waiting .*YouTube asks for consent.*$/);
      wall.cancel();
      await relay.advance(2 * MINUTE);
      assert.deepEqual(viewer.news(), RESUMED);
      assert.ok(upstream.requests.some(({ path }) => path.startsWith(`/${name}/live`)));
    });

    it("is ended silently by a stop while it waits", async () => {
      const { relay, visit, place, fail, stop } = await resumed(where);
      fail("silent");
      const viewer = visit(place);
      await relay.advance(4000);
      viewer.news();
      await stop();
      assert.deepEqual([viewer.news(), viewer.sink.closedBy], [[], "end"]);
    });
  });
}
