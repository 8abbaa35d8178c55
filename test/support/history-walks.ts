/**
 * Walks through a history by `next` and by `prev`, over HTTP and on any store: from any start, by any filter,
 * with messages appended and pruned in between, they give exactly what a filter of the whole log gives.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import fc from "fast-check";
import type { MessageType } from "../../src/protocol/kinds.ts";
import type { Hold } from "../../src/store/ownership.ts";
import { channel, linksIn, type Page, said, serve } from "./history.ts";
import { own } from "./store-reading.ts";
import { BORN_MS, type FullStore, type Wall, wallAt } from "./store-subject.ts";

const TYPES: MessageType[] = ["chat", "superchat", "gap", "membership"];
const AUTHORS = ["@ines", "@piotr", "@Mia"];
const WORDS = ["hello", "Good GAME", "mia?", ""];

/** What a message is: a place in each of the three lists. */
const drawn = fc.tuple(fc.nat(3), fc.nat(2), fc.nat(3));
const append = fc.record({ said: fc.array(drawn, { minLength: 1, maxLength: 6 }), afterMs: fc.nat(3) });
const step = fc.oneof(
  { weight: 3, arbitrary: append },
  { weight: 1, arbitrary: fc.record({ prune: fc.integer({ min: 1, max: 5 }) }) },
);
/** A share of the log, from a little before its oldest message to a little beyond its newest. */
const share = fc.noBias(fc.integer({ min: -10, max: 110 })).map((percent) => percent / 100);
const place = fc.option(share, { nil: undefined, freq: 2 });
const filter = fc.record(
  {
    types: fc.constantFrom("chat", "paid,members", "superchat", "polls"),
    author: fc.constantFrom(...AUTHORS.map((author) => channel(author.slice(1)))),
    q: fc.constantFrom("HELLO", "mia", "o", "nowhere"),
  },
  { requiredKeys: [] },
);
const walk = fc.record({
  first: fc.array(step, { minLength: 3, maxLength: 15 }),
  between: fc.array(fc.array(step, { maxLength: 2 }), { maxLength: 6 }),
  direction: fc.constantFrom("next", "prev"),
  start: place,
  from: place,
  to: place,
  filter,
  limit: fc.integer({ min: 1, max: 8 }),
  byLink: fc.boolean(),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Walk = typeof walk extends fc.Arbitrary<infer W> ? W : never;

interface Kept {
  cursor: number;
  at: number;
  type: string;
  author: string;
  message: string;
}

/** A room, and what it must hold. */
class Model {
  readonly #store: FullStore;
  readonly #wall: Wall;
  readonly #claim: Hold;
  readonly base: number;
  kept: Kept[] = [];
  head: number;

  constructor(store: FullStore, wall: Wall, claim: Hold) {
    this.#store = store;
    this.#wall = wall;
    this.#claim = claim;
    this.base = claim.head;
    this.head = claim.head;
  }

  async take(step: Step): Promise<void> {
    if ("prune" in step) {
      this.#wall.nowMs += 1;
      await this.#store.prune(0, step.prune);
      this.kept.splice(0, step.prune);
      return;
    }
    this.#wall.nowMs += step.afterMs;
    const messages = step.said.map(([type, author, words], n) => {
      const fields = { type: TYPES[type], author: AUTHORS[author], message: WORDS[words] };
      this.kept.push({
        cursor: this.head + 1 + n,
        at: this.#wall.nowMs,
        ...(fields as Omit<Kept, "cursor" | "at">),
      });
      return said(this.head + 1 + n, fields as never);
    });
    await this.#store.append(this.#claim, this.head, messages, "");
    this.head += messages.length;
  }
}

function passes({ types, author, q }: Walk["filter"], message: Kept): boolean {
  const groups: Record<string, string[]> = { paid: ["superchat"], members: ["membership"] };
  const wanted = types?.split(",").flatMap((name) => groups[name] ?? [name]);
  const contains = (text: string) => text.toLowerCase().includes(q?.toLowerCase() ?? "");
  if (message.type === "gap") return true;
  if (wanted && !wanted.includes(message.type)) return false;
  if (author && channel(message.author.slice(1)) !== author) return false;
  return contains(message.author) || contains(message.message);
}

export function walksOn(open: (t: TestContext, wall: Wall) => Promise<FullStore>, numRuns: number) {
  return async (t: TestContext) => {
    const wall = wallAt(BORN_MS);
    const store = await open(t, wall);
    const { url } = await serve(t, store);
    let rooms = 0;
    await fc.assert(
      fc.asyncProperty(walk, async (wanted) => {
        // The messages of earlier walks go first, so that pruning finds those of this room.
        wall.nowMs += 1;
        await store.prune(0, 1000);
        const videoId = `room-${String(++rooms).padStart(6, "0")}`;
        const model = new Model(store, wall, await own(store, videoId));
        for (const each of wanted.first) await model.take(each);
        if (model.head > model.base) await follow(url, videoId, model, wanted);
      }),
      { numRuns, seed: 7 },
    );
  };
}

async function follow(url: string, videoId: string, model: Model, wanted: Walk): Promise<void> {
  const { direction, start, limit, filter, byLink } = wanted;
  const isForwards = direction === "next";
  const parameter = isForwards ? "after" : "before";
  const newestAt = model.kept.at(-1)?.at ?? BORN_MS;
  const oldestAt = model.kept[0]?.at ?? BORN_MS;
  const timeAt = (at: number | undefined) =>
    at === undefined ? undefined : oldestAt + Math.round((newestAt - oldestAt) * at);
  const [from = 0, to = Number.POSITIVE_INFINITY] = [timeAt(wanted.from), timeAt(wanted.to)];
  // A walk backwards begins before a cursor; one forwards may begin at the floor.
  const begin =
    start === undefined && isForwards
      ? undefined
      : Math.round(model.base + (start ?? 1.1) * (model.head - model.base));
  const query = new URLSearchParams({
    videoId,
    limit: `${limit}`,
    ...filter,
    ...(wanted.from !== undefined && { from: new Date(from).toISOString() }),
    ...(wanted.to !== undefined && { to: `${to}` }),
    ...(begin !== undefined && { [parameter]: `${begin}` }),
  });
  let path = `/v1/messages?${query}`;
  let at = begin ?? 0;
  for (let pages = 0; ; pages++) {
    const response = await fetch(url + path, { headers: { "accept-encoding": "identity" } });
    const page = (await response.json()) as Page;
    const rest = model.kept.filter(
      (message) =>
        (isForwards ? message.cursor > at : message.cursor < at) && message.at >= from && message.at < to,
    );
    const matching = rest.filter((message) => passes(filter, message));
    const expected = isForwards ? matching.slice(0, limit) : matching.slice(-limit);
    assert.deepEqual(
      page.messages.map(({ cursor, type, author, message }) => ({ cursor, type, author, message })),
      expected.map(({ at: _, ...message }) => message),
    );
    const { [direction]: next } = page;
    const link = linksIn(response.headers)[direction];
    assert.equal(link === undefined, next === null);
    if (next === null) {
      assert.equal(expected.length, matching.length, "the walk ends before its end");
      return;
    }
    assert.equal(expected.length, limit, "the walk goes on though nothing is left");
    const passed = matching.filter(({ cursor }) => (isForwards ? cursor <= next : cursor >= next));
    assert.deepEqual(passed, expected);
    for (const each of wanted.between[pages] ?? []) await model.take(each);
    at = next;
    query.set(parameter, `${next}`);
    path = `/v1/messages${byLink && link !== undefined ? link : `?${query}`}`;
  }
}
