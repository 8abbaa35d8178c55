/** Stored rows that cannot be read, on any store: what a reader of them sees, and what the log says. */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { pino } from "pino";
import { systemClock } from "../../src/base/clock.ts";
import { ENDED } from "../../src/protocol/chat.ts";
import { openStore } from "../../src/store/open.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { DamageablePlace } from "./damageable-places.ts";
import { messages, own, readAll } from "./store-reading.ts";
import { OTHER, ROOM } from "./store-subject.ts";

/** `told`: the warnings about rows that cannot be read. */
export function listening() {
  const log: { msg: string; [field: string]: unknown }[] = [];
  const write = (line: string) => void log.push(JSON.parse(line));
  const told = () =>
    log.flatMap(({ msg, videoId }) => (/unreadable/.test(msg) ? [`${videoId}: ${msg}`] : []));
  return { telemetry: new Telemetry(pino({ level: "warn" }, { write })), told };
}

/** Asserts that each damaged row is counted once, and logged once per room. */
export async function assertToldOnce(t: TestContext, place: DamageablePlace): Promise<void> {
  const { url, write } = place;
  const { telemetry, told } = listening();
  const store = await openStore(url, systemClock, telemetry);
  t.after(() => store.close());
  for (const key of [ROOM, OTHER]) {
    const hold = await own(store, key);
    await store.append(hold, hold.head, messages(["a", "b", "c"]), "");
    await store.finish(hold, ENDED);
  }
  await write(`update message set body = '{"type":"chat","id' where id <> 'b'`);
  const end = url.startsWith("sqlite:") ? "ending" : "detail";
  await write(`update room set ${end} = '{"state":"en' where video_id = '${ROOM}'`);
  for (let times = 0; times < 3; times++) {
    assert.equal((await readAll(store, ROOM)).length, 3);
    assert.equal((await store.listRooms(9)).length, 2);
    assert.equal((await store.getRoom(ROOM))?.end?.state, "failed");
    assert.equal((await store.getAccount(OTHER))?.end?.state, "ended");
  }
  const gap = "stored message unreadable: viewers get a gap in its place";
  assert.deepEqual(told(), [`${ROOM}: ${gap}`, `${ROOM}: end of a room unreadable: it counts as failed`]);
  await readAll(store, OTHER);
  assert.deepEqual(told().slice(2), [`${OTHER}: ${gap}`]);
  const counted = await telemetry.registry.metrics();
  assert.match(counted, /^relay_unreadable_rows_total\{part="message"\} 4$/m);
  assert.match(counted, /^relay_unreadable_rows_total\{part="end"\} 1$/m);
  assert.ok(await store.isReady());
}
