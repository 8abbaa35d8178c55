/**
 * The list of rooms of a store in memory: what it shows is kept up to date, and nothing is counted when it is
 * asked for.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { ENDED } from "../../../src/protocol/chat.ts";
import { MemoryStore } from "../../../src/store/memory/memory.ts";
import { message, own } from "../../support/store-reading.ts";
import { BORN_MS, wallAt } from "../../support/store-subject.ts";

const ROOMS = ["room-one-01", "room-two-02", "room-three3"];
/** One batch: to which room, and how many messages, of which the first is a gap. */
const append = fc.record({
  kind: fc.constant("append"),
  room: fc.nat(ROOMS.length - 1),
  count: fc.integer({ min: 1, max: 4 }),
  isGap: fc.boolean(),
});
const prune = fc.record({
  kind: fc.constant("prune"),
  ageMs: fc.nat(40),
  limit: fc.integer({ min: 1, max: 9 }),
});
const finish = fc.record({ kind: fc.constant("finish"), room: fc.nat(ROOMS.length - 1) });

test("the list equals a full recount, whatever is appended, finished and pruned", async () => {
  const steps = fc.array(fc.oneof({ weight: 4, arbitrary: append }, prune, finish), { maxLength: 40 });
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const wall = wallAt(BORN_MS);
      const store = new MemoryStore(wall);
      const claims = new Map<string, Awaited<ReturnType<typeof own>>>();
      const heads = new Map<string, number>();
      /** When each message came, by its room and cursor. */
      const cameAt = new Map<string, number>();
      for (const [n, step] of all.entries()) {
        wall.nowMs += 1;
        if ("ageMs" in step) {
          await store.prune(step.ageMs, step.limit);
          continue;
        }
        const videoId = ROOMS[step.room] ?? "";
        const claim = claims.get(videoId) ?? (await own(store, videoId));
        if (!claims.has(videoId)) heads.set(videoId, claim.head);
        claims.set(videoId, claim);
        if (!("count" in step)) {
          if (await store.getRoom(videoId)) await store.finish(claim, ENDED);
          else await claim.giveBack();
          claims.delete(videoId);
          continue;
        }
        const ids = Array.from(
          { length: step.count },
          (_, i) => `${step.isGap && i === 0 ? "gap:" : ""}${n}-${i}`,
        );
        const added = await store.append(claim, heads.get(videoId) ?? 0, ids.map(message), "{}");
        for (const { cursor } of added) cameAt.set(`${videoId} ${cursor}`, wall.nowMs);
        heads.set(videoId, added.at(-1)?.cursor ?? 0);
      }
      for (const { videoId, floor, head, firstAt, lastAt, gaps } of await store.listRooms(10)) {
        const held = await store.read(videoId, 0, 1000);
        const timeOf = (cursor: number | undefined) => cameAt.get(`${videoId} ${cursor}`) ?? null;
        assert.deepEqual(
          { count: head - floor, firstAt, lastAt, gaps },
          {
            count: held.length,
            firstAt: timeOf(held[0]?.cursor),
            lastAt: timeOf(held.at(-1)?.cursor),
            gaps: held.filter(({ id }) => id.startsWith("gap:")).length,
          },
        );
      }
    }),
  );
});

test("listing builds no array that grows with the messages, and looks at no id", async (t) => {
  const store = new MemoryStore(wallAt(BORN_MS));
  const claim = await own(store, ROOMS[0] ?? "");
  for (let i = 0; i < 100; i++) await store.append(claim, claim.head + i, [message(`m${i}`)], "{}");
  /** Lengths of the arrays that were gone through, and strings that were looked at. */
  const seen: unknown[] = [];
  const watch = (prototype: object, name: string, note: (self: { length: number }) => unknown) => {
    const original = Reflect.get(prototype, name);
    t.after(() => Reflect.set(prototype, name, original));
    Reflect.set(prototype, name, function (this: { length: number }, ...args: unknown[]) {
      if (isListing) seen.push(note(this));
      return original.apply(this, args);
    });
  };
  let isListing = false;
  for (const name of ["filter", "reduce", "map", "find"])
    watch(Array.prototype, name, ({ length }) => length);
  watch(String.prototype, "startsWith", (text) => String(text));
  isListing = true;
  const listing = store.listRooms(10);
  isListing = false;
  assert.equal((await listing).length, 1);
  assert.deepEqual(
    seen.filter((one) => one !== 1),
    [],
  );
});
