/**
 * The part of the stores' contract that is about an author's messages: an index finds the blocks that have
 * some, in every state of a room.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { History } from "../../../src/serving/history/history.ts";
import { BLOCK } from "../../../src/store/author-blocks.ts";
import { type EncodedMessage, type StoredMessage, typeOf } from "../../../src/store/stored-message.ts";
import { readAll, saying } from "../../support/store-reading.ts";
import { BORN_MS, type FullStore, type NewSubject, ownedRoom, ROOM } from "../../support/store-subject.ts";

const COUNT = 3.5 * BLOCK;
const RARE = "UCrare";
const NOBODY = "UCnobody";
const BUSY = ["UCbusy0", "UCbusy1", "UCbusy2"];

/** Rare authors, gaps and damaged messages among those of busy authors. */
function messageOf(n: number): EncodedMessage {
  if (n === 1700) return saying(`gap:${n}`, "", {}, "gap");
  if (n === 2400) return { id: `${n}`, body: "", details: '{"authorId":"UC' };
  const isRare = [BLOCK - 1, BLOCK, 2 * BLOCK + 500, COUNT - 1].includes(n);
  return saying(`${n}`, "", n % 97 === 0 ? {} : { authorId: isRare ? RARE : BUSY[n % 3] }, "chat");
}

const isBy = (authorId: string) => (message: StoredMessage) =>
  typeOf(message) === "gap" || JSON.parse(message.details).authorId === authorId;

/** The spans at which a search for the author must read, one after the other. */
async function spansOf(store: FullStore, authorId: string, low: number, high: number, isNewest: boolean) {
  const spans: { after: number; to: number }[] = [];
  for (let [after, to] = [low, high]; after < to; ) {
    const span = await store.placeOfAuthor(ROOM, { authorId, after, to, isNewest });
    assert.ok(after <= span.after && span.after <= span.to && span.to <= to, JSON.stringify(span));
    assert.ok(isNewest ? span.after < to : span.to > after, "it makes headway");
    spans.push(span);
    [after, to] = isNewest ? [after, span.after] : [span.to, to];
  }
  return spans;
}

/** Random searches against a look at every message. */
async function checkSearches(store: FullStore, numRuns: number): Promise<void> {
  const all = await readAll(store, ROOM);
  const [first = 0, last = 0] = [all[0], all.at(-1)].map((message) => message?.cursor);
  const cursor = fc.integer({ min: first - 1, max: last });
  const search = fc.record({
    authorId: fc.constantFrom(RARE, NOBODY, ...BUSY),
    bounds: fc.oneof(fc.constant([first - 1, last]), fc.tuple(cursor, cursor)),
    isNewest: fc.boolean(),
  });
  const check = fc.asyncProperty(search, async ({ authorId, bounds, isNewest }) => {
    const [low, high] = [Math.min(...bounds), Math.max(...bounds)];
    const spans = await spansOf(store, authorId, low, high, isNewest);
    const missed = all
      .filter((message) => message.cursor > low && message.cursor <= high)
      .filter(isBy(authorId))
      .filter(({ cursor }) => !spans.some(({ after, to }) => cursor > after && cursor <= to));
    assert.deepEqual(missed, []);
  });
  await fc.assert(check, { numRuns });
}

async function countAll(store: FullStore): Promise<void> {
  while ((await store.tally(ROOM, 700)) > 0);
}

const sizeOf = (spans: readonly { after: number; to: number }[]) =>
  spans.reduce((sum, { after, to }) => sum + to - after, 0);

export function authorsContract(subject: NewSubject): void {
  test("are found as by a look at every message, counted or not, after pruning, blanking and a restore", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const all = Array.from({ length: COUNT }, (_, n) => messageOf(n));
    for (let from = 0; from < COUNT; from += 250) {
      await store.append(claim, BORN_MS + from, all.slice(from, from + 250), "");
      if (from % 1500 === 0) await checkSearches(store, 10);
    }
    await store.tally(ROOM, 1234);
    await checkSearches(store, 20);
    await countAll(store);
    await checkSearches(store, 50);
    const spans = await spansOf(store, NOBODY, BORN_MS, BORN_MS + COUNT, false);
    assert.equal(sizeOf(spans), 2 * BLOCK, "those of the gap and of the damaged message");
    const overwriting = all.slice(0, BLOCK).map(({ id }) => saying(id, "", {}, "chat"));
    await store.append(claim, BORN_MS + COUNT, [], "", overwriting);
    await checkSearches(store, 20);
    wall.nowMs += 1;
    assert.equal(await store.prune(0, 1500), 1500);
    await checkSearches(store, 20);
    wall.nowMs += 60_000;
    await store.moveCursors();
    await checkSearches(store, 50);
  });

  test("are read in their blocks alone, and those of nobody not at all", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const count = 12 * BLOCK;
    const places = [7, 5 * BLOCK + 300, 5 * BLOCK + 301];
    for (let from = 0; from < count; from += BLOCK) {
      const batch = Array.from({ length: BLOCK }, (_, n) => {
        const authorId = places.includes(from + n) ? RARE : `UC${(from + n) % 500}`;
        return saying(`${from + n}`, "", { authorId }, "chat");
      });
      await store.append(claim, BORN_MS + from, batch, "");
    }
    await countAll(store);
    const { read } = store;
    let rows = 0;
    store.read = async (...asked) => {
      const page = await read(...asked);
      rows += page.length;
      return page;
    };
    const history = new History(store, wall);
    const search = async (authorId: string, bounds: { before?: number }) => {
      rows = 0;
      const request = { videoId: ROOM, filter: { authorId }, ...bounds };
      const { messages, next, prev } = await history.page(request, 50, t.signal);
      return { ids: messages.map(({ id }) => Number(id)), next, prev };
    };
    const found = { ids: places, next: null, prev: null };
    assert.deepEqual(await search(RARE, {}), found);
    assert.equal(rows, 2 * BLOCK);
    assert.deepEqual(await search(RARE, { before: BORN_MS + count + 1 }), found);
    assert.equal(rows, 2 * BLOCK);
    assert.deepEqual((await search(NOBODY, {})).ids, []);
    assert.equal(rows, 0);
  });

  test("leave nothing in the index once their messages are pruned", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const all = Array.from({ length: 2 * BLOCK }, (_, n) =>
      saying(`${n}`, "", { authorId: BUSY[0] }, "chat"),
    );
    await store.append(claim, BORN_MS, all, "");
    await countAll(store);
    const inFirst = () => spansOf(store, BUSY[0] ?? "", BORN_MS, BORN_MS + BLOCK, false).then(sizeOf);
    assert.equal(await inFirst(), BLOCK);
    wall.nowMs += 1;
    await store.prune(0, BLOCK - 1);
    assert.equal(await inFirst(), BLOCK);
    await store.prune(0, 1);
    assert.equal(await inFirst(), 0);
  });
}
