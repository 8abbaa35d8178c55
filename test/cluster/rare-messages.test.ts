/** The index of rare messages, in SQLite and in PostgreSQL: what it saves in pages. */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { SQL } from "../../src/store/postgres/postgres-tables.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { ownSchema, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { own, saying } from "../support/store-reading.ts";
import { fileStore, openFor, ROOM } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();
const COUNT = 20_000;
/** Pages of 8 KB or less: the depth of the index and of the table for each of a few messages. */
const FEW_PAGES = 64;

/** Fills a room with plain chat and one paid message, which is the hundredth. Resolves to the whole room. */
async function fill(url: string, t: TestContext) {
  const store = await openFor(t, url);
  const claim = await own(store, ROOM);
  const text = "x".repeat(500);
  const chat = Array.from({ length: COUNT }, (_, n) =>
    saying(`${n}`, text, {}, n === 99 ? "superchat" : "chat"),
  );
  for (let from = 0; from < COUNT; from += 1000)
    await store.append(claim, claim.head + from, chat.slice(from, from + 1000), "");
  const types = ["superchat", "gap"];
  return { store, part: { types, after: claim.head, to: claim.head + COUNT, limit: 50, isNewest: true } };
}

describe("rare messages of an SQLite file", () => {
  it("are found in a few pages", async (t) => {
    const { path, store: empty } = await fileStore(t);
    await empty.close();
    const { store, part } = await fill(`sqlite:${path}`, t);
    await store.close();

    const reopened = await openFor(t, `sqlite:${path}`);
    await reopened.getRoom(ROOM); // opens the file
    const read = async () => Number(/^rchar: (\d+)/.exec(await readFile("/proc/self/io", "latin1"))?.[1]);
    const before = await read();
    const found = await reopened.readTypes(ROOM, part);
    const pages = ((await read()) - before) / 4096;
    assert.deepEqual(
      found.map(({ id }) => id),
      ["99"],
    );
    assert.ok(pages <= FEW_PAGES, `${pages} pages`);
  });
});

describe("rare messages of a PostgreSQL database", { skip }, () => {
  it("are found in a few pages", async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    const { store, part } = await fill(url, t);
    const { types, after, to, limit } = part;
    for (const isNewest of [true, false]) {
      const found = await store.readTypes(ROOM, { ...part, isNewest });
      assert.deepEqual(
        found.map(({ id }) => id),
        ["99"],
      );
      const plan = `explain (analyze, buffers, format json) ${isNewest ? SQL.lastOfTypes : SQL.firstOfTypes}`;
      const [row] = await run(url, plan, [ROOM, types, after, to, limit]);
      const text = JSON.stringify(row);
      const blocks = (name: string) => Number(new RegExp(`"Shared ${name} Blocks":(\\d+)`).exec(text)?.[1]);
      const pages = blocks("Hit") + blocks("Read");
      assert.ok(pages <= FEW_PAGES, `${pages} pages: ${text}`);
    }
  });
});
