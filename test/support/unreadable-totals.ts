/** Stored totals that cannot be read, on any store: their room counts again, and nothing else notices. */
import assert from "node:assert/strict";
import { systemClock } from "../../src/base/clock.ts";
import { openStore } from "../../src/store/open.ts";
import { encodeMessage } from "../../src/store/stored-message.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { DamageablePlace } from "./damageable-places.ts";
import { own } from "./store-reading.ts";
import { ROOM } from "./store-subject.ts";
import { paid, said } from "./totals-judge.ts";

const READABLE =
  '"paid":{},"unreadable":0,"deletedPaid":0,"memberships":0,"authors":0,"firstAt":1,"lastAt":1';
/** SQL that damages the row of the totals, or that of an item. */
export const DAMAGES: Record<string, string> = {
  "are no JSON": "update tally set totals = '{'",
  "are empty": "update tally set totals = '{}'",
  "have a number that is a text": `update tally set totals = '{"types":{"chat":"7"},${READABLE}}'`,
  "have a sum that is none": `update tally set totals = '{"types":{},${READABLE.replace("{}", '{"EUR":{"count":1,"thousandths":"x"}}')}}'`,
  "have an invalid payment": "update tally_item set payment = '[]' where payment is not null",
};

const payment = (id: string) => encodeMessage(said("superchat", id, { ...paid(0.5), authorId: `UC${id}` }));

/** Asserts that they are counted again after this damage, and every append continues. */
export async function assertCountedAgain(place: DamageablePlace, sql: string): Promise<void> {
  const { url, write } = place;
  const telemetry = new Telemetry(silentLog);
  await using stack = new AsyncDisposableStack();
  const store = stack.adopt(await openStore(url, systemClock, telemetry), (open) => open.close());
  const hold = await own(store, ROOM);
  await store.append(hold, hold.head, ["a", "b"].map(payment), "");
  const before = await store.getAccount(ROOM);
  assert.equal(before?.totals.paid.EUR?.thousandths, "1000");
  await write(sql);
  // A deletion that blanks needs the totals before its append, and looks at the item of its payment.
  const deletion = encodeMessage(said("deleted", "deleted:a", { target: { messageId: "a" } }));
  await store.append(hold, hold.head + 2, [deletion], "", [encodeMessage(said("superchat", "a", {}))]);
  await store.append(hold, hold.head + 3, [payment("c")], "");
  const after = await store.getAccount(ROOM);
  const { types, paid: sums, deletedPaid } = after?.totals ?? {};
  assert.deepEqual(types, { superchat: 3, deleted: 1 });
  assert.deepEqual([sums?.EUR?.count, deletedPaid, after?.uncounted], [2, 1, 0]);
  assert.ok(await store.isReady());
  assert.match(await telemetry.registry.metrics(), /^relay_unreadable_totals_total 1$/m);
  await write(sql); // with nothing left to count, a question finds it
  assert.deepEqual((await store.getAccount(ROOM))?.totals.paid, sums);
}
