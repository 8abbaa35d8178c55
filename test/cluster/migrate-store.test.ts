/** `migrate-store`: copies one store into another unchanged, even if it is interrupted. */
import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { describe, it, type TestContext } from "node:test";
import { Client } from "pg";
import { systemClock } from "../../src/base/clock.ts";
import { ENDED } from "../../src/protocol/chat.ts";
import { copyStore, type MigrationEnd } from "../../src/store/migration.ts";
import { migrateStore, openStore } from "../../src/store/open.ts";
import { PostgresMigrationEnd } from "../../src/store/postgres/postgres-migration.ts";
import { SqliteMigrationEnd } from "../../src/store/sqlite/sqlite-migration.ts";
import { encodeMessage } from "../../src/store/stored-message.ts";
import { silentLog } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { run } from "../chaos/cluster/postgres.ts";
import { Command, outcome } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { ownSchema, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { message, messages, own } from "../support/store-reading.ts";
import { BORN_MS, OTHER, openFor, ROOM, temporaryFile, wallAt } from "../support/store-subject.ts";
import { paid, said } from "../support/totals-judge.ts";

const { skip, server } = await testPostgres();
const COUNT = 2500;
const PAID = encodeMessage(said("superchat", "paid", { ...paid(4.99), authorId: "UC1" }));

/** A file with rooms of each kind, their messages stored by turns; closed. */
async function filledFile(t: TestContext, bornMs = BORN_MS): Promise<string> {
  const path = await temporaryFile(t);
  const wall = wallAt(bornMs);
  const store = await openStore(`sqlite:${path}`, wall, new Telemetry(silentLog));
  const [long, short, over] = [
    await own(store, ROOM),
    await own(store, OTHER),
    await own(store, "over-and-out"),
  ];
  await own(store, "never-read");
  await store.append(over, over.head, messages([..."abc"]), "at its end");
  const odd = { ...message("ä\0\u0001 '\\"), body: '{"it":"\0"}' };
  let shortHead = short.head;
  for (let n = 0; n < COUNT; n += 500) {
    await store.append(long, bornMs + n, messages(Array.from({ length: 500 }, (_, i) => n + i)), `${n}`);
    const batch = n === 0 ? [odd, PAID, ...messages(["x"])] : messages([`y${n}`]);
    shortHead += (await store.append(short, shortHead, batch, `${n}`)).length;
    wall.nowMs += 1000;
  }
  await store.setChannels(ROOM, ["UCa-b_0123456789abcdefgh", "@einar.ø"]);
  await store.setVideo(ROOM, '{"title":"ø \\u202e \\ud800"}');
  await store.keep(OTHER);
  await store.setFeatured(OTHER, odd.id);
  await store.finish(over, ENDED);
  await own(store, "over-and-out"); // its owner died
  for (const name of ["@handle", ROOM]) await store.recordings.addRecording(name);
  const failure = { state: "failed", videoId: ROOM, error: "no network:\0 '\\" } as const;
  await store.recordings.runRecordings([{ name: "@handle", ...failure }], 60_000);
  assert.deepEqual((await store.getAccount(OTHER))?.totals.types, { superchat: 1 });
  const keptMs = wall.nowMs - (bornMs + 500);
  assert.equal(await store.prune(keptMs, 5), 5); // all of `over`, and some of `ROOM`
  await store.close();
  return path;
}

type Contents = ReturnType<typeof contents>;

/** All that a store file holds of rooms that were read, in its order. */
function contents(path: string) {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const rooms = database.prepare(
      `select video_id, epoch, base, floor, head, checkpoint, checkpoint_at, ending, ended_at, channels, is_kept, video, featured_id, featured_at,
         totals, cursor
       from room left join tally on room = key where checkpoint is not null order by video_id`,
    );
    const kept = database.prepare(
      "select video_id, cursor, at, id, body, details from message join room on key = room order by seq",
    );
    const items = database.prepare(
      `select video_id, tally_item.key, author, first, payment, authors from tally_item join room on room.key = room
       order by video_id, tally_item.key`,
    );
    const recordings = database.prepare("select * from recording order by since, name").all();
    return { rooms: rooms.all(), messages: kept.all(), items: items.all(), recordings };
  } finally {
    database.close();
  }
}

async function assertMigrates(from: string, to: string, { messages }: Contents): Promise<void> {
  const { code, out, error } = await outcome(["migrate-store", from, to]);
  assert.deepEqual([code, out], [0, ""], error);
  assert.match(error, new RegExp(`3 rooms, ${messages.length} messages: done\n$`));
}

/** The store works at `url`, and all of it can be moved to a file, which then holds what `before` has. */
async function assertMovesBack(t: TestContext, url: string, before: Contents): Promise<void> {
  const store = await openFor(t, url);
  assert.equal((await store.getRoom("over-and-out"))?.end?.state, "ended");
  assert.deepEqual((await store.getAccount(OTHER))?.totals.paid, {
    EUR: { count: 1, thousandths: "4990" },
  });
  const claim = await own(store, ROOM);
  assert.equal(claim.room?.checkpoint, `${COUNT - 500}`);
  await store.close();
  const back = await temporaryFile(t);
  await migrated(url, `sqlite:${back}`);
  const after = contents(back);
  assert.deepEqual(after.messages, before.messages);
  assert.deepEqual(after.items, before.items);
  assert.deepEqual(after.recordings, before.recordings);
  assert.deepEqual(
    after.rooms.map(({ epoch, ...room }) => ({
      ...room,
      epoch: room.video_id === ROOM ? Number(epoch) - 2 : epoch, // taken above, and given back with the close
    })),
    before.rooms.map((room) => ({ ...room })),
  );
  await (await openFor(t, `sqlite:${back}`)).close();
}

const migrated = (from: string, to: string) => migrateStore(from, to, systemClock, () => {});

describe("livechat-relay migrate-store", { skip, timeout: 60_000 }, () => {
  it("moves a file to PostgreSQL, and back unchanged", async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    const path = await filledFile(t);
    const before = contents(path);
    assert.deepEqual([before.rooms.length, before.items.length, before.recordings.length], [3, 3, 2]);
    await (await openFor(t, url)).close(); // there, and empty
    await assertMigrates(`sqlite:${path}`, url, before);
    await assertMovesBack(t, url, before);
  });

  it("goes on after it was killed midway; until then, nothing opens what it has written", async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    const path = await filledFile(t);
    const before = contents(path);
    await (await openFor(t, url)).close();
    // This row blocks the second batch.
    await using held = new AsyncDisposableStack();
    const blocker = held.adopt(new Client({ connectionString: url }), (client) => client.end());
    await blocker.connect();
    await blocker.query("begin");
    await blocker.query("insert into message values ($1, $2, 'in the way', '', '', now())", [
      ROOM,
      BORN_MS + 1500,
    ]);
    const command = new Command(["migrate-store", `sqlite:${path}`, url]);
    const filled = "select seq from relay_migration where seq > 0";
    await eventually(true, async () => {
      assert.equal(command.child.exitCode, null, command.error);
      return (await run(url, filled).catch(() => [])).length > 0;
    });
    command.child.kill("SIGKILL");
    await command.exited;
    await held.disposeAsync(); // undoes it
    const half = /is incomplete: let livechat-relay migrate-store finish/;
    await assert.rejects(openFor(t, url), half);
    await assert.rejects(migrated(url, `sqlite:${path}2`), half);
    const other = await filledFile(t, BORN_MS + 1);
    await assert.rejects(migrated(`sqlite:${other}`, url), /holds room \S+, which is not of/);
    await assertMigrates(`sqlite:${path}`, url, before);
    await assertMovesBack(t, url, before);
  });

  for (const target of ["a file", "PostgreSQL"]) {
    it(`fails if the source was written meanwhile, and succeeds once it is not, to ${target}`, async (t) => {
      const path = await filledFile(t);
      const copy = await temporaryFile(t);
      const url = target === "a file" ? `sqlite:${copy}` : await ownSchema(t, server as PostgresServer);
      const foreign = new DatabaseSync(path);
      t.after(() => foreign.close());
      const attempt = async (meanwhile: () => void) => {
        await using ends = new AsyncDisposableStack();
        const until = (end: MigrationEnd) => ends.adopt(end, () => end.close());
        const from = until(new SqliteMigrationEnd(path, "from"));
        const isFile = target === "a file";
        const to = until(
          isFile ? new SqliteMigrationEnd(copy, "to") : await PostgresMigrationEnd.open(url, "to"),
        );
        const messages = from.messages.bind(from);
        from.messages = async (seq, limit) => {
          const found = await messages(seq, limit);
          if (found.length === 0) meanwhile();
          return found;
        };
        return await copyStore(from, to, systemClock, () => {});
      };
      for (const write of [
        // As a service that blanks a deleted message: a copy must not keep its text.
        `update message set body = '{"blank":true}' where seq = 7; update room set checkpoint = checkpoint || '.'`,
        "update recording set state = 'ended'",
      ]) {
        await assert.rejects(
          attempt(() => foreign.exec(write)),
          /changed during the run.* stop all services on both stores/,
        );
      }
      await assert.rejects(openFor(t, url), /is incomplete/);
      await attempt(() => {});
      if (target !== "a file") await migrated(url, `sqlite:${copy}`);
      assert.deepEqual(contents(copy), contents(path));
    });
  }

  const SESSIONS =
    "select from pg_stat_activity where application_name = 'livechat-relay' and datname = current_database()";
  const VIEWERS = "insert into interest values ('a-room-here', 'an-instance', 1, now() + interval '87 s')";
  const refusals: Record<string, (t: TestContext) => Promise<[from: string, to: string, why: RegExp]>> = {
    "a store that is not there": async (t) => [
      `sqlite:${await temporaryFile(t)}`,
      "sqlite:never",
      /^store .* does not exist$/,
    ],
    "one in memory": async (t) => [
      `sqlite:${await filledFile(t)}`,
      "memory:",
      /<to>: must be sqlite:<path> or postgres:/,
    ],
    "one store as both, even by another name": async (t) => {
      const path = await filledFile(t);
      await symlink(path, `${path}-link`);
      return [`sqlite:${path}`, `sqlite:${path}-link`, /^<from> and <to> are the same store: /];
    },
    "one that holds rooms": async (t) => {
      const to = await filledFile(t);
      return [`sqlite:${await filledFile(t)}`, `sqlite:${to}`, /already contains rooms: use an empty store$/];
    },
    "a file that a service uses": async (t) => {
      const path = await filledFile(t);
      await openFor(t, `sqlite:${path}`);
      return [`sqlite:${path}`, `sqlite:${path}2`, /is in use by another process: stop that one/];
    },
    "a database that a service uses": async (t) => {
      const url = await ownSchema(t, server as PostgresServer);
      await openFor(t, url);
      await eventually(true, async () => (await run(url, SESSIONS)).length > 0);
      // Its viewers; it will take them back when it stops.
      await run(url, VIEWERS);
      return [
        `sqlite:${await filledFile(t)}`,
        url,
        /is in use: a service runs .* run this again after its end$/,
      ];
    },
    "a database whose service was killed": async (t) => {
      const url = await ownSchema(t, server as PostgresServer);
      await (await openFor(t, url)).close();
      await eventually(true, async () => (await run(url, SESSIONS)).length === 0);
      await run(url, VIEWERS);
      return [
        `sqlite:${await filledFile(t)}`,
        url,
        /is in use: .* was killed, .* run this again in 8[0-7] s$/,
      ];
    },
    "a server that does not answer, without its password": async (t) => [
      `sqlite:${await filledFile(t)}`,
      "postgres://relay:s3cret@127.0.0.1:1/chat",
      /^postgres:\/\/127\.0\.0\.1:1\/chat cannot be reached/,
    ],
  };
  for (const [what, set] of Object.entries(refusals)) {
    it(`refuses ${what}, and changes nothing`, async (t) => {
      const [from, to, why] = await set(t);
      const path = from.replace("sqlite:", "");
      const before = what === "a store that is not there" ? undefined : contents(path);
      await assert.rejects(migrated(from, to), (error: Error) => {
        assert.match(error.message, why);
        assert.doesNotMatch(error.message, /\n|s3cret/);
        return true;
      });
      if (before) assert.deepEqual(contents(path), before);
    });
  }
});
