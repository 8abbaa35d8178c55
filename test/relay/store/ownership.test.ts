/**
 * A room that this instance owns, or no longer does: what it asks of the upstream, and what it leaves in the
 * store.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Hold } from "../../../src/store/ownership.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { own } from "../../support/store-reading.ts";
import { isFenced } from "../../support/store-subject.ts";

const VIDEO = "ownership-1";
const POLL_MS = 5000;

/** A room with a viewer, once its first poll is stored and the next one is not due. */
async function polledRoom() {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: POLL_MS });
  chat.say(3);
  const viewer = await relay.enter({ videoId: VIDEO });
  const polls = () => relay.upstream.requests.filter(({ kind }) => kind === "get_live_chat").length;
  await relay.until(() => polls() === 1);
  await relay.advance(POLL_MS / 2);
  return { relay, chat, viewer, polls };
}

it("a room that another owner took is left unchanged, is no longer polled here, and does not linger", async () => {
  const { relay, viewer, polls } = await polledRoom();
  const { store } = relay;
  const other = await own(store, VIDEO);
  // As with a shared store: the room stays with its other owner.
  const freed = (_: string, signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  Object.assign(store.ownership, { take: async () => undefined, freed });
  await relay.advance(100 * POLL_MS);
  assert.equal(viewer.sink.closedBy, undefined, "its viewers follow it");
  viewer.leave();
  await relay.advance(3 * relay.config.rooms.graceMs);
  assert.equal((await store.getRoom(VIDEO))?.end, null);
  assert.equal(polls(), 1);
  other.assertHeld();
});

it("a room that nobody else can own is taken back, and read on for its viewers", async () => {
  const { relay, chat, viewer, polls } = await polledRoom();
  const other = await own(relay.store, VIDEO);
  chat.say(2);
  await relay.advance(3 * POLL_MS);
  assert.ok(polls() >= 3, `${polls()} polls`);
  assert.equal(viewer.sink.closedBy, undefined);
  assert.throws(() => other.assertHeld(), isFenced);
  assert.equal((await relay.stored(VIDEO)).length, 5);
});

it("a room is given back if this instance cannot read on, so that another one can take it", async () => {
  const { relay, viewer } = await polledRoom();
  const { ownership } = relay.store;
  const other = await own(relay.store, VIDEO);
  const newer = JSON.stringify({ position: JSON.stringify({ version: 99 }) });
  await relay.store.append(other, other.head, [], newer);
  const { take } = ownership;
  const taken: Hold[] = [];
  ownership.take = async (videoId) => {
    const hold = await take.call(ownership, videoId);
    if (hold) taken.push(hold);
    return hold;
  };
  await relay.advance(3 * POLL_MS);
  assert.notEqual(viewer.sink.closedBy, undefined, "nobody reads its room");
  assert.equal(taken.length, 1);
  assert.throws(() => taken[0]?.assertHeld(), isFenced);
});

it("a stop waits for the room that is being released", async () => {
  const relay = new VirtualRelay({ hasDisk: true });
  relay.upstream.chat(VIDEO).say(3);
  const viewer = await relay.enter({ videoId: VIDEO });
  viewer.leave();
  await relay.advance(relay.config.rooms.graceMs - 1000);
  relay.disk.commit = { leastMs: 1500, jitterMs: 0 };
  const state = () => relay.disk.tables.getRoom(relay.clock.now(), VIDEO)?.end?.state;
  await relay.advance(1500);
  assert.equal(state(), undefined, "it is released already");
  await relay.when(relay.rooms.stop());
  assert.equal(state(), "released");
});
