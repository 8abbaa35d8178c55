/** Stored totals of a file that cannot be read: their room counts again, and nothing else notices. */
import { describe, it } from "node:test";
import { damageableFile } from "../../support/damageable-places.ts";
import { assertCountedAgain, DAMAGES } from "../../support/unreadable-totals.ts";

describe("totals that cannot be read", () => {
  for (const [damage, sql] of Object.entries(DAMAGES))
    it(`because they ${damage} are recounted in SQLite, and appends continue`, async (t) => {
      await assertCountedAgain(await damageableFile(t), sql);
    });
});
