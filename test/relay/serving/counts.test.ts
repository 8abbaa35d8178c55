/**
 * What does not depend on the machine, as numbers: the bytes that stay alive for a viewer and for a room, the
 * writes of a batch and of a storm, and the bytes that are allocated for each of them.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { FORMS } from "../../../src/serving/form.ts";
import { MessageFilter } from "../../../src/serving/message-filter.ts";
import type { Sink } from "../../../src/serving/sink.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { allocatedBytes, heldMb } from "../../support/memory.ts";

const VIDEO = "counted-one";
const KB = 1024;
const MB = KB * KB;
const MANY = 1000;
const ROOMS = 100;
/** So many that the samples of `allocatedBytes` differ little from one measurement to the next. */
const BATCHES = 10;
/** The messages that a viewer of the storm has missed. */
const MISSED = 50;

/** A connection that takes everything and counts the writes. */
class CountingSink implements Sink {
  readonly form = FORMS.sse.plain.bare;
  readonly isBackPressured = false;
  writes = 0;
  write(): void {
    this.writes += 1;
  }
  end() {}
  reset() {}
  attach() {}
}

const address = () => "viewer";

/** Takes viewers into a room, in virtual time. */
async function crowd(relay: VirtualRelay, count: number, lastEventId?: number): Promise<CountingSink[]> {
  const sinks = Array.from({ length: count }, () => new CountingSink());
  const { signal } = new AbortController();
  const entered = sinks.map((sink) =>
    relay.rooms.enter(
      {
        videoId: VIDEO,
        lastEventId,
        backfill: 0,
        filter: MessageFilter.everything,
        isBounded: false,
        address,
        openSink: () => sink,
      },
      signal,
    ),
  );
  await relay.when(Promise.all(entered), "all have entered");
  return sinks;
}

/** Longer than the calls that follow an opening. */
const OPENED_MS = 10_000;

/** A relay with one room, of a chat that speaks only when the test lets it. */
async function roomOf(said = 0) {
  // The comments of a keepalive are writes too.
  const relay = new VirtualRelay({ settings: { RELAY_KEEPALIVE_MS: "60000" } });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 1000 });
  chat.say(said);
  const witness = await relay.enter({ videoId: VIDEO });
  await relay.advance(OPENED_MS);
  /** Says messages and waits until all viewers have them. */
  const say = async (count: number) => {
    const due = witness.ids.length + count;
    chat.say(count);
    await relay.until(() => witness.ids.length >= due, "the witness has them");
  };
  return { relay, witness, say };
}

const sum = (sinks: readonly CountingSink[]) => sinks.reduce((all, { writes }) => all + writes, 0);

it("an idle viewer keeps at most 300 bytes alive besides its connection", async () => {
  const { relay } = await roomOf();
  await crowd(relay, 50);
  const before = heldMb();
  const sinks = await crowd(relay, 4 * MANY); // so many that what else lives and dies meanwhile is little
  const each = Math.round(((heldMb() - before) * MB) / sinks.length);
  // If it grows, look for what a viewer keeps besides its cursor and its feed: a closure, a timer.
  assert.ok(each <= 300, `${each} bytes`);
});

it("a silent room keeps at most 60 KB alive, with its share of the simulated upstream", async () => {
  const settings = { RELAY_MAX_ROOMS: "1000", RELAY_GATE_SPACING_MS: "10" };
  // What the upstream remembers of the requests belongs to no room.
  const relay = new VirtualRelay({ settings, simulator: { keepRequests: 0 } });
  const open = async (from: number, count: number) => {
    for (let n = from; n < from + count; n++) {
      const videoId = `counted-${String(n).padStart(3, "0")}`;
      relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 600_000 });
      await relay.enter({ videoId });
    }
  };
  await open(0, 10);
  const before = heldMb();
  await open(10, ROOMS);
  const each = Math.round(((heldMb() - before) * MB) / ROOMS);
  // If it grows, look for what a poller, an entry or a tail keeps of the page that opened the room.
  assert.ok(each <= 60 * KB, `${each} bytes`);
});

it("a batch of any length is one write to each viewer, and allocates at most 120 bytes for it", async () => {
  const [alone, { relay, say }] = [await roomOf(), await roomOf()];
  const sinks = await crowd(relay, MANY);
  const sayBatches = async (sayOne: typeof say, size: number) => {
    for (let n = 0; n < BATCHES; n++) await sayOne(size);
  };
  for (const size of [1, 10]) {
    for (const sayOne of [alone.say, say]) await sayBatches(sayOne, size); // compiles
    const before = sum(sinks);
    const whole = await allocatedBytes(() => sayBatches(say, size));
    assert.equal(sum(sinks) - before, BATCHES * MANY);
    const ofRoom = await allocatedBytes(() => sayBatches(alone.say, size));
    const each = (whole - ofRoom) / (BATCHES * MANY);
    // If it grows, something is made for each viewer that the viewers of a batch could share.
    assert.ok(each <= 120, `${each} bytes for a viewer and a batch of ${size}`);
  }
});

it("a viewer of a storm gets what it has missed in one write after its first frame", async () => {
  const { relay, witness, say } = await roomOf(1);
  await say(MISSED);
  const after = (witness.messages.at(-1)?.cursor ?? 0) - MISSED;
  const sinks = await crowd(relay, MANY, after);
  // If it grows, the tail's messages are written piece by piece: look at the pump of a viewer.
  assert.deepEqual(new Set(sinks.map(({ writes }) => writes)), new Set([2]));
});

it("viewers that come at once share one read of the store, a storm like newcomers", async () => {
  const { relay, witness, say } = await roomOf(1);
  await say(MISSED);
  const { store } = relay;
  let reads: string[] = [];
  for (const name of ["getRoom", "getAccount", "read", "readTypes", "cursorAt"] as const) {
    const read = store[name].bind(store) as (...parts: unknown[]) => Promise<never>;
    store[name] = (...parts: unknown[]) => {
      reads.push(name);
      return read(...parts);
    };
  }
  const head = witness.messages.at(-1)?.cursor ?? 0;
  for (const after of [undefined, head, head - MISSED]) {
    reads = [];
    await crowd(relay, MANY, after);
    // Where the log begins: messages that the tail still has may be deleted. If there are more reads, each
    // viewer looks for what all of them look for.
    assert.deepEqual(reads, ["getRoom"]);
  }
});

/** Counts the timers that are set from now on. */
function sleepsOf({ clock }: VirtualRelay): () => number {
  let count = 0;
  const sleep = clock.sleep.bind(clock);
  clock.sleep = (...parts: Parameters<typeof sleep>) => {
    count += 1;
    return sleep(...parts);
  };
  return () => count;
}

it("a poll sets three timers: its wait, the time limit of its call, and the simulated network's", async () => {
  const during = async (rooms: number) => {
    const relay = new VirtualRelay({ settings: { RELAY_GATE_SPACING_MS: "10" } });
    const sleeps = sleepsOf(relay);
    for (let n = 0; n < rooms; n++) {
      const videoId = `counted-00${n}`;
      relay.upstream.chat(videoId, { kinds: ["text"], timeoutMs: 1000 });
      await relay.enter({ videoId });
    }
    await relay.advance(OPENED_MS);
    const [before, calls] = [sleeps(), relay.upstream.requests.length];
    await relay.advance(100_000);
    return { timers: sleeps() - before, polls: relay.upstream.requests.length - calls };
  };
  const [one, ten] = [await during(1), await during(10)];
  assert.ok(ten.polls > 9 * one.polls);
  const each = (ten.timers - one.timers) / (ten.polls - one.polls);
  // If it grows, a room wakes for something that the rounds of all rooms could do.
  assert.equal(Math.round(10 * each) / 10, 3);
});

it("the entry of a viewer allocates at most 5.5 KB", async () => {
  const { relay } = await roomOf();
  await crowd(relay, MANY);
  const each = (await allocatedBytes(() => crowd(relay, 4 * MANY))) / (4 * MANY);
  // If it grows, look at the promises and signals between `Rooms.enter` and the first frame.
  assert.ok(each <= 5.5 * KB, `${each} bytes`);
});
