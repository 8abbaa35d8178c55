/** The shared store of the simulation gives the rows that PostgreSQL gives for the same statements. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client, types } from "pg";
import { Random } from "../../simulator/random.ts";
import { RELEASED } from "../../src/protocol/chat.ts";
import { chatKey, otherChat } from "../../src/protocol/chat-key.ts";
import { ORPHANS, RELEASE, SWEEP } from "../../src/store/postgres/cluster-watch.ts";
import { ONE_TOO_MANY } from "../../src/store/postgres/leases.ts";
import { SQL } from "../../src/store/postgres/postgres-tables.ts";
import { TALLY_SQL } from "../../src/store/postgres/postgres-tallies.ts";
import { WANTED_ELSEWHERE, WATCHED_FOR, WRITE } from "../../src/store/postgres/viewer-counts.ts";
import { SharedStore } from "../simulation/shared-store.ts";
import { ownSchemaAndTime, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { BORN_MS, openFor } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();

const STATEMENTS = 800;
const LEASE_MS = 6000;
const GRACE_MS = 30_000;
/** The maximum time between two statements: some leases expire, some rooms become unwatched. */
const MAX_PAUSE_MS = 1500;
const VIDEOS = ["video-one", chatKey("video-one", "replay"), "video-six"];
const INSTANCES = ["a", "b", "c"];
/** Later than any time here, in wall milliseconds. */
const FAR = 1e13;
const RARE_TYPES = ["superchat", "raid", "gap"];
const TYPES = [...RARE_TYPES, "chat", "chat", "chat"];
const IDS = [...Array(40).keys()].map((n) => (n % 8 === 0 ? `gap:${n}` : `message-${n}`));

/** A caller's knowledge of the rooms, by video: their claims' epochs, heads and bases. */
interface Known {
  epochs: Map<string, number[]>;
  heads: Map<string, number>;
  bases: Map<string, number>;
}

interface Statement {
  text: string;
  values: unknown[];
  /** The order of its rows means something. */
  isOrdered?: true;
}

/** Draws the next statement, mostly with the values of a caller that knows the store's state. */
function draw(random: Random, { epochs, heads, bases }: Known): Statement {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  const some = <T>(list: readonly T[]): T[] => list.filter(() => random.next() < 0.5);
  const video = pick(VIDEOS);
  const all = epochs.get(video) ?? [];
  const epoch = (random.next() < 0.8 ? all.at(-1) : pick(all)) ?? 1;
  const head = (heads.get(video) ?? 0) - (random.next() < 0.1 ? 1 : 0);
  const base = bases.get(video) ?? 0;
  const after = base + Math.floor(random.next() * (head - base + 2));
  const held = some(VIDEOS);
  const claims = [held, held.map((name) => epochs.get(name)?.at(-1) ?? 1)];
  const batch = () => {
    const ids = Array.from({ length: Math.floor(random.next() * 5) }, () => pick(IDS));
    return [
      ids,
      ids.map((id) =>
        `{"type":"${pick(TYPES)}","id":"${id}","message":"${random.next()}"}`.slice(pick([0, 0, 0, 1])),
      ),
      ids.map((id) => `${id} says UC${random.next()}`),
    ];
  };
  const written = pick([null, 0, 500, FAR]);
  const appended = () => {
    const texts = batch();
    // Two clocks never agree to the millisecond, so each message brings its time.
    const times = (of: readonly (number | null)[]) => texts[0]?.map((_, i) => of[(head + i) % of.length]);
    const own = [times([3000, 1000, 2000, 4000]), times([null, 1500, 9000]), times([null, -1, 7])];
    return [video, epoch, head, ...texts, "checkpoint", LEASE_MS, written, 0, ...own];
  };
  const drawn: (() => Statement)[] = [
    () => ({ text: SQL.take, values: [video, pick(INSTANCES), LEASE_MS, otherChat(video)] }),
    () => ({ text: SQL.take, values: [video, pick(INSTANCES), LEASE_MS, otherChat(video)] }),
    () => ({ text: SQL.giveBack, values: claims }),
    () => ({ text: SQL.renew, values: [...claims, LEASE_MS] }),
    () => ({ text: SQL.append, values: appended() }),
    () => ({ text: SQL.append, values: appended() }),
    () => ({
      text: SQL.appendAndOverwrite,
      values: [...appended(), ...distinct(batch())],
    }),
    () => ({ text: SQL.finish, values: [video, epoch, pick(["released", "ended", "failed"]), "{}"] }),
    () => ({ text: SQL.read, values: [video, after, 3], isOrdered: true }),
    () => ({
      text: pick([SQL.firstOfTypes, SQL.lastOfTypes]),
      values: [video, some(RARE_TYPES), after, after + 1 + Math.floor(random.next() * 30), pick([1, 2, 9])],
      isOrdered: true,
    }),
    () => ({ text: SQL.messagesById, values: [video, some(IDS)] }),
    () => ({ text: SQL.byIdPrefix, values: [video, "gap:"] }),
    () => ({ text: SQL.byText, values: [video, "says", after, after + 2] }),
    () => ({ text: SQL.room, values: [video] }),
    () => ({
      text: WRITE,
      values: [[video], pick(INSTANCES), [pick([0, 1, 7])], [pick([0, LEASE_MS, GRACE_MS])]],
    }),
    () => ({ text: WATCHED_FOR, values: [video] }),
    () => ({ text: WANTED_ELSEWHERE, values: [VIDEOS, pick(INSTANCES), pick([0, 1])] }),
    () => ({
      text: ONE_TOO_MANY,
      values: [pick(INSTANCES), Math.floor(random.next() * 12), pick([[], [], [video]])],
    }),
    () => ({ text: SWEEP, values: [held] }),
    () => ({ text: ORPHANS, values: [] }),
    () => ({ text: RELEASE, values: [GRACE_MS, JSON.stringify(RELEASED)] }),
    () => ({ text: TALLY_SQL.tally, values: [video] }),
    () => ({ text: TALLY_SQL.uncounted, values: [video, after, 3], isOrdered: true }),
  ];
  return pick(drawn)();
}

/** A batch without repeated ids. */
function distinct([ids = [], bodies = [], details = []]: string[][]): string[][] {
  const isFirst = (_: unknown, i: number) => ids.indexOf(ids[i] ?? "") === i;
  return [ids, bodies, details].map((column) => column.filter(isFirst));
}

function learn({ epochs, heads, bases }: Known, { text, values }: Statement, rows: readonly object[]): void {
  const [video] = values as [string];
  const [row = {}] = rows as Record<string, unknown>[];
  if (text === SQL.take && typeof row.epoch === "number") {
    epochs.getOrInsertComputed(video, () => []).push(row.epoch);
    bases.set(video, row.base as number);
  }
  if ((text === SQL.take || text === SQL.append || text === SQL.appendAndOverwrite) && "head" in row)
    if (typeof row.head === "number") heads.set(video, row.head);
}

/** Rows in one form: only the columns that both have; sorted, if they have no order. */
function comparable({ isOrdered }: Statement, rows: readonly object[]): string[] {
  const texts = rows.map((row) => {
    const known = Object.entries(row).filter(([name, value]) => value !== null && !LEFT_OUT.includes(name));
    return JSON.stringify(Object.fromEntries(known.sort(([one], [other]) => (one < other ? -1 : 1))));
  });
  return isOrdered ? texts : texts.sort();
}
/** No row of a generation is read, ties are drawn, and the simulation's totals need no times. */
const LEFT_OUT = ["generation", "draw", "at"];

describe("the simulation's shared store", { skip }, () => {
  for (const seed of [1, 2]) {
    it(`gives the rows of PostgreSQL for ${STATEMENTS} statements in any order (seed ${seed})`, async (t) => {
      const { url, setTime } = await ownSchemaAndTime(t, server as PostgresServer);
      await setTime(BORN_MS);
      await (await openFor(t, url)).close();
      const client = new Client({ connectionString: url, types: { getTypeParser } as typeof types });
      await client.connect();
      t.after(() => client.end());
      let now = BORN_MS;
      const shared = new SharedStore({ now: () => now, monotonic: () => now }, new Random(seed, "shared"));
      const random = new Random(seed, "statements");
      const known: Known = { epochs: new Map(), heads: new Map(), bases: new Map() };
      const said = new Set<string>();
      for (let i = 0; i < STATEMENTS; i++) {
        now += 1 + Math.floor(random.next() ** 4 * MAX_PAUSE_MS);
        await setTime(now);
        const statement = draw(random, known);
        const { rows } = await client.query(statement.text, statement.values);
        const simulated = shared.execute(statement.text, statement.values);
        const what = `statement ${i}: ${statement.text.slice(0, 60)} with ${JSON.stringify(statement.values)}`;
        assert.deepEqual(comparable(statement, simulated), comparable(statement, rows), what);
        learn(known, statement, rows);
        if (rows.length > 0) said.add(statement.text);
      }
      for (const text of [SQL.giveBack, SQL.renew, SQL.finish, SQL.read, ORPHANS, ONE_TOO_MANY])
        assert.ok(said.has(text), `no row was ever given for ${text.slice(0, 60)}`);
    });
  }
});

/** Cursors and counts as numbers. */
function getTypeParser(id: number, format?: "text"): (value: string) => unknown {
  return id === types.builtins.INT8 ? Number : types.getTypeParser(id, format);
}
