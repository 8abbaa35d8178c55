/**
 * Viewers with filters: each gets every message that passes its filter, once and in order, across cuts at any
 * byte, slow reading and a floor that overtakes it. Its client knows only the received bytes, comes back with
 * its last cursor, and knows the head after a keepalive.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { parseObject } from "../../../simulator/plain-json.ts";
import { Random } from "../../../simulator/random.ts";
import { filterAsked } from "../../../src/http/filter-query.ts";
import { MESSAGE_TYPES, type MessageType } from "../../../src/protocol/kinds.ts";
import { FORMS } from "../../../src/serving/form.ts";
import type { Format } from "../../../src/serving/framing.ts";
import { Room } from "../../../src/serving/room.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import type { StoredMessage } from "../../../src/store/stored-message.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { EVERYTHING, FILTERS, type Filter, passes } from "../../harness/filters.ts";
import { Scheduler } from "../../harness/scheduler.ts";
import { Sequence } from "../../harness/sequence.ts";
import { SimulatedSink } from "../../harness/sink.ts";
import { own, saying } from "../../support/store-reading.ts";
import { observe } from "../../support/store-subject.ts";

const ROOM = "filtered-12";
const KEEPALIVE_MS = 1000;
/** In memory; fewer than usual, so that few messages leave them behind. */
const TAIL_MESSAGES = 50;
const TELEMETRY = new Telemetry(silentLog);
const SETTINGS = { keepaliveMs: KEEPALIVE_MS, isBlanking: false, tailMessages: TAIL_MESSAGES };

interface Asked {
  filter: Filter;
  format: Format;
  isDetailed: boolean;
  backfill: number;
}

/** A room on a store in memory, written to by the test. */
class World {
  readonly clock = new Scheduler(new Random(1, "time"));
  readonly store = observe(memoryStore(this.clock), this.clock);
  readonly log: StoredMessage[] = [];
  readonly #types: MessageType[] = [];
  base = 0;
  room!: Room;
  #claim!: Awaited<ReturnType<typeof own>>;

  async open(): Promise<void> {
    this.#claim = await own(this.store, ROOM);
    this.base = this.#claim.head;
    await this.store.append(this.#claim, this.base, [], "{}");
    const parts = { store: this.store, clock: this.clock, telemetry: TELEMETRY };
    this.room = new Room(ROOM, this.base, {
      ...parts,
      census: { viewers: 0 },
      settings: SETTINGS,
    });
    void this.room.follow();
  }

  get head(): number {
    return this.base + this.log.length;
  }

  at(cursor: number): StoredMessage | undefined {
    return this.log[cursor - this.base - 1];
  }

  typeAt(cursor: number): MessageType {
    return this.#types[cursor - this.base - 1] ?? assert.fail(`there is no ${cursor}`);
  }

  async say(types: readonly MessageType[], words: number): Promise<void> {
    const batch = types.map((type, index) => {
      const id = `${type === "gap" ? "gap:" : ""}${this.head + index}`;
      return saying(id, "é".repeat(words), { of: id }, type);
    });
    this.log.push(...(await this.store.append(this.#claim, this.head, batch, "{}")));
    this.#types.push(...types);
    await this.clock.advance(0);
  }

  async pass(ms: number): Promise<void> {
    await this.clock.advance(ms);
    await this.room.tick();
    await this.clock.advance(0);
  }

  async floor(): Promise<number> {
    return (await this.store.getRoom(ROOM))?.floor ?? this.head;
  }

  async finish(): Promise<void> {
    await this.store.finish(this.#claim, { state: "ended", reason: "no more continuations" });
    await this.clock.advance(0);
  }
}

/** One client over all its connections, and its judge. */
class Client {
  /** The last cursor that it was sent, with which it comes back. */
  known: number | undefined;
  hasEnded = false;
  readonly #world: World;
  readonly #asked: Asked;
  readonly #sequence: Sequence;
  sink: SimulatedSink | undefined;
  #unread = Buffer.alloc(0);
  #floor = 0;
  #expectedStart: number | undefined;

  constructor(world: World, asked: Asked) {
    this.#world = world;
    this.#asked = asked;
    this.#floor = world.base;
    this.#sequence = new Sequence((cursor) => cursor > this.#floor && this.#lets(cursor));
  }

  async enter(): Promise<void> {
    if (this.sink) return;
    const { filter, format, isDetailed, backfill } = this.#asked;
    const form = FORMS[format][isDetailed ? "detailed" : "plain"].bare;
    const sink = new SimulatedSink(form, (bytes) => {
      this.#unread = Buffer.concat([this.#unread, bytes]);
    });
    this.sink = sink;
    this.#floor = await this.#world.floor();
    this.#expectedStart = this.#start(backfill);
    const lastEventId = this.known;
    const request = { videoId: ROOM, lastEventId, backfill, filter: filterAsked(filter) };
    await this.#world.room.add({ ...request, address: () => "", openSink: () => sink });
    await this.#world.clock.advance(0);
  }

  /** Where it must begin: after its cursor, or before the newest messages of its types. */
  #start(backfill: number): number {
    const { head, base } = this.#world;
    if (this.known !== undefined) return Math.max(this.known, this.#floor);
    const { passed = MESSAGE_TYPES } = this.#asked.filter;
    const types: readonly string[] = passed.length > 0 ? passed : ["gap"];
    let start = head;
    for (let cursor = head, left = backfill; left > 0 && cursor > Math.max(base, this.#floor); cursor--) {
      if (!types.includes(this.#world.typeAt(cursor))) continue;
      start = cursor - 1;
      left -= 1;
    }
    return start;
  }

  /** Is connected, and reads everything. */
  async settle(): Promise<void> {
    await this.enter();
    this.sink?.readOn();
    await this.#world.clock.advance(0);
  }

  async assertKnows(cursor: number): Promise<void> {
    await this.read();
    assert.equal(this.known, cursor);
  }

  /** Reads a share of the received bytes, then loses the connection and the rest. */
  async cut(share: number): Promise<void> {
    await this.read(Math.floor(this.#unread.length * share));
    this.sink?.leave();
    this.sink = undefined;
    this.#unread = Buffer.alloc(0);
  }

  /** Reads this many of the received bytes, and judges the events that they complete. */
  async read(bytes = this.#unread.length): Promise<void> {
    this.#floor = await this.#world.floor();
    const end = this.#asked.format === "sse" ? "\n\n" : "\n";
    const complete = this.#unread.subarray(0, bytes).lastIndexOf(end);
    if (complete === -1) return;
    const events = this.#unread.toString("utf8", 0, complete).split(end);
    this.#unread = this.#unread.subarray(complete + end.length);
    for (const event of events) this.#take(event);
  }

  #take(text: string): void {
    const { event, cursor, data } = this.#asked.format === "sse" ? fromSse(text) : fromLine(text);
    if (event === "init") {
      const start = Number(parseObject(data)?.cursor);
      this.#assert(this.#sequence.begin(start, undefined));
      assert.equal(start, this.#expectedStart);
      this.known = start;
    } else if (event === "message") {
      this.#assert(this.#sequence.next(cursor));
      assert.ok(this.#lets(cursor), `${cursor} is of type ${this.#world.typeAt(cursor)}`);
      const { body = "", details = "", storedAt = Number.NaN } = this.#world.at(cursor) ?? {};
      const detailed = `{"storedAt":"${new Date(storedAt).toISOString()}",${details.slice(1)}`;
      assert.equal(data, this.#asked.isDetailed ? `${body.slice(0, -1)},"details":${detailed}}` : body);
      this.known = cursor;
    } else if (event === "cursor") {
      this.#assert(this.#sequence.moved(cursor));
      this.known = cursor;
    } else if (event === "end") {
      this.#assert(this.#sequence.end(event));
      this.hasEnded = true;
    } else assert.ok(event === "retry" || event === "keepalive", text);
  }

  #lets(cursor: number): boolean {
    return passes(this.#asked.filter, this.#world.typeAt(cursor));
  }

  #assert(fault: string | undefined): void {
    assert.equal(fault, undefined);
  }
}

interface Event {
  event: string;
  cursor: number;
  data: string;
}

/** As the HTML standard reads an event; one without data is an id, a comment or a reconnection time. */
function fromSse(text: string): Event {
  const fields = new Map(text.split("\n").map((line) => line.split(/: (.*)/s) as [string, string]));
  const cursor = Number(fields.get("id") ?? Number.NaN);
  const alone = fields.get("") ?? (fields.has("retry") ? "retry" : "cursor");
  return { event: fields.get("event") ?? alone, cursor, data: fields.get("data") ?? "" };
}

function fromLine(text: string): Event {
  const { event, cursor } = JSON.parse(text);
  const data = text.replace(/^\{"event":"\w+",?(?:"cursor":\d+,?)?/, "{");
  return { event, cursor, data };
}

const type = fc.oneof(
  { weight: 6, arbitrary: fc.constant<MessageType>("chat") },
  { weight: 3, arbitrary: fc.constantFrom<MessageType>("superchat", "gift", "raid", "gap", "product") },
);
const often = <T>(usual: T, rare: T) =>
  fc.oneof({ weight: 6, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constant(rare) });
/** `times`: a flood leaves the newest messages, which are in memory, behind. */
const speech = fc.record({
  say: fc.array(type, { minLength: 1, maxLength: 12 }),
  words: often(3, 8000),
  times: often(1, 10),
});
const acting = fc.record({
  act: fc.constantFrom("enter", "enter", "enter", "read", "cut", "cut", "stall", "read on", "pass", "prune"),
  who: fc.nat(3),
  share: fc.double({ min: 0, max: 1, noNaN: true }),
});
const asked = fc.record({
  filter: fc.constantFrom(EVERYTHING, ...FILTERS),
  format: fc.constantFrom<Format>("sse", "ndjson"),
  isDetailed: fc.boolean(),
  backfill: fc.constantFrom(0, 1, 5, 500),
});

test("a client gets what passes its filter once and in order, wherever its connection was cut", async () => {
  const steps = fc.array(fc.oneof(speech, acting), { size: "large", maxLength: 60 });
  const clients = fc.array(asked, { minLength: 4, maxLength: 4 });
  await fc.assert(
    fc.asyncProperty(clients, steps, async (all, scene) => {
      const world = new World();
      await world.open();
      const viewers = all.map((each) => new Client(world, each));
      for (const step of scene) {
        if ("say" in step) await world.say(Array(step.times).fill(step.say).flat(), step.words / step.times);
        else await act(world, viewers, step);
      }
      for (const viewer of viewers) await viewer.settle();
      await world.pass(KEEPALIVE_MS);
      for (const viewer of viewers) await viewer.assertKnows(world.head);
      await world.say(["chat", "product"], 3);
      await world.finish();
      for (const viewer of viewers) {
        await viewer.assertKnows(world.head);
        assert.ok(viewer.hasEnded);
      }
    }),
    { numRuns: 100 },
  );
});

test("a viewer that leaves at a cursor is sent it first, though its filter let nothing through", async () => {
  const world = new World();
  await world.open();
  const filter = FILTERS.find(({ passed }) => passed && !passed.includes("chat")) ?? assert.fail();
  const viewer = new Client(world, { filter, format: "sse", isDetailed: false, backfill: 0 });
  await viewer.enter();
  await world.say(["chat", "chat"], 3);
  for (const each of world.room.viewers) each.endAt(world.head);
  await viewer.assertKnows(world.head);
  assert.equal(viewer.sink?.closedBy, "end");
});

async function act(
  world: World,
  viewers: readonly Client[],
  { act, who, share }: { act: string; who: number; share: number },
): Promise<void> {
  const viewer = viewers[who];
  if (act === "enter") await viewer?.enter();
  else if (act === "read") await viewer?.read();
  else if (act === "cut") await viewer?.cut(share);
  else if (act === "stall") viewer?.sink?.stall();
  else if (act === "read on") viewer?.sink?.readOn();
  else if (act === "pass") await world.pass(2 * KEEPALIVE_MS * share);
  else await world.store.prune(-KEEPALIVE_MS, Math.ceil(100 * share));
}
