/**
 * A long generated chat of all kinds, read in answers that overlap as those of a room that loads its page
 * again and again: the room holds exactly what the chat itself says, once and in order.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import { startSimulator } from "../../../simulator/index.ts";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import { Random } from "../../../simulator/random.ts";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { systemClock } from "../../../src/base/clock.ts";
import { Appender } from "../../../src/reading/batch/appender.ts";
import { memoryOf, positionOf } from "../../../src/reading/batch/checkpoint.ts";
import { memoryStore } from "../../../src/store/sqlite/inline-thread.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import { type ExpectedMessage, ExpectedMessages, withoutHash } from "../../chaos/expected-messages.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { READ_TYPES } from "../../support/every-kind.ts";
import { POSITION } from "../../support/position.ts";
import { UTC } from "../../support/read-messages.ts";
import { CONTEXT } from "../../support/room-log.ts";
import { own, readAll } from "../../support/store-reading.ts";
import { observe } from "../../support/store-subject.ts";
import { assertConsecutive } from "../../support/stream.ts";

const VIDEO = "generated-1";
const COUNT = 12_000;
const RELAYED = 4000;

/**
 * Reads actions in answers of one to two hundred, each of which repeats some of the last ones, into a room.
 */
async function roomOf(actions: readonly JsonObject[]): Promise<ExpectedMessage[]> {
  const random = new Random(7, "answers");
  const store = memoryStore(systemClock);
  const telemetry = new Telemetry(silentLog);
  const parts = {
    store: observe(store, systemClock, telemetry),
    clock: systemClock,
    telemetry,
    settings: { ...CONTEXT, isBlanking: false },
  };
  const hold = await own(store, VIDEO);
  const appender = new Appender(parts, hold, memoryOf(hold.room, false, parts));
  for (let from = 0; from < actions.length; ) {
    const to = from + 1 + random.below(200);
    const repeated = random.chance(0.3) ? random.below(100) : 0;
    // As after a restart, only the stored record is known of earlier answers.
    const record = await store.getRoom(VIDEO);
    const { panels } = record ? positionOf(record) : POSITION;
    const context = { receivedAt: Date.now(), timeOfDay: UTC, panels, isEnglish: true };
    const answer = readActions(actions.slice(Math.max(0, from - repeated), to), context);
    const position = { ...POSITION, panels: answer.panels };
    await appender.appendOnce([answer], { position, startedAt: systemClock.monotonic() });
    from = to;
  }
  return (await readAll(store, VIDEO)).map(({ body }) => withoutHash(JSON.parse(body)));
}

function assertExpected(held: readonly ExpectedMessage[], said: Chat["ledger"]): void {
  const judge = new ExpectedMessages();
  for (const entry of said) judge.hear(entry);
  const first = held.findIndex((message, i) => !isDeepStrictEqual(message, judge.messages[i]));
  assert.deepEqual(held[first], judge.messages[first], `message ${first} is another`);
  assert.equal(held.length, judge.messages.length);
  assert.deepEqual(new Set(held.map(({ type }) => type)), new Set(READ_TYPES), "all types came");
  assert.ok(held.length < said.length * 0.99, "some carried nothing or came twice");
}

it(`${COUNT} generated actions give exactly the messages they describe`, async () => {
  await using upstream = await startSimulator({ seed: 20 });
  const chat = upstream.chat(VIDEO);
  chat.say(COUNT);
  assertExpected(await roomOf(chat.ledger.map(({ action }) => action)), chat.ledger);
});

it(`${RELAYED} generated actions of a replay come out of a relay's stream as described`, async () => {
  const relay = new VirtualRelay({ seed: 4 });
  const chat = relay.upstream.chat(VIDEO, { kind: "replay", pageSize: 1000 });
  chat.say(RELAYED);
  const viewer = await relay.enter({ videoId: VIDEO });
  assert.equal((await viewer.ended())?.event, "end");
  assertConsecutive(viewer.cursors, viewer.init.cursor);
  assertExpected(
    viewer.messages.map(({ message }) => withoutHash(message)),
    chat.ledger,
  );
});
