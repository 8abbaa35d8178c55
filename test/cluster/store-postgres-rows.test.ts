/** What holds on every store, on PostgreSQL: walks through a history, rows that cannot be read, an import. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { clockedPostgres } from "../support/clocked-postgres.ts";
import { outcome } from "../support/command.ts";
import { damageableSchema } from "../support/damageable-places.ts";
import { walksOn } from "../support/history-walks.ts";
import { ownSchema, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { startRelay } from "../support/relay.ts";
import { temporaryFile } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";
import { assertToldOnce } from "../support/unreadable-rows.ts";
import { assertCountedAgain, DAMAGES } from "../support/unreadable-totals.ts";

const found = await testPostgres();
const server = found.server as PostgresServer;

describe("a PostgreSQL store", { skip: found.skip }, () => {
  it("finds page by page what a filter of the whole log finds", async (t) => {
    await walksOn(async (context, wall) => (await clockedPostgres(context, server, wall)).open(), 8)(t);
  });

  it("counts each row that cannot be read once, and logs it once per room", async (t) => {
    await assertToldOnce(t, await damageableSchema(t, server));
  });

  for (const [damage, sql] of Object.entries(DAMAGES))
    it(`counts totals again that ${damage}, and every append continues`, async (t) => {
      await assertCountedAgain(await damageableSchema(t, server), sql);
    });

  it("takes an import beside a running instance", async (t) => {
    const url = await ownSchema(t, server);
    await using relay = await startRelay({ settings: { RELAY_STORE: url } });
    const path = join(dirname(await temporaryFile(t)), "imported-01.jsonl");
    const body = {
      timestamp: "0:01",
      author: "",
      message: "",
      amount: "",
      color: "",
      parts: [],
      details: {},
    };
    const lines = Array.from({ length: 1300 }, (_, n) =>
      JSON.stringify({ ...body, type: "chat", id: `${n}` }),
    );
    await writeFile(path, lines.join("\n"));
    const { code, error } = await outcome(["import", path, "--video", "imported-01", "--store", url]);
    assert.equal(code, 0, error);
    await using viewer = await Stream.open(relay.url, { videoId: "imported-01", lastEventId: 0 });
    assert.equal((await viewer.ended())?.event, "end");
    assert.equal(viewer.messages.length, lines.length);
  });
});
