/**
 * Chats that jump from 2 to 40 messages a second, read from an upstream that holds 10 s or 200 messages, in
 * virtual time.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import { World } from "../../simulation/world.ts";

const JUMPS = 2;
const PHASE_MS = 20_000;
/** The first and the last phase are quiet. */
const RATES = [...Array.from({ length: JUMPS }, () => [2, 40]).flat(), 2];

it("a chat that jumps from 2 to 40 messages a second loses nothing if polls are requested every 5 s", async () => {
  const world = new World({ seed: 1, rooms: 7 });
  const { scheduler, viewers, journal } = world;
  const talk = async ({ chat }: (typeof world.rooms)[number]) => {
    chat.change({ kinds: ["text"], timeoutMs: 5000, holdsMs: 10_000, holdsMessages: 200 });
    await scheduler.sleep(PHASE_MS * (2 + scheduler.random()));
    const from = chat.ledger.length;
    for (const rate of RATES) {
      const until = scheduler.monotonic() + PHASE_MS;
      for (; scheduler.monotonic() < until; await scheduler.sleep(1000 / rate)) chat.say(1);
    }
    const said = chat.ledger.slice(from).map(({ id }) => id);
    await scheduler.sleep(PHASE_MS);
    return said;
  };
  const rooms = world.liveRooms;
  void world.start();
  world.calm();
  for (const viewer of viewers) void viewer.live();
  let said: string[][] | undefined;
  void Promise.all(rooms.map(talk)).then((ids) => {
    said = ids;
  });
  await scheduler.run(
    () => !said,
    () => world.judge(),
  );
  assert.equal(journal.violation, undefined);
  for (const [index, { rows }] of rooms.entries()) {
    const spoken = said?.[index] ?? [];
    assert.ok(spoken.length > JUMPS * 40 * 19);
    const ids = rows.map(({ body }) => JSON.parse(body).id);
    const first = ids.indexOf(spoken[0]);
    assert.deepEqual(ids.slice(first, first + spoken.length), spoken);
  }
});
