/** The live chat of a video and the replay of its finished stream: two rooms, whose cursors never meet. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { CapacityError } from "../../../src/protocol/capacity.ts";
import { ENDED } from "../../../src/protocol/chat.ts";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { Visit } from "../../harness/virtual-viewer.ts";
import { failAlways, PLACES } from "../../support/opening.ts";
import { type VirtualEdge, virtualEdge } from "../../support/virtual-edge.ts";
import { VIDEO, virtualRoom } from "../../support/virtual-room.ts";

const REPLAY = chatKey(VIDEO, "replay");
/** Longer than the grace time. */
const LATER_MS = 100_000;

/** A video whose live chat a viewer has read to its end; `live` has its messages. */
async function readToEnd() {
  const room = await virtualRoom(10, {}, {}, { hasDisk: true });
  room.chat.end("reload-only");
  assert.equal((await room.viewer.ended())?.event, "end");
  return room;
}

/** The same, with the replay in place of the live chat, after the grace time. */
async function replayed() {
  const room = await readToEnd();
  room.chat.change({ kind: "replay", pageSize: 4 });
  await room.relay.advance(LATER_MS);
  return room;
}

async function whole({ relay }: { relay: VirtualRelay }, visit: { lastEventId?: number; backfill?: number }) {
  const viewer = await relay.enter({ videoId: VIDEO, ...visit });
  const end = await viewer.ended();
  return { viewer, end };
}

const offsets = (viewer: Awaited<ReturnType<VirtualRelay["enter"]>>) =>
  viewer.messages.map(({ message }) => /^\d+:\d\d$/.test(message.timestamp));

describe("a viewer with a cursor of a live chat that is over", () => {
  it("gets the live chat's rest and end, nothing of the replay, whatever the upstream shows now", async () => {
    const room = await replayed();
    const { viewer } = room;
    const back = await whole(room, { lastEventId: viewer.cursors[5] ?? 0 });
    assert.deepEqual(back.viewer.ids, viewer.ids.slice(6));
    assert.equal(back.viewer.init?.cursor, viewer.cursors[5]);
    const atEnd = await whole(room, { lastEventId: viewer.cursors.at(-1) ?? 0 });
    assert.deepEqual([atEnd.viewer.ids, atEnd.end?.event], [[], "end"]);
  });

  it("gets the same while somebody reads the replay, and after a restart", async () => {
    const room = await replayed();
    const { relay, viewer } = room;
    const reader = relay.visit({ videoId: VIDEO });
    await relay.when(reader.entered);
    for (const isRestarted of [false, true]) {
      if (isRestarted) await relay.restart();
      const back = await whole(room, { lastEventId: viewer.cursors[5] ?? 0 });
      assert.deepEqual(back.viewer.ids, viewer.ids.slice(6), `restarted: ${isRestarted}`);
      assert.equal(back.viewer.init?.chatType, "liveChatRenderer");
    }
  });

  it("never gets the replay, even if the store fails as it looks the cursor up", async () => {
    const refusals = new Set<string>();
    for (let forMs = 0; forMs < 10; forMs++) {
      const room = await replayed();
      const { relay, viewer } = room;
      await whole(room, {});
      const lastEventId = viewer.cursors[5] ?? 0;
      relay.disk.goneUntil = relay.clock.monotonic() + forMs;
      const back = relay.visit({ videoId: VIDEO, lastEventId });
      const refusal = await relay.when(back.entered).then(
        () => undefined,
        ({ code }) => code,
      );
      if (refusal) refusals.add(refusal);
      else assert.equal(back.init?.chatType, "liveChatRenderer", `${forMs} ms`);
    }
    assert.deepEqual([...refusals], ["STORE_UNAVAILABLE"]);
  });

  it("gets the same at an edge while the origin opens the replay for others", async () => {
    const { relay, viewer } = await replayed();
    const { life } = await virtualEdge(relay);
    relay.upstream.fault({ on: "popout", times: 1, as: { delayMs: 5000 } });
    const newcomer = relay.visit({ videoId: VIDEO });
    await relay.advance(1000);
    const back = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors[5] ?? 0 }, life.rooms);
    assert.equal((await back.ended())?.event, "end");
    assert.deepEqual([back.init?.chatType, back.ids], ["liveChatRenderer", viewer.ids.slice(6)]);
    await relay.when(newcomer.entered);
    assert.equal(newcomer.init?.chatType, "liveChatReplayRenderer");
  });

  it("gets the rest and the end, even without grace time, if a page shows the end to it alone", async () => {
    const { relay, chat, viewer } = await virtualRoom(10, { RELAY_GRACE_MS: "0" }, {}, { hasDisk: true });
    relay.kill();
    chat.end("reload-only");
    chat.change({ kind: "replay", pageSize: 4 });
    await relay.advance(600_000);
    relay.start();
    const back = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors[5] ?? 0 });
    assert.equal((await back.ended())?.event, "end");
    assert.deepEqual(back.ids, [...viewer.ids.slice(6), `gap:${viewer.cursors[9]}`]);
    assert.deepEqual([back.init.chatType, back.init.cursor], ["liveChatRenderer", viewer.cursors[5]]);
  });

  it("counts as one without a cursor once the live chat is not stored any more", async () => {
    const room = await replayed();
    const { relay, viewer } = room;
    await whole(room, {});
    while ((await relay.when(relay.store.pruneRooms([], 0, 100))) > 0) {
      if (!(await relay.when(relay.store.getRoom(VIDEO)))) break;
    }
    await relay.advance(LATER_MS);
    const last = viewer.cursors.at(-1) ?? 0;
    const back = await whole(room, { lastEventId: last });
    assert.notEqual(back.viewer.init?.cursor, last);
    assert.equal(back.viewer.init?.chatType, "liveChatReplayRenderer");
  });
});

describe("a viewer without a cursor", () => {
  it("gets the live chat's backfill and end for the grace time, then the replay alone and whole", async () => {
    const room = await readToEnd();
    room.chat.change({ kind: "replay", pageSize: 4 });
    await room.relay.advance(60_000);
    const soon = await whole(room, { backfill: 3 });
    assert.deepEqual(soon.viewer.ids, room.viewer.ids.slice(-3));
    await room.relay.advance(LATER_MS);
    const late = await whole(room, {});
    assert.equal(late.viewer.init?.chatType, "liveChatReplayRenderer");
    assert.deepEqual(late.viewer.ids, room.viewer.ids);
    assert.ok(offsets(late.viewer).every(Boolean), "it has a message of the live chat");
  });

  it("gets the live chat for the grace time even if a recording already reads the replay", async () => {
    const room = await readToEnd();
    const { relay } = room;
    room.chat.change({ kind: "replay", pageSize: 4, timeoutMs: 5000 });
    const recording = relay.visit({ videoId: VIDEO, reopens: true });
    await relay.when(recording.entered);
    assert.equal(recording.init?.chatType, "liveChatReplayRenderer");
    const soon = await whole(room, { backfill: 3 });
    assert.deepEqual(soon.viewer.ids, room.viewer.ids.slice(-3));
    assert.equal(soon.viewer.init?.chatType, "liveChatRenderer");
  });

  it("gets all of the chat for cursor 0: the replay if there is one, else the stored live chat", async () => {
    const room = await replayed();
    assert.ok(offsets((await whole(room, { lastEventId: 0 })).viewer).every(Boolean));
    const gone = await readToEnd();
    await gone.relay.advance(LATER_MS);
    assert.deepEqual((await whole(gone, { lastEventId: 0 })).viewer.ids, gone.viewer.ids);
    assert.equal((await gone.relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
  });
});

describe("a viewer that waits for its opening while another instance reads the live chat to its end", () => {
  const one = { RELAY_GATE_SPACING_MS: "1000" }; // one opening at a time
  const waiters: [who: string, visit: (cursors: readonly number[]) => Partial<Visit>][] = [
    ["with a cursor", (cursors) => ({ lastEventId: cursors[6] ?? 0 })],
    ["without one", () => ({ backfill: 3 })],
    ["as a reader of its log", (cursors) => ({ log: cursors[6] ?? 0 })],
  ];
  for (const [who, visit] of waiters)
    it(`(${who}) gets the live chat's rest and end, though the opening finds the replay`, async () => {
      const { relay, chat, viewer } = await virtualRoom(10, one, {}, { hasDisk: true });
      relay.kill();
      await relay.advance(600_000);
      relay.start();
      relay.upstream.fault({ on: "popout", times: 1, as: { delayMs: 5000 } });
      relay.visit({ videoId: "another-one" });
      await relay.requested("popout");
      const waiting = relay.visit({ videoId: VIDEO, ...visit(viewer.cursors) });
      await relay.advance(1000);
      const hold = await relay.when(relay.store.ownership.take(VIDEO));
      if (hold) await relay.when(relay.store.finish(hold, ENDED));
      chat.change({ kind: "replay", pageSize: 4 });
      await relay.when(waiting.entered);
      assert.equal((await waiting.ended())?.event, "end");
      assert.deepEqual(waiting.ids, viewer.ids.slice(7));
      assert.equal(waiting.init.chatType, "liveChatRenderer");
    });
});

describe("a viewer at an edge with a cursor of a replay gets the replay", () => {
  const GRACE_MS = 1000;

  /** A viewer at an edge, and the chat over at the origin, where newcomers would get the replay. */
  async function over(pageSize: number, meanwhile: (edge: VirtualEdge) => void = () => {}) {
    const room = await virtualRoom(10, { RELAY_GRACE_MS: `${GRACE_MS}` });
    const { relay, chat } = room;
    const edge = await virtualEdge(relay);
    const watching = await relay.enter({ videoId: VIDEO }, edge.life.rooms);
    meanwhile(edge);
    chat.end("reload-only");
    await room.viewer.ended();
    chat.change({ kind: "replay", pageSize });
    await relay.advance(3 * GRACE_MS);
    return { ...room, edge, watching };
  }

  /** A reader of the replay, and its first cursor. */
  async function readReplay(relay: VirtualRelay, visit: Partial<Visit> = {}) {
    const reader = await relay.enter({ videoId: VIDEO, ...visit });
    const [first] = await reader.untilMessages(2);
    return { reader, cursor: first?.cursor ?? 0 };
  }

  for (const isHeard of [false, true])
    for (const isWhole of [true, false])
      it(`if the edge has ${isHeard ? "" : "not "}heard of the end of the live chat, and the replay is read ${isWhole ? "to its end" : "in part"}`, async () => {
        const { relay, edge, watching, viewer } = await over(isWhole ? 10 : 1, ({ line }) => {
          if (!isHeard) line.swallow(1);
        });
        const { reader, cursor } = await readReplay(relay);
        if (isWhole) await reader.ended();
        const replay = await relay.when(relay.store.getRoom(REPLAY));
        assert.equal(replay?.end?.state, isWhole ? "ended" : undefined);
        const back = await relay.enter({ videoId: VIDEO, lastEventId: cursor }, edge.life.rooms);
        assert.equal((await back.ended())?.event, "end");
        await reader.ended();
        assert.deepEqual([back.init.chatType, back.init.cursor], ["liveChatReplayRenderer", cursor]);
        assert.deepEqual(back.ids, reader.ids.slice(1));
        assert.equal((await watching.ended())?.event, isHeard || isWhole ? "end" : undefined);
        assert.deepEqual(watching.ids, viewer.ids);
        const ofLive = { videoId: VIDEO, lastEventId: viewer.cursors[6] ?? 0 };
        const other = await relay.enter(ofLive, edge.life.rooms);
        assert.equal((await other.ended())?.event, "end");
        assert.deepEqual([other.init.chatType, other.ids], ["liveChatRenderer", viewer.ids.slice(7)]);
        assert.equal(Math.max(...edge.streams), 1);
      });

  it("while newcomers still get the live chat, but CAPACITY while this edge has a viewer of that", async () => {
    const { relay, chat } = await readToEnd();
    chat.change({ kind: "replay", pageSize: 1 });
    const { cursor } = await readReplay(relay, { reopens: true });
    const { life, line } = await virtualEdge(relay);
    line.latency = { leastMs: 20, jitterMs: 0 }; // so the newcomer's answer comes first
    const newcomer = relay.visit({ videoId: VIDEO }, life.rooms);
    const beside = await relay.refusal({ videoId: VIDEO, lastEventId: cursor }, life.rooms);
    assert.ok(beside instanceof CapacityError);
    assert.deepEqual([beside.code, beside.capacityCause, beside.retryAfterMs], ["CAPACITY", "live", 1000]);
    assert.match(beside.message, /live chat is still open/);
    assert.equal((await newcomer.ended())?.event, "end");
    assert.equal(newcomer.init.chatType, "liveChatRenderer");
    const back = await relay.enter({ videoId: VIDEO, lastEventId: cursor }, life.rooms);
    assert.equal((await back.ended())?.event, "end");
    assert.deepEqual([back.init.chatType, back.init.cursor], ["liveChatReplayRenderer", cursor]);
  });

  it("while the edge waits for an answer that does not know the replay yet", async () => {
    const { relay, edge } = await over(1);
    edge.line.latency = { leastMs: 3000, jitterMs: 0 };
    relay.visit({ videoId: VIDEO, lastEventId: 2 ** 52 }, edge.life.rooms);
    await relay.advance(3500);
    const { cursor } = await readReplay(relay);
    const back = await relay.enter({ videoId: VIDEO, lastEventId: cursor }, edge.life.rooms);
    assert.equal((await back.ended())?.event, "end");
    assert.deepEqual([back.init.chatType, back.init.cursor], ["liveChatReplayRenderer", cursor]);
  });
});

it("the log names the video of a replay, and the chat", async () => {
  const { relay, chat } = await readToEnd();
  chat.change({ kind: "replay", pageSize: 1 });
  await relay.advance(LATER_MS);
  await (await relay.enter({ videoId: VIDEO })).untilMessages(2);
  relay.kill();
  relay.disk.rewrite(VIDEO, (checkpoint) => JSON.stringify({ ...JSON.parse(checkpoint), gifts: 5 }));
  relay.start();
  await (await relay.enter({ videoId: VIDEO })).untilMessages(3);
  const told = relay.log.filter(({ msg }) => msg.startsWith("checkpoint unreadable"));
  assert.deepEqual(
    told.map(({ videoId, chat: named }) => [videoId, named]),
    [[VIDEO, "replay"]],
  );
});

for (const days of [40, -40])
  it(`a newcomer gets the replay, though the clock was ahead by ${days} days as the live chat ended`, async () => {
    let aheadMs = days * 24 * 3_600_000;
    const { relay, chat, viewer } = await virtualRoom(10, {}, {}, { hasDisk: true, aheadMs: () => aheadMs });
    chat.end("reload-only");
    await viewer.ended();
    chat.change({ kind: "replay", pageSize: 4 });
    relay.kill();
    aheadMs = 0;
    await relay.advance(LATER_MS);
    relay.start();
    const late = await whole({ relay }, {});
    assert.equal(late.viewer.init?.chatType, "liveChatReplayRenderer");
    assert.deepEqual(late.viewer.ids, viewer.ids);
    const back = await whole({ relay }, { lastEventId: viewer.cursors[5] ?? 0 });
    assert.deepEqual(back.viewer.ids, viewer.ids.slice(6));
  });

it("a viewer with a cursor of a replay gets it, though the live chat seems to have ended just now", async () => {
  const graceMs = 1000;
  const { relay, chat, viewer } = await virtualRoom(20, { RELAY_GRACE_MS: String(graceMs) });
  chat.end("reload-only");
  await viewer.ended();
  chat.change({ kind: "replay", pageSize: 2 });
  await relay.advance(3 * graceMs);
  const reader = await relay.enter({ videoId: VIDEO });
  const cursors = (await reader.untilMessages(4)).map(({ cursor }) => cursor);
  reader.leave();
  await relay.advance(3 * graceMs); // it is released, with a part of the replay
  relay.computer.aheadMs = -20 * graceMs;
  const back = await relay.enter({ videoId: VIDEO, lastEventId: cursors[1] ?? 0 });
  assert.equal((await back.ended())?.event, "end");
  assert.deepEqual([back.init?.cursor, back.messages.length], [cursors[1], 18]);
});

it("a viewer of the replay does not reopen the live chat if its page says that is to come", async () => {
  const { relay } = await replayed();
  relay.upstream.fault({ on: ["watch", "next"], times: Number.POSITIVE_INFINITY, as: "offline" });
  const visit = relay.visit({ videoId: VIDEO, chat: "replay", lastEventId: 0 });
  await assert.rejects(relay.when(visit.entered), { code: "NOT_STORED" });
  const [room, ...others] = await relay.when(relay.list.all());
  assert.deepEqual([room?.state, others], ["ended", []]);
});

describe("a reader that names the chat which a video has not", () => {
  const asks = async (relay: VirtualRelay) =>
    assert.rejects(relay.when(relay.visit({ videoId: VIDEO, chat: "replay" }).entered), {
      code: "NOT_STORED",
    });
  const polls = (relay: VirtualRelay, since: number) =>
    relay.upstream.requests.filter(({ kind, at }) => kind === "get_live_chat" && at > since).length;

  it("does not keep open the room that its request has opened", async () => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO);
    await asks(relay);
    await relay.advance(LATER_MS);
    const since = relay.clock.monotonic();
    await relay.advance(LATER_MS);
    assert.equal(polls(relay, since), 0);
  });

  it("does not prolong the grace time of a room without viewers", async () => {
    const { relay, viewer } = await virtualRoom(3);
    viewer.leave();
    await relay.advance(60_000);
    await asks(relay);
    await relay.advance(40_000);
    const since = relay.clock.monotonic();
    await relay.advance(LATER_MS);
    assert.equal(polls(relay, since), 0);
  });
});

it("the live chat that is stored stays as it is when somebody opens the finished video", async () => {
  const room = await replayed();
  const { relay } = room;
  const before = await relay.when(relay.store.getRoom(VIDEO));
  const { viewer } = await whole(room, {});
  const after = await relay.when(relay.store.getRoom(VIDEO));
  assert.deepEqual([after?.base, after?.head, after?.end], [before?.base, before?.head, before?.end]);
  assert.ok((viewer.cursors[0] ?? 0) > (after?.head ?? 0));
  const again = await whole(room, { lastEventId: viewer.cursors[1] ?? 0 });
  assert.deepEqual(again.viewer.ids, viewer.ids.slice(2));
});

describe("a live chat that ends while nobody reads it", () => {
  for (const kind of ["replay", "gone"] as const)
    it(`(${kind} then) gets a last gap and is closed, without a message of the replay`, async () => {
      const { relay, chat, viewer } = await virtualRoom(5, {}, {}, { hasDisk: true });
      const last = viewer.cursors.at(-1) ?? 0;
      relay.kill();
      chat.say(5);
      chat.end("reload-only");
      if (kind === "replay") chat.change({ kind: "replay", pageSize: 4 });
      await relay.advance(600_000);
      relay.start();
      for (const lastEventId of [last, undefined, 0, last]) {
        const back = await relay.enter({ videoId: VIDEO, lastEventId });
        assert.equal((await back.ended())?.event, "end");
        assert.equal(back.init?.chatType, "liveChatRenderer");
        const ids = lastEventId === last ? [] : viewer.ids;
        assert.deepEqual(back.ids, [...ids, `gap:${last}`]);
      }
      assert.equal((await relay.when(relay.store.getRoom(VIDEO)))?.end?.state, "ended");
      assert.equal(await relay.when(relay.store.getRoom(REPLAY)), undefined);
      await relay.advance(LATER_MS);
      if (kind === "replay") {
        const newcomer = await relay.enter({ videoId: VIDEO });
        assert.equal((await newcomer.ended())?.event, "end");
        assert.equal(newcomer.ids.length, 10);
      } else assert.equal((await relay.refusal({ videoId: VIDEO })).code, "NO_LIVE_CHAT");
    });

  it("gets one last gap, also if the store fails before the chat is closed", async () => {
    const { relay, chat, viewer } = await virtualRoom(5, {}, {}, { hasDisk: true });
    const last = viewer.cursors.at(-1) ?? 0;
    relay.kill();
    chat.end("reload-only");
    await relay.advance(600_000);
    relay.start();
    relay.disk.failAtCommit(3, "refused");
    await relay.enter({ videoId: VIDEO, lastEventId: last }).catch(() => {});
    await relay.advance(10_000);
    const back = await relay.enter({ videoId: VIDEO, lastEventId: last });
    assert.equal((await back.ended())?.event, "end");
    assert.deepEqual(back.ids, [`gap:${last}`]);
  });

  it("has no gap if it was read within the last ten seconds", async () => {
    const { relay, viewer } = await readToEnd();
    assert.ok(!viewer.ids.some((id) => id.startsWith("gap:")));
    assert.equal((await relay.when(relay.store.getRoom(VIDEO)))?.head, viewer.cursors.at(-1));
  });

  it("has a last gap if the upstream could not be reached until then", async () => {
    const { relay, chat, viewer } = await virtualRoom(5, {}, {}, { hasDisk: true });
    const repair = failAlways(relay, ["get_live_chat", ...PLACES], { status: 503 });
    await relay.advance(20_000);
    repair();
    chat.end("reload-only");
    chat.change({ kind: "replay" });
    assert.equal((await viewer.ended())?.event, "end");
    assert.deepEqual(viewer.ids.slice(5), [`gap:${viewer.cursors[4]}`]);
  });
});
