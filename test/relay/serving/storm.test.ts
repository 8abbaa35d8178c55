/**
 * All viewers come back at once: a hundred lose their connection and resume, each from its own cursor, while
 * the chat continues. None is refused, each gets the missed messages once, without an upstream call.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { Feed } from "../../../src/serving/feeds.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { MessageFilter } from "../../../src/serving/message-filter.ts";
import { Room } from "../../../src/serving/room.ts";
import type { Chunk } from "../../../src/serving/tail.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { own, saying } from "../../support/store-reading.ts";
import { observe } from "../../support/store-subject.ts";

const VIDEO = "dQw4w9WgXcQ";
const VIEWERS = 100;
const PLAIN = new Feed(FORMS.sse.plain.bare, MessageFilter.everything, true);
const DETAILED = new Feed(FORMS.sse.detailed.bare, MessageFilter.everything, true);
/** How far behind the viewers' cursors lie; the newest 500 messages need no store. */
const LAGS = [0, 1, 30, 250, 499, 520, 900];
const HISTORY = 1000;

it("a storm of returning viewers is served each from its own cursor, without a new page", async () => {
  const relay = new VirtualRelay({ hasDisk: true });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 1000, page: HISTORY });
  chat.say(HISTORY);
  const first = await relay.enter({ videoId: VIDEO, lastEventId: 0 });
  const seen = (await first.untilMessages(HISTORY)).at(-1)?.cursor ?? 0;
  const calls = () => relay.upstream.requests.filter(({ kind }) => /^(sw|popout|watch)/.test(kind)).length;
  const before = calls();
  const speech = chat.speak(50);
  const lagOf = (viewer: number) => LAGS[viewer % LAGS.length] ?? 0;
  const back = Array.from({ length: VIEWERS }, (_, i) =>
    relay.visit({ videoId: VIDEO, lastEventId: seen - lagOf(i) }),
  );
  await relay.when(Promise.all(back.map(({ entered }) => entered)));
  await relay.advance(5000);
  speech.stop();
  await relay.advance(5000);
  const ids = chat.ledger.map(({ id }) => id);
  for (const [i, viewer] of back.entries()) {
    assert.equal(viewer.init.cursor, seen - lagOf(i));
    assert.deepEqual(viewer.ids, ids.slice(HISTORY - lagOf(i)));
  }
  assert.ok(ids.length > HISTORY + 200);
  assert.equal(calls(), before);
});

it("the upstream is polled as often for 100 viewers as for one", async () => {
  const pollsFor = async (viewers: number): Promise<number> => {
    const relay = new VirtualRelay();
    relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5000 }).say(10);
    for (let i = 0; i < viewers; i++) await relay.enter({ videoId: VIDEO });
    const since = relay.upstream.requests.length;
    await relay.advance(3 * 60_000);
    return relay.upstream.requests.slice(since).filter(({ kind }) => kind === "get_live_chat").length;
  };
  const [alone, together] = [await pollsFor(1), await pollsFor(100)];
  assert.ok(alone > 30, `${alone} polls`);
  assert.equal(together, alone);
});

/** A room of this many messages, all of them below its tail. `reads`: where the store was read. */
async function storedRoom(count: number, text = "") {
  const reads: number[] = [];
  const memory = memoryStore(systemClock);
  const { read } = memory;
  const noted: typeof read = (videoId, after, limit) => {
    reads.push(after);
    return read(videoId, after, limit);
  };
  const store = observe(Object.assign(memory, { read: noted }));
  const claim = await own(store, VIDEO);
  const messages = Array.from({ length: count }, (_, i) => saying(`m${i}`, text, {}));
  await store.append(claim, claim.head, messages, "{}");
  const settings = { keepaliveMs: 1000, isBlanking: false };
  const parts = {
    store,
    clock: systemClock,
    telemetry: new Telemetry(silentLog),
    settings,
    census: { viewers: 0 },
  };
  const head = claim.head + count;
  return { room: new Room(VIDEO, head, parts), base: claim.head, head, reads, store };
}

/** The page after a cursor below the room's tail. */
function pageOf(room: Room, after: number, feed: Feed): Promise<Chunk> {
  const page = room.chunk(after, feed);
  assert.ok(page instanceof Promise);
  return page;
}

it("viewers at the same cursor below the tail share one read of the store", async () => {
  const { room, base } = await storedRoom(3);
  const first = pageOf(room, base, PLAIN);
  assert.equal(pageOf(room, base, PLAIN), first);
  assert.notEqual(pageOf(room, base, DETAILED), first);
  assert.notEqual(pageOf(room, base + 1, PLAIN), first);
  await first;
});

it("viewers that resume at different cursors below the tail soon share theirs", async () => {
  const { room, base, head } = await storedRoom(450);
  const placesFrom = async (after: number): Promise<number[]> => {
    const { next } = await pageOf(room, after, PLAIN);
    return next === head ? [next] : [next, ...(await placesFrom(next))];
  };
  const [near, far] = [await placesFrom(base + 43), await placesFrom(base)];
  assert.deepEqual(near, far.slice(-near.length));
});

it("messages below the tail that are too long for one chunk are read once", async () => {
  const { room, base, head, reads } = await storedRoom(99, "long ".repeat(1000));
  let [after, chunks] = [base, 0];
  while (after < head) {
    const [{ next }] = await Promise.all([pageOf(room, after, PLAIN), pageOf(room, after, DETAILED)]);
    after = next;
    chunks += 1;
  }
  assert.ok(chunks > 5, `${chunks} chunks`);
  const pageEnd = 100 - (base % 100);
  assert.deepEqual(reads, pageEnd < 99 ? [base, base + pageEnd] : [base]);
});

it("pages are kept a second for other viewers: up to 4 MiB of text, and the last of any size", async () => {
  const readsOf = async (text: string): Promise<number> => {
    const { room, base, reads } = await storedRoom(400, text);
    const first = 100 * Math.ceil(base / 100); // a read ends at a multiple of 100
    const starts = [first, first + 100, first + 200];
    for (const after of [...starts, ...starts]) await pageOf(room, after, PLAIN);
    return reads.length;
  };
  assert.equal(await readsOf("short"), 3);
  assert.equal(await readsOf("x".repeat(20_000)), 6, "2 MB in each read");
});

it("a page that fails takes no later one of the same cursor with it", async () => {
  const { room, base, store } = await storedRoom(3);
  const { read } = store;
  const broken = Promise.withResolvers<never>();
  store.read = () => broken.promise;
  const first = pageOf(room, base, PLAIN);
  await room.tick(); // drops the page, which goes on
  store.read = read;
  const second = pageOf(room, base, PLAIN);
  broken.reject(new Error("a broken row"));
  await assert.rejects(first, /a broken row/);
  assert.equal(pageOf(room, base, PLAIN), second);
  assert.ok(await second);
});

// It may be from before a deletion, however large it is.
for (const isReadAgain of [false, true])
  it(`a page dropped while it is read is not kept${isReadAgain ? ", but a later read is" : ""}`, async () => {
    const { room, base, store } = await storedRoom(200, "x".repeat(50_000)); // 5 MB in each read
    const after = 100 * Math.ceil(base / 100); // a read ends at a multiple of 100
    const { read } = store;
    const answered = Promise.withResolvers<void>();
    store.read = async (...asked) => {
      const found = await read(...asked);
      await answered.promise;
      return found.map((message) => ({ ...message, body: message.body.replace("xx", "deleted") }));
    };
    const early = pageOf(room, after, PLAIN);
    await room.tick(); // drops the page
    store.read = read;
    if (isReadAgain) await pageOf(room, after, DETAILED);
    answered.resolve();
    const texts = [await early, await pageOf(room, after, PLAIN)].map(({ packet }) => `${packet?.bytes}`);
    assert.deepEqual(
      texts.map((text) => text.includes("deleted")),
      [true, false],
    );
  });
