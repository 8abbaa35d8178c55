/** A store that writes, but whose answer is lost: the room continues, and holds everything once. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Appender } from "../../../src/reading/batch/appender.ts";
import { memoryOf } from "../../../src/reading/batch/checkpoint.ts";
import type { Operation } from "../../../src/store/sqlite/group-commit.ts";
import { InlineThread, inMemory } from "../../../src/store/sqlite/inline-thread.ts";
import { SqliteStore } from "../../../src/store/sqlite/sqlite.ts";
import type { Tables } from "../../../src/store/sqlite/sqlite-tables.ts";
import { StoreError } from "../../../src/store/store-error.ts";
import { silentLog } from "../../../src/telemetry/logger.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import type { Item } from "../../../src/upstream/readers/reader.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { POSITION } from "../../support/position.ts";
import { CONTEXT } from "../../support/room-log.ts";
import { own } from "../../support/store-reading.ts";
import { isFenced, observe } from "../../support/store-subject.ts";

const VIDEO = "lost-answer";
const NEVER = new AbortController().signal;

/**
 * Loses the answers to its next writes, and then to its next reads of a room. `backup`: the tables in its
 * place from now on.
 */
class ForgetfulThread extends InlineThread {
  losesWrites = 0;
  losesReads = 0;
  backup: InlineThread | undefined;
  finishes = 0;

  override async call<O extends Operation>(op: O, ...args: Parameters<Tables[O]>) {
    if (this.backup) return await this.backup.call(op, ...args);
    if (op === "getRoom" && this.losesReads-- > 0) throw new StoreError("unavailable", "no read of the room");
    const answer = await super.call(op, ...args);
    if (op === "finish") this.finishes += 1;
    if ((op === "append" || op === "finish") && this.losesWrites-- > 0)
      throw new StoreError("unavailable", "the answer was lost");
    return answer;
  }
}

const PROGRESS = { position: POSITION, startedAt: 0 };
/** Longer than all tries take. */
const TRIES_MS = 60_000;

function itemsOf(...ids: string[]): { items: Item[] } {
  const rest = { timestamp: "", author: "a", amount: "", color: "", parts: [], details: {} };
  return { items: ids.map((id) => ({ message: { type: "chat", id, message: id, ...rest } })) };
}

/** The outcome of what may be tried again and again. */
async function inTime<T>(clock: FakeClock, promise: Promise<T>): Promise<T> {
  await clock.advance(TRIES_MS);
  return promise;
}

describe("a room whose store loses answers", () => {
  for (const losesReads of [0, 1, 2]) {
    it(`continues after a lost answer and ${losesReads} failed reads of the room`, async () => {
      const clock = new FakeClock();
      const thread = new ForgetfulThread(inMemory());
      const store = new SqliteStore(clock, thread);
      const hold = await own(store, VIDEO);
      const telemetry = new Telemetry(silentLog);
      const observed = observe(store, clock, telemetry);
      const settings = { ...CONTEXT, isBlanking: false };
      const parts = { store: observed, clock, telemetry, settings };
      const appender = new Appender(parts, hold, memoryOf(hold.room, false, parts));
      Object.assign(thread, { losesWrites: 1, losesReads });

      await inTime(clock, appender.append([itemsOf("1", "2")], PROGRESS, NEVER));
      await inTime(clock, appender.append([itemsOf("2", "3")], PROGRESS, NEVER));
      assert.deepEqual(
        (await store.read(VIDEO, hold.head, 10)).map(({ id, cursor }) => [id, cursor - hold.head]),
        [
          ["1", 1],
          ["2", 2],
          ["3", 3],
        ],
      );

      Object.assign(thread, { losesWrites: 1, losesReads });
      await inTime(clock, appender.finish({ state: "ended", reason: "no more continuations" }, NEVER));
      assert.equal(thread.finishes, 1);
      assert.equal(observed.health.isBlocked, false);
    });
  }
});

it("a store that has lost an acknowledged write gets no more of them: they would reuse its cursors", async () => {
  const clock = new FakeClock();
  const thread = new ForgetfulThread(inMemory());
  const store = new SqliteStore(clock, thread);
  const backup = new InlineThread(inMemory());
  const restored = new SqliteStore(clock, backup);
  const hold = await own(store, VIDEO);
  await own(restored, VIDEO);
  const telemetry = new Telemetry(silentLog);
  const settings = { ...CONTEXT, isBlanking: false };
  const parts = { store: observe(store, clock, telemetry), clock, telemetry, settings };
  const appender = new Appender(parts, hold, memoryOf(hold.room, false, parts));
  await inTime(clock, appender.append([itemsOf("1")], PROGRESS, NEVER));
  await restored.append(hold, hold.head, await store.read(VIDEO, hold.head, 1), "");
  await inTime(clock, appender.append([itemsOf("2")], PROGRESS, NEVER));
  thread.losesWrites = 1;
  const lost = appender.append([itemsOf("3")], PROGRESS, NEVER);
  await clock.advance(0);
  thread.backup = backup;
  await inTime(clock, assert.rejects(lost, isFenced));
  assert.equal((await restored.read(VIDEO, hold.head, 10)).length, 1);
});
