/** A connection of several chats whose client reads slowly or not at all. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { mergedAsked, openMerged } from "../../../src/http/streams/merged.ts";
import { vectorOf } from "../../../src/protocol/merged-id.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { longActions } from "../../chaos/long-messages.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";

const VIDEOS = Array.from({ length: 8 }, (_, n) => `slow-chat${n + 10}`);
const LAST = "slow-chat17";
/** A chunk of three such messages is nearly full. */
const LONG = 10_000;
const CHUNK_MESSAGES = 3;
/** One chunk, and the beginnings of all chats. */
const MAX_HELD_BYTES = 70_000;
const OPENED_MS = 30_000;

interface Watched {
  sink: SimulatedSink;
  /** Number of messages that the client was given of each chat. */
  counts(): number[];
}

/** `from`: the cursor after which the last chat begins, instead of the backfill. */
function watch(relay: VirtualRelay, backfill: number, isStalled = false, from?: number): Watched {
  const counts = new Map(VIDEOS.map((video) => [video, 0]));
  const sink = new SimulatedSink(FORMS.sse.plain.bare, (bytes) => {
    for (const [, video = ""] of bytes.toString().matchAll(/message\ndata: {"videoId":"([^"]+)"/g))
      counts.set(video, (counts.get(video) ?? 0) + 1);
  });
  if (isStalled) sink.stall();
  const lastEventId = vectorOf(VIDEOS.map((video) => (video === LAST ? from : undefined)));
  const query = { videoIds: VIDEOS.join(), backfill: `${backfill}`, lastEventId };
  openMerged(mergedAsked({ query, headers: {} }), "viewer", relay.service, () => sink);
  return { sink, counts: () => [...counts.values()] };
}

function chatsOf(relay: VirtualRelay): Chat[] {
  return VIDEOS.map((video) => relay.upstream.chat(video, { kinds: ["text"], timeoutMs: 5000 }));
}

/** A relay that holds 12 long messages of each chat in its store, and none in memory. */
async function withHistory(): Promise<{ relay: VirtualRelay; chats: Chat[] }> {
  const relay = new VirtualRelay({ hasDisk: true });
  const chats = chatsOf(relay);
  watch(relay, 0);
  await relay.advance(OPENED_MS);
  for (const chat of chats) chat.say(longActions(0, 4 * CHUNK_MESSAGES, LONG));
  await relay.advance(10_000);
  await relay.restart();
  await relay.advance(OPENED_MS);
  return { relay, chats };
}

describe("a connection of several chats whose client is slow", () => {
  it("holds one chunk in all, whichever chats have new messages", async () => {
    const relay = new VirtualRelay();
    const chats = chatsOf(relay);
    const { sink } = watch(relay, 0);
    await relay.advance(OPENED_MS);
    sink.stall();
    for (const chat of chats) chat.say(longActions(0, 6, LONG));
    await relay.advance(10_000);
    assert.ok(sink.heldBytes <= MAX_HELD_BYTES, `${sink.heldBytes} bytes`);
  });

  it("holds one chunk of history, and after each drain another", async () => {
    const { relay } = await withHistory();
    const { sink } = watch(relay, 100, true);
    for (let sips = 0; sips < 5; sips++) {
      await relay.advance(1000);
      assert.ok(sink.heldBytes <= MAX_HELD_BYTES, `${sink.heldBytes} bytes`);
      sink.sip();
    }
  });

  it("is sent its chats in turn, each of them whole", async () => {
    const { relay } = await withHistory();
    const { sink, counts } = watch(relay, 4 * CHUNK_MESSAGES, true);
    const turns: number[] = [];
    for (let sips = 0; sips < 6 * VIDEOS.length; sips++) {
      const before = counts();
      await relay.advance(100);
      sink.sip();
      const served = counts().flatMap((count, chat) => (count > (before[chat] ?? 0) ? [chat] : []));
      turns.push(...served);
    }
    const rounds = Array.from({ length: 4 }, () => VIDEOS.keys().toArray()).flat();
    assert.deepEqual(turns.slice(0, rounds.length), rounds);
    assert.deepEqual(
      counts(),
      VIDEOS.map(() => 4 * CHUNK_MESSAGES),
    );
  });

  it("gets the history of one chat in turn, although its other chats always have new messages", async () => {
    const { relay, chats } = await withHistory();
    const room = await relay.when(relay.store.getRoom(LAST));
    const { sink, counts } = watch(relay, 0, true, room?.base);
    await relay.advance(1000);
    for (let rounds = 0; (counts().at(-1) ?? 0) < 4 * CHUNK_MESSAGES; rounds++) {
      assert.ok(rounds < 20, counts().join());
      for (const chat of chats.slice(1, -1)) chat.say(longActions(100 + 12 * rounds, 12, LONG));
      for (const _ of VIDEOS) {
        await relay.advance(500);
        sink.sip();
      }
    }
  });

  it("holds no more and more errors while its chats are refused", async () => {
    const relay = new VirtualRelay();
    chatsOf(relay);
    relay.upstream.fault({ on: ["popout", "watch", "next"], times: 100_000, as: { status: 429 } });
    const { sink } = watch(relay, 0, true);
    await relay.advance(OPENED_MS);
    const held = sink.heldBytes;
    assert.ok(held > 0);
    await relay.advance(20 * OPENED_MS);
    assert.ok(sink.heldBytes <= held + 200, `${held} bytes, then ${sink.heldBytes}`);
  });

  it("gets all that it missed once it reads again", async () => {
    const relay = new VirtualRelay();
    const chats = chatsOf(relay);
    const { sink, counts } = watch(relay, 0);
    await relay.advance(OPENED_MS);
    sink.stall();
    for (let left = 2; left > 0; left--) {
      for (const chat of chats) chat.say(40);
      await relay.advance(10_000);
    }
    sink.readOn();
    await relay.advance(1000);
    assert.deepEqual(
      counts(),
      VIDEOS.map(() => 80),
    );
    assert.equal(sink.closedBy, undefined);
  });

  it("is ended once at a stop, so that the client still gets all that was written", async () => {
    const relay = new VirtualRelay();
    chatsOf(relay);
    const { sink } = watch(relay, 0);
    await relay.advance(OPENED_MS);
    let ends = 0;
    sink.end = () => {
      ends += 1;
    };
    await relay.when(relay.rooms.stop());
    await relay.advance(1000);
    assert.equal(ends, 1);
  });
});
