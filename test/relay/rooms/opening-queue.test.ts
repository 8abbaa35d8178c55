/** The queue of videos to open: whose turn it is, who is displaced, and who is refused. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OpeningQueue, type OpeningRank } from "../../../src/rooms/opening/opening-queue.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { FakeClock } from "../../support/fake-clock.ts";

describe("videos that wait for a bootstrap", () => {
  /** A queue for this many places, the callers that got one, and a way to give the oldest ones back. */
  function queueOf(places: number) {
    const clock = new FakeClock();
    let free = places;
    const turns: string[] = [];
    const taken: Disposable[] = [];
    const take = () => {
      if (free === 0) return undefined;
      free -= 1;
      return {
        [Symbol.dispose]: () => {
          free += 1;
        },
      };
    };
    const openings = new OpeningQueue(clock, 1000, take);
    const got = (name: string) => (place: Disposable) => {
      taken.push(place);
      turns.push(name);
    };
    const enter = (
      name: string,
      address: string,
      rank: OpeningRank = "unknown",
      signal = new AbortController().signal,
    ) =>
      openings
        .join(address)
        .turn(rank, signal)
        .then(got(name), (error) => turns.push(`${name}: ${error.code ?? error.message}`));
    const giveBack = async (count = 1) => {
      for (let i = 0; i < count; i++) {
        taken.shift()?.[Symbol.dispose]();
        await clock.advance(0);
      }
    };
    return { clock, turns, taken, got, enter, giveBack, openings };
  }

  /** A queue with one place, which is taken. */
  async function takenQueue() {
    const queue = queueOf(1);
    await queue.enter("first", "first");
    queue.turns.length = 0;
    return queue;
  }

  it("start at once while there are places, then one for each place that becomes free", async () => {
    const { clock, turns, enter, giveBack } = queueOf(2);
    for (const name of ["a", "b", "c"]) void enter(name, name);
    await clock.advance(1000);
    assert.deepEqual(turns, ["a", "b"]);
    await giveBack();
    assert.deepEqual(turns, ["a", "b", "c"]);
  });

  it("take turns by address, and the newest video of an address goes first", async () => {
    const { turns, enter, giveBack } = await takenQueue();
    for (let i = 1; i <= 100; i++) void enter(`flood ${i}`, "flood");
    void enter("one 1", "one");
    void enter("two 1", "two");
    void enter("one 2", "one");
    await giveBack(7);
    assert.deepEqual(turns, ["two 1", "one 2", "flood 100", "one 1", "flood 99", "flood 98", "flood 97"]);
  });

  it("use a turn of each address that waits for them, but are opened once", async () => {
    const { turns, got, enter, giveBack, openings } = await takenQueue();
    const shared = openings.join("flood");
    void shared.turn("unknown", new AbortController().signal).then(got("shared"));
    for (let i = 1; i <= 10; i++) void enter(`flood ${i}`, "flood");
    await giveBack();
    shared.add("newcomer");
    await giveBack(3);
    assert.deepEqual(turns, ["flood 10", "shared", "flood 9", "flood 8"]);
  });

  it("leave all their lines at their turn, so that the next place is for another video", async () => {
    const { clock, turns, taken, got, enter, openings } = queueOf(2);
    for (const name of ["a", "b"]) await enter(name, name);
    void enter("flood", "flood");
    const shared = openings.join("flood");
    void shared.turn("unknown", new AbortController().signal).then(got("shared"));
    shared.add("newcomer");
    for (const place of taken.splice(0)) place[Symbol.dispose](); // both before the first is used
    await clock.advance(0);
    assert.deepEqual(turns, ["a", "b", "shared", "flood"]);
  });

  it("wait for one turn, and not for a round, if their address was not served while others flood", async () => {
    const { turns, enter, giveBack } = await takenQueue();
    for (let i = 0; i < 640; i++) void enter(`flood ${i}`, `address ${i % 64}`);
    await giveBack(3);
    void enter("newcomer", "newcomer");
    await giveBack();
    assert.deepEqual(turns.slice(3), ["newcomer"]);
  });

  it("wait behind videos that are known to exist, which take turns by address, too", async () => {
    const { turns, enter, giveBack } = await takenQueue();
    for (let i = 1; i <= 100; i++) void enter(`made up ${i}`, `address ${i}`);
    for (const name of ["known 1", "known 2"]) void enter(name, "a", "known");
    void enter("known 3", "b", "known");
    void enter("newest", "newest");
    await giveBack(4);
    assert.deepEqual(turns, ["known 3", "known 2", "known 1", "newest"]);
  });

  it("wait behind recordings and earlier rooms of any address", async () => {
    const { turns, enter, giveBack } = await takenQueue();
    void enter("new", "a");
    void enter("known", "a", "known");
    void enter("recorded", "", "open");
    void enter("resumed", "b", "open");
    await giveBack(4);
    assert.deepEqual(turns, ["recorded", "resumed", "known", "new"]);
  });

  it("are refused after 30 s, and forgotten when their viewers give up", async () => {
    const { clock, turns, enter, giveBack } = await takenQueue();
    const gone = new AbortController();
    void enter("gone", "a", "unknown", gone.signal);
    void enter("waits", "a");
    gone.abort(new Error("left"));
    await clock.advance(29_999);
    void enter("late", "a");
    await clock.advance(1);
    assert.deepEqual(turns, ["gone: left", "waits: CAPACITY"]);
    await giveBack();
    assert.deepEqual(turns.slice(2), ["late"]);
  });
});

describe("the videos that wait to be opened", () => {
  /** A crowd of at most `max`, and those that were displaced, in order. */
  function crowdOf(max: number) {
    const waiting = new OpeningQueue(new FakeClock(), max, () => undefined);
    const displaced: string[] = [];
    const join = (name: string, address: string) => {
      const queued = waiting.join(address);
      queued.displaced.addEventListener("abort", () => displaced.push(name), { once: true });
      return queued;
    };
    return { join, displaced };
  }

  it("are displaced, once there are too many, from the address with the most: its oldest", () => {
    const { join, displaced } = crowdOf(5);
    join("person 1", "person");
    for (let i = 1; i <= 6; i++) join(`flood ${i}`, "flood");
    join("person 2", "person");
    join("other", "other");
    assert.deepEqual(displaced, ["flood 1", "flood 2", "flood 3", "flood 4"]);
  });

  it("count for each waiting address in turn, and are displaced only when every address has too many", () => {
    const { join, displaced } = crowdOf(5);
    join("wanted", "flood").add("person");
    for (let i = 1; i <= 8; i++) join(`flood ${i}`, "flood");
    assert.deepEqual(displaced, ["flood 1", "flood 2", "flood 3", "flood 4"]);
    for (let i = 1; i <= 8; i++) join(`other ${i}`, "person");
    assert.ok(displaced.includes("wanted"));
  });

  it("count until they are opened or given up, at most once", () => {
    const { join, displaced } = crowdOf(2);
    const first = join("first", "a");
    join("second", "a");
    first[Symbol.dispose]();
    first[Symbol.dispose]();
    join("third", "b");
    assert.deepEqual(displaced, []);
    join("fourth", "b");
    assert.deepEqual(displaced, ["third"]);
  });
});

it("a connection with several chats is refused if not all open in time; open ones do not count", async () => {
  const relay = new VirtualRelay();
  relay.upstream.chat("is-open-now", { kinds: ["text"] });
  await relay.enter({ videoId: "is-open-now" });
  const twenty = (line: number) =>
    Array.from({ length: 20 }, (_, i) => `waits-${String(20 * line + i).padStart(5, "0")}`);
  const { rooms } = relay;
  const lines = Array.from({ length: 25 }, (_, line) => rooms.reserveOpenings(twenty(line), "flood"));
  const refused = { code: "CAPACITY", capacityCause: "openings" };
  assert.throws(() => rooms.reserveOpenings(twenty(25), "flood"), refused);
  rooms.reserveOpenings(["is-open-now"], "flood");
  rooms.reserveOpenings(twenty(25), "another");
  lines[0]?.[Symbol.dispose]();
  for (const videoId of twenty(0)) relay.visit({ videoId, address: "flood" }).entered.catch(() => {});
  await relay.advance(1); // the store says first that it has none of them
  assert.throws(() => rooms.reserveOpenings(twenty(26), "flood"), refused);
});

for (const [addresses, also] of [
  [16, ""],
  [64, ""],
  [1500, ""],
  [16, " and itself"],
] as const)
  it(`a new live chat opens within 10 s beside 1,500 made-up videos of ${addresses} addresses${also}`, async () => {
    const relay = new VirtualRelay({ settings: { RELAY_MAX_ROOMS: "500" } });
    const chat = relay.upstream.chat("is-live-now", { kinds: ["text"] });
    chat.say(1);
    const made = Array.from({ length: 1500 }, (_, i) => String(i).padStart(11, "0"));
    if (also) made.splice(1000, 1, chat.videoId);
    const flood = made.map((videoId, i) => relay.visit({ videoId, address: `flood ${i % addresses}` }));
    for (const { entered } of flood) entered.catch(() => {});
    await relay.advance(3000);
    const began = relay.clock.monotonic();
    await relay.enter({ videoId: chat.videoId, address: "newcomer" });
    assert.ok(relay.clock.monotonic() - began < 10_000);
  });
