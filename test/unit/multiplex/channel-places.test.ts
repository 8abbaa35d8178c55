/** A viewer's place in the list of a channel's broadcasts: what it does next, and where it leaves. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type LastVisit, nextStep } from "../../../src/multiplex/channel-viewer.ts";
import type { ChannelState } from "../../../src/protocol/channel.ts";
import { RelayError } from "../../../src/protocol/errors.ts";
import { type Broadcast, Broadcasts } from "../../../src/rooms/channels/broadcasts.ts";

/** A channel's list: one broadcast, or one with another after it, and what the channel is now. */
const LISTS = {
  "A, live": { isOn: true, hasNext: false, isInTrouble: false },
  "A, over": { isOn: false, hasNext: false, isInTrouble: false },
  "A, unreadable": { isOn: false, hasNext: false, isInTrouble: true },
  "A, B": { isOn: false, hasNext: true, isInTrouble: false },
  "A, B, unreadable": { isOn: false, hasNext: true, isInTrouble: true },
};
type List = keyof typeof LISTS;

/** For a viewer in A: its cursor, the cursor at which the channel turned from A, and what it got last. */
const STEPS: [
  list: List,
  cursor: number | undefined,
  to: number | undefined,
  lastVisit: LastVisit,
  step: string,
][] = [
  ["A, live", undefined, undefined, undefined, "enter"],
  ["A, live", 5, undefined, undefined, "enter"], // released, refused or failed, and live again
  ["A, live", 5, undefined, "stored", "enter"],
  ["A, live", 5, undefined, "goingOn", "enter"],
  ["A, live", 5, undefined, "end", "wait"], // the watch has not noticed the end yet
  ["A, over", undefined, undefined, undefined, "wait"],
  ["A, over", 5, undefined, undefined, "rest"], // it was refused, or its room failed
  ["A, over", 5, undefined, "stored", "wait"],
  ["A, over", 5, undefined, "goingOn", "enter"],
  ["A, over", 5, undefined, "end", "wait"],
  ["A, unreadable", undefined, undefined, undefined, "wait"],
  ["A, unreadable", 5, undefined, undefined, "wait"],
  ["A, unreadable", 5, undefined, "goingOn", "enter"],
  ["A, B", undefined, 9, undefined, "next"], // it never was in A
  ["A, B", 5, 9, undefined, "rest"],
  ["A, B", 9, 9, undefined, "next"],
  ["A, B", 12, 9, undefined, "next"],
  ["A, B", 5, 9, "stored", "next"],
  ["A, B", 5, 9, "goingOn", "next"],
  ["A, B", 5, 9, "end", "next"],
  ["A, B", 5, undefined, undefined, "rest"], // it resumed in A, and B is over
  ["A, B", 5, undefined, "goingOn", "enter"],
  ["A, B, unreadable", 5, undefined, undefined, "rest"],
  ["A, B, unreadable", 5, 9, "stored", "next"],
];

describe("a viewer in a channel's broadcast", () => {
  for (const [list, cursor, to, lastVisit, step] of STEPS) {
    const place = `cursor ${cursor ?? "none"}${to === undefined ? "" : ` of ${to}`}${lastVisit ? `, had ${lastVisit}` : ""}`;
    it(`${list}: with ${place}, goes on with ${step}`, () => {
      assert.equal(nextStep({ ...LISTS[list], isSentBeside: false, cursor, to, lastVisit }), step);
    });
  }

  it("does not enter one that another chat of the connection sends", () => {
    const place = { isSentBeside: true, cursor: 5, to: undefined, lastVisit: undefined };
    assert.equal(nextStep({ ...LISTS["A, live"], ...place }), "wait");
    assert.equal(nextStep({ ...LISTS["A, over"], ...place }), "wait");
    assert.equal(nextStep({ ...LISTS["A, B"], ...place }), "next");
  });
});

const CHANNEL = "@somebody";
const waiting: ChannelState = { channel: CHANNEL, state: "waiting" };
const live = (videoId: string): ChannelState => ({ channel: CHANNEL, state: "live", videoId });

/** A list after these states, with the broadcasts from its first video on. */
function listed(...states: ChannelState[]) {
  const broadcasts = new Broadcasts();
  const places: Broadcast[] = [broadcasts.newest];
  for (const state of states) {
    broadcasts.show(state);
    if (broadcasts.newest !== places.at(-1)) places.push(broadcasts.newest);
  }
  return { broadcasts, places: places.slice(1) };
}

describe("the list of a channel's broadcasts", () => {
  it("gets an entry for each turn to another video, but not for waits and new facts of one video", () => {
    const upcoming: ChannelState = { channel: CHANNEL, state: "upcoming", videoId: "first" };
    const { places } = listed(
      waiting,
      upcoming,
      live("first"),
      waiting,
      live("first"),
      live("second"),
      live("first"),
    );
    assert.deepEqual(
      places.map(({ videoId }) => videoId),
      ["first", "second", "first"],
    );
    assert.deepEqual([places[0]?.next, places[1]?.next, places[2]?.next], [places[1], places[2], undefined]);
  });

  it("leaves a broadcast when another video comes, not when the channel waits", () => {
    const turned = (...states: ChannelState[]) => {
      const { broadcasts, places } = listed(live("first"), ...states);
      return places.map((place) => broadcasts.hasTurnedFrom(place));
    };
    assert.deepEqual(turned(), [false]);
    assert.deepEqual(turned(waiting), [false]);
    assert.deepEqual(turned(live("second")), [true, false]);
  });

  it("resumes a client in the current stream, or before it, or without a bound if no stream is on", async () => {
    const { broadcasts, places } = listed(live("first"), live("second"));
    assert.equal(broadcasts.resumed("second"), places[1]);
    const earlier = broadcasts.resumed("first");
    assert.deepEqual([earlier.videoId, earlier.next, await earlier.to], ["first", places[1], Infinity]);
    broadcasts.show(waiting);
    const open = broadcasts.resumed("first");
    assert.deepEqual([open.next, open.to], [places[1], undefined]);
  });

  it("refuses to wait for a channel that does not exist", async () => {
    const { broadcasts } = listed();
    const { signal } = new AbortController();
    const waits = broadcasts.changedSince(broadcasts.changes, signal);
    broadcasts.refuse(new RelayError("NO_LIVE_CHAT", "There is no such channel."));
    await assert.rejects(waits, { code: "NO_LIVE_CHAT" });
    await assert.rejects(broadcasts.changedSince(0, signal), { code: "NO_LIVE_CHAT" });
  });
});
