/**
 * Streams of a part of the stored messages: with `from`, they begin at a time; with `until=now`, they end at
 * the room's present head.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { VIDEO, virtualRoom } from "../../support/virtual-room.ts";

const GRACE_MS = 60_000;

const ended = { event: "end", data: { reason: "until" } };

/** A room without viewers: it has been released. */
async function releasedRoom(said: number) {
  const room = await virtualRoom(said, { RELAY_GRACE_MS: String(GRACE_MS) });
  const all = room.viewer.messages;
  room.viewer.leave();
  await room.relay.advance(GRACE_MS + 5000);
  return { ...room, all };
}

async function openRooms(relay: VirtualRelay): Promise<(number | undefined)[]> {
  const states = ["bootstrapping", "polling", "lingering", "ended", "released", "failed"];
  return Promise.all(states.map((state) => relay.metric(`relay_rooms{state="${state}"}`)));
}

describe("until=now", () => {
  it("sends all stored messages, then the end; no room is opened, and the upstream is not called", async () => {
    const { relay, upstream, open, all } = await releasedRoom(20);
    const asked = upstream.requests.length;
    const viewer = await open({ until: "now" });
    assert.deepEqual(await openRooms(relay), [0, 0, 0, 0, 0, 0]);
    assert.equal(await relay.metric("relay_viewers"), 0, "it has everything at once");
    assert.deepEqual(viewer.messages, all);
    assert.deepEqual(viewer.end, ended);
    assert.equal(viewer.init.cursor, (all[0]?.cursor ?? 0) - 1);
    await relay.advance(GRACE_MS);
    assert.equal(upstream.requests.length, asked);
    const [listed] = await relay.when(relay.list.all());
    assert.equal(listed?.state, "released");
  });

  it("begins after a cursor, or with a backfill, also of some types", async () => {
    const { open, all } = await releasedRoom(20);
    const cursor = all[11]?.cursor ?? 0;
    for (const [visit, from] of [
      [{ lastEventId: cursor, backfill: 3 }, 12],
      [{ lastEventId: 0, backfill: 3 }, 0],
      [{ lastEventId: cursor + 1000 }, 0],
      [{ lastEventId: cursor + 1000, backfill: 3 }, 17],
      [{ backfill: 0 }, 20],
      [{ backfill: 500 }, 0],
      [{ types: "chat" }, 0],
      [{ types: "chat", backfill: 5 }, 15],
    ] as const) {
      const viewer = await open({ ...visit, until: "now" });
      assert.deepEqual(await viewer.ended(), ended);
      assert.deepEqual(viewer.messages, all.slice(from), JSON.stringify(visit));
    }
    const none = await open({ types: "raid", until: "now" });
    await none.ended();
    assert.deepEqual(
      none.frames.map(({ event, data }) => (event === "cursor" ? data : event)),
      ["init", all.at(-1)?.cursor, "end"],
    );
  });

  it("ends at the newest message of the moment, however slowly it is read while the chat goes on", async () => {
    const { relay, chat, viewer, open } = await virtualRoom(40);
    chat.say(650);
    await viewer.untilMessages(690);
    const slow = relay.visit({ videoId: VIDEO, until: "now" });
    slow.sink.stall();
    await relay.when(slow.entered);
    const head = viewer.cursors.at(-1) ?? 0;
    for (const more of [1, 90, 700]) {
      chat.say(more);
      await viewer.untilMessages(chat.ledger.length);
      slow.sink.readOn();
      slow.sink.stall();
    }
    slow.sink.readOn();
    assert.deepEqual(await slow.ended(), ended);
    assert.deepEqual(slow.messages, viewer.messages.slice(0, 690));
    assert.equal(slow.cursors.at(-1), head);
    const again = await open({ until: "now", lastEventId: head });
    assert.equal((await again.ended())?.event, "end");
    assert.equal(again.messages.length, 791);
  });

  it("ends there though a read that began before is under way, and those who wait share the next read", async () => {
    const { relay, chat, viewer } = await virtualRoom(3);
    const getRoom = relay.store.getRoom.bind(relay.store);
    const asked: string[] = [];
    relay.store.getRoom = async (key) => {
      asked.push(key);
      const room = await getRoom(key);
      await relay.clock.sleep(5000); // its answer is on the way
      return room;
    };
    const earlier = relay.visit({ videoId: VIDEO, until: "now" });
    await relay.advance(10);
    chat.say(2);
    await viewer.untilMessages(5);
    const later = Array.from({ length: 20 }, () => relay.visit({ videoId: VIDEO, until: "now" }));
    await relay.advance(30_000);
    assert.equal(earlier.ids.length, 3);
    for (const { ids } of later) assert.deepEqual(ids, viewer.ids);
    assert.ok(asked.length < later.length, `the store is asked ${asked.length} times`);
  });

  it("ends there even if everything up to it is deleted meanwhile", async () => {
    const { relay, chat, viewer } = await virtualRoom(20);
    chat.say(300);
    await viewer.untilMessages(320);
    const slow = relay.visit({ videoId: VIDEO, until: "now" });
    slow.sink.stall();
    await relay.when(slow.entered);
    chat.say(30);
    await viewer.untilMessages(350);
    await relay.store.prune(-1000, 340);
    slow.sink.readOn();
    assert.deepEqual(await slow.ended(), ended);
    assert.ok(slow.messages.length < 320 && (slow.cursors.at(-1) ?? 0) <= (viewer.cursors[319] ?? 0));
  });

  it("continues at the oldest message left if the deletion of old messages overtakes it", async () => {
    const { relay, chat, viewer } = await virtualRoom(20);
    chat.say(880);
    await viewer.untilMessages(900);
    const slow = relay.visit({ videoId: VIDEO, until: "now" });
    slow.sink.stall();
    await relay.when(slow.entered);
    await relay.store.prune(-1000, 350);
    slow.sink.readOn();
    assert.deepEqual(await slow.ended(), ended);
    const before = slow.messages.length - 550;
    assert.ok(before >= 0 && before <= 200, `${before} messages before the deletion`);
    assert.deepEqual(slow.messages, [...viewer.messages.slice(0, before), ...viewer.messages.slice(350)]);
  });

  it("does not keep a room open, though nobody reads it", async () => {
    const { relay, chat, viewer } = await virtualRoom(20, { RELAY_GRACE_MS: "5000" });
    chat.say(100);
    await viewer.untilMessages(120);
    const slow = relay.visit({ videoId: VIDEO, until: "now" });
    slow.sink.stall();
    await relay.when(slow.entered);
    viewer.leave();
    await relay.advance(10_000);
    assert.deepEqual(await openRooms(relay), [0, 0, 0, 0, 0, 0]);
    assert.equal(await relay.metric("relay_viewers"), 1);
    slow.sink.readOn();
    assert.deepEqual(await slow.ended(), ended);
    assert.equal(await relay.metric("relay_viewers"), 0);
  });

  it("sends a whole replay, and a whole finished chat", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, { kind: "replay", pageSize: 40, kinds: ["text"] }).say(100);
    const viewer: VirtualViewer = await relay.enter({ videoId: VIDEO });
    await viewer.ended();
    const again = await relay.enter({ videoId: VIDEO, until: "now" });
    assert.deepEqual(await again.ended(), ended);
    assert.deepEqual(again.messages, viewer.messages);
    assert.deepEqual(again.init, { ...viewer.init, chats: ["replay"] });
  });

  it("is refused with 404 NOT_STORED if nothing is stored", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(5);
    const never = await relay.refusal({ videoId: VIDEO, until: "now" });
    assert.deepEqual([never.status, never.code], [404, "NOT_STORED"]);
    assert.equal(relay.upstream.requests.length, 0);
    const viewer = await relay.enter({ videoId: VIDEO });
    await relay.store.prune(-1000, 100);
    const deleted = await relay.refusal({ videoId: VIDEO, until: "now" });
    assert.equal(deleted.code, "NOT_STORED");
    viewer.leave();
  });

  it("counts towards the limit of viewers, and is refused while the service stops", async () => {
    const { relay } = await virtualRoom(5, { RELAY_MAX_VIEWERS: "1" });
    assert.equal((await relay.refusal({ videoId: VIDEO, until: "now" })).code, "CAPACITY");
    await relay.stop();
    assert.equal((await relay.refusal({ videoId: VIDEO, until: "now" })).code, "CAPACITY");
  });
});

/** A room whose chat has said four batches of five, ten seconds apart, and the times of the later three. */
async function roomInTime(settings: Record<string, string> = {}) {
  const room = await virtualRoom(5, settings);
  const { relay, chat, viewer } = room;
  const times: number[] = [];
  for (const count of [10, 15, 20]) {
    await relay.advance(10_000);
    times.push(relay.clock.now());
    chat.say(5);
    await viewer.untilMessages(count);
  }
  await relay.advance(10_000);
  const [second = 0, third = 0] = times;
  return { ...room, second, third, now: relay.clock.now(), all: viewer.messages };
}

describe("from", () => {
  it("begins with the first message stored at the time or later, and continues", async () => {
    const { relay, chat, viewer, open, second, third, all } = await roomInTime();
    const [{ lastAt } = { lastAt: null }] = await relay.when(relay.store.listRooms(1));
    const streams = [];
    for (const [from, index] of [
      [0, 0],
      [second - 5000, 5],
      [second, 5],
      [third, 10],
      [Number(lastAt), 15],
    ] as const) {
      const stream = await open({ from });
      assert.deepEqual(stream.messages, all.slice(index));
      assert.equal(stream.init.cursor, (all[index]?.cursor ?? 0) - 1);
      streams.push(stream);
    }
    chat.say(3);
    await viewer.untilMessages(23);
    for (const stream of streams) assert.deepEqual(stream.messages.slice(-3), viewer.messages.slice(-3));
  });

  it("in the future begins with the next message, even if that comes earlier", async () => {
    const { relay, chat, viewer, open, now } = await roomInTime();
    const stream = await open({ from: now + 3_600_000 });
    assert.equal(stream.init.cursor, viewer.cursors.at(-1));
    chat.say(1);
    await viewer.untilMessages(21);
    assert.deepEqual(stream.messages, viewer.messages.slice(-1));
    const bounded = await relay.enter({ videoId: VIDEO, from: now + 3_600_000, until: "now" });
    assert.deepEqual(await bounded.ended(), ended);
    assert.deepEqual([bounded.messages, bounded.init.cursor], [[], viewer.cursors.at(-1)]);
  });

  it("before the oldest stored message begins there, as init.cursor shows", async () => {
    const { relay, open, second, all } = await roomInTime();
    await relay.store.prune(-1000, 7);
    for (const from of [0, second - 5000, second]) {
      const stream = await open({ from });
      assert.equal(stream.init.cursor, all[6]?.cursor);
      assert.deepEqual(
        stream.cursors,
        all.slice(7).map(({ cursor }) => cursor),
      );
    }
  });

  it("takes precedence over backfill, but not over a cursor of the room", async () => {
    const { open, third: from, all } = await roomInTime();
    const [cursor = 0] = [all[1]?.cursor];
    for (const [visit, index] of [
      [{ backfill: 1 }, 10],
      [{ backfill: 0, types: "chat" }, 10],
      [{ lastEventId: cursor }, 2],
      [{ lastEventId: 0 }, 0],
      [{ lastEventId: cursor + 1_000_000 }, 10],
      [{ until: "now" }, 10],
      [{ until: "now", lastEventId: cursor }, 2],
    ] as const) {
      const stream = await open({ from, ...visit });
      assert.deepEqual(stream.messages, all.slice(index), JSON.stringify(visit));
    }
  });

  it("applies to the viewer that opens a room or a replay", async () => {
    const relay = new VirtualRelay();
    const text = { kinds: ["text"] } as const;
    relay.upstream.chat(VIDEO, { ...text, page: 20 }).say(20);
    const before = relay.clock.now();
    const past = await relay.enter({ videoId: VIDEO, from: before, backfill: 2 });
    assert.equal((await past.untilMessages(20)).length, 20, "all of it was stored since");
    relay.upstream.chat("replayed-12", { ...text, kind: "replay", pageSize: 40 }).say(10);
    const replay = await relay.enter({ videoId: "replayed-12", from: relay.clock.now() + 60_000 });
    assert.equal(replay.messages.length, 0);
  });
});
