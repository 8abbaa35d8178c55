/**
 * A database as one end of a migration, on one connection of its own. Refuses a database that instances use.
 */
import { Client } from "pg";
import type { ChatKey } from "../../protocol/chat-key.ts";
import type { MigrationEnd, MovedMessage, MovedRoom } from "../migration.ts";
import type { Recording } from "../recording-list.ts";
import { NOT_EMPTY, StoreError } from "../store-error.ts";
import { readEnd } from "../strict-rows.ts";
import type { TallyItem } from "../totals.ts";
import { columns, fromColumn } from "./column-text.ts";
import { cannotOpen, fromUrl } from "./open-postgres.ts";
import { APPLICATION, clientConfig, placeOf } from "./pools.ts";
import { unavailable } from "./postgres-error.ts";
import { RECORDINGS, toRecording } from "./postgres-recordings.ts";
import { MIGRATION_TABLE, migrateSchema } from "./postgres-schema.ts";
import { ms, toMessage } from "./postgres-tables.ts";
import { TALLIED, TALLY_ITEM } from "./postgres-tallies.ts";

/** While notifications arrive, an instance's listening connection is never silent for this long. */
const SILENT_AFTER_S = 5;

/** The columns of a room that are copied, with their types. A `time` is moved in wall milliseconds. */
const ROOM = {
  key: ["video_id", "text"],
  epoch: ["epoch", "bigint"],
  base: ["base", "bigint"],
  floor: ["floor", "bigint"],
  head: ["head", "bigint"],
  checkpoint: ["checkpoint", "text"],
  checkpointAt: ["checkpoint_at", "time"],
  end: ["detail", "text"],
  endedAt: ["final_at", "time"],
  channels: ["channels", "text"],
  isKept: ["is_kept", "bool"],
  video: ["video", "text"],
  featuredId: ["featured_id", "text"],
  featuredAt: ["featured_at", "bigint"],
} as const satisfies Record<Exclude<keyof MovedRoom, "totals" | "countedTo">, readonly [string, string]>;

/** The values of a moved room, in the order of the parameters of `putRooms`. */
const MOVED = [...(Object.keys(ROOM) as (keyof typeof ROOM)[]), "state", "totals", "countedTo"] as const;

/** A text for each field of a room and its column. */
const ofRoom = (text: (column: string, type: string, field: string, index: number) => string): string =>
  `${Object.entries(ROOM).map(([field, [column, type]], index) => text(column, type, field, index))}`;

const PARAMETERS = ofRoom((_, type, __, i) => `$${i + 1}::${type === "time" ? "float8" : type}[]`);

const SQL = {
  isRunning: `select exists (select from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid() and application_name = '${APPLICATION}'
        and state_change > clock_timestamp() - interval '${SILENT_AFTER_S} s') as running`,
  // The marks of an instance that owned or served a room. Only while it runs, it extends them.
  inUseFor: `select ceil(extract(epoch from max(until) - clock_timestamp()))::int as seconds from (
      select lease_until as until from room
      union all select until from interest where viewers > 0
    ) as uses where until > clock_timestamp()`,
  rooms: `select ${ofRoom((column, type, field) => `${type === "time" ? ms(column) : `r.${column}`} as "${field}"`)},
      totals, cursor + shift as "countedTo"
    from ${TALLIED} where checkpoint is not null and r.video_id > $1 order by r.video_id limit $2`,
  tallyItems: `select key, author, first, payment, authors from tally_item i
    join room r on r.video_id = i.video_id and i.born = r.base - r.shift
    where i.video_id = $1 and key > $2 order by key limit $3`,
  messages: `select m.seq, m.video_id as key, m.cursor + r.shift as cursor, id, body, details, ${ms("at")} as at,
      said, offset_ms as "offset"
    from message m join room r on r.video_id = m.video_id and m.cursor > r.floor - r.shift
    where seq > $1 order by seq limit $2`,
  count: "select count(*) as messages from message",
  isHalf: `select to_regclass('${MIGRATION_TABLE}') is not null as is_half`,
  filledTo: `select seq from ${MIGRATION_TABLE}`,
  anyRoom: "select from room limit 1",
  begin: `create table ${MIGRATION_TABLE} as select 0::bigint as seq`,
  putRooms: `with moved as (
      select * from unnest(${PARAMETERS}, $${MOVED.length - 2}::text[], $${MOVED.length - 1}::text[], $${MOVED.length}::bigint[])
        as moved (${ofRoom((column) => column)}, state, totals, counted_to)
    ), counted as (
      insert into tally (video_id, born, cursor, totals)
      select video_id, base, counted_to, totals from moved where totals is not null
      on conflict (video_id, born) do update set cursor = excluded.cursor, totals = excluded.totals
    )
    insert into room (${ofRoom((column) => column)}, state, lease_until)
    select ${ofRoom((column, type) => (type === "time" ? `to_timestamp(${column} / 1000)` : column))}, state, 'epoch'
    from moved
    on conflict (video_id) do update set ${ofRoom((column) => `${column} = excluded.${column}`)}, state = excluded.state`,
  putTallyItems: `insert into tally_item (video_id, born, key, author, first, payment, authors)
    select $1, base, item.*
    from room, unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[]) as item
    where video_id = $1
    on conflict (video_id, born, key) do update
      set author = excluded.author, first = excluded.first, payment = excluded.payment, authors = excluded.authors`,
  putMessages: `with filled as (update ${MIGRATION_TABLE} set seq = $1)
    insert into message (video_id, cursor, id, body, details, at, said, offset_ms)
    select v, c, i, b, d, to_timestamp(a / 1000), s, o
    from unnest($2::text[], $3::bigint[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::bigint[], $9::bigint[])
      with ordinality as moved (v, c, i, b, d, a, s, o, place) order by place
    on conflict (video_id, cursor) do update set body = excluded.body, details = excluded.details`,
  putRecordings: `insert into recording (name, since, state, video_id, error)
    select n, to_timestamp(s / 1000), t, v, e
    from unnest($1::text[], $2::float8[], $3::text[], $4::text[], $5::text[]) as put (n, s, t, v, e)
    on conflict (name) do update set since = excluded.since, state = excluded.state,
      video_id = excluded.video_id, error = excluded.error`,
  incomplete: `select r.video_id from room r left join (
      select video_id, count(*) as kept, min(cursor) as first, max(cursor) as last from message group by video_id
    ) m on m.video_id = r.video_id
    where head > floor and (kept, first + shift, last + shift) is distinct from (head - floor, floor + 1, head) limit 1`,
  finish: `drop table ${MIGRATION_TABLE}`,
} as const;

export class PostgresMigrationEnd implements MigrationEnd {
  readonly place: string;
  readonly #client: Client;

  /** Brings an empty database to this schema. Rejects with `StoreError` "unavailable". */
  static async open(url: string, role: "from" | "to"): Promise<PostgresMigrationEnd> {
    const config = fromUrl(() => ({ ...clientConfig(url), query_timeout: 0 })); // counting can take long
    const client = new Client({ ...config, fallback_application_name: `${APPLICATION} migrate-store` });
    const end = new PostgresMigrationEnd(
      client,
      fromUrl(() => placeOf(config)),
    );
    client.on("error", () => {}); // the running statement rejects
    try {
      await client.connect();
      await migrateSchema(client, role === "to" ? "wanted" : "refused");
      await end.#assertUnused();
      return end;
    } catch (error) {
      await end.close();
      throw cannotOpen(error, end.place);
    }
  }

  private constructor(client: Client, place: string) {
    this.#client = client;
    this.place = place;
  }

  /** Rejects with `StoreError` "unavailable" while a service uses the database, or may use it. */
  async #assertUnused(): Promise<void> {
    const refuse = (why: string): never => {
      throw new StoreError("unavailable", `is in use: ${why}`);
    };
    const [session] = await this.#query<{ running: boolean }>(SQL.isRunning);
    if (session?.running)
      refuse(
        "a service runs on this database, or is still stopping: stop it, and run this again after its end",
      );
    const [mark] = await this.#query<{ seconds: number | null }>(SQL.inUseFor);
    const seconds = mark?.seconds ?? undefined;
    if (seconds !== undefined)
      refuse(
        `a service on this database was killed, or cannot be seen: stop it, and run this again in ${seconds} s`,
      );
  }

  async rooms(after: ChatKey, limit: number): Promise<MovedRoom[]> {
    return (await this.#query<MovedRoom>(SQL.rooms, [after, limit])).map(toRoom);
  }

  tallyItems(key: ChatKey, after: string, limit: number): Promise<TallyItem[]> {
    return this.#query(SQL.tallyItems, [key, after, limit]);
  }

  async messages(seq: number, limit: number): Promise<MovedMessage[]> {
    const rows = await this.#query<MovedMessage>(SQL.messages, [seq, limit]);
    return rows.map(toMessage);
  }

  async countMessages(): Promise<number> {
    const [row] = await this.#query<{ messages: number }>(SQL.count);
    return row?.messages ?? 0;
  }

  async recordings(): Promise<Recording[]> {
    return (await this.#query<Recording>(RECORDINGS)).map(toRecording);
  }

  async filledTo(): Promise<number | undefined> {
    const [found] = await this.#query<{ is_half: boolean }>(SQL.isHalf);
    if (!found?.is_half) return undefined;
    const [row] = await this.#query<{ seq: number }>(SQL.filledTo);
    return row?.seq;
  }

  async begin(): Promise<void> {
    if ((await this.#query(SQL.anyRoom)).length > 0)
      throw new StoreError("unavailable", NOT_EMPTY(this.place));
    await this.#query(SQL.begin);
  }

  async putRooms(rooms: readonly MovedRoom[]): Promise<void> {
    const rows = rooms.map((room) => ({ ...room, state: stateOf(room.end) }));
    await this.#query(SQL.putRooms, columns(rows, MOVED));
  }

  async putTallyItems(key: ChatKey, items: readonly TallyItem[]): Promise<void> {
    await this.#query(SQL.putTallyItems, [key, ...columns(items, TALLY_ITEM)]);
  }

  async putMessages(messages: readonly MovedMessage[]): Promise<void> {
    const keys = ["key", "cursor", "id", "body", "details", "at", "said", "offset"] as const;
    await this.#query(SQL.putMessages, [messages.at(-1)?.seq ?? 0, ...columns(messages, keys)]);
  }

  async putRecordings(recordings: readonly Recording[]): Promise<void> {
    const keys = ["name", "since", "state", "videoId", "error"] as const;
    await this.#query(SQL.putRecordings, columns(recordings, keys));
  }

  async incompleteRoom(): Promise<ChatKey | undefined> {
    return (await this.#query<{ video_id: string }>(SQL.incomplete))[0]?.video_id;
  }

  async finish(): Promise<void> {
    await this.#query(SQL.finish);
  }

  async close(): Promise<void> {
    await this.#client.end().catch(() => {});
  }

  async #query<Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> {
    try {
      return (await this.#client.query<Row>(text, values)).rows;
    } catch (error) {
      throw unavailable(error, this.place);
    }
  }
}

function toRoom(row: MovedRoom): MovedRoom {
  const { end, featuredId } = row;
  return {
    ...row,
    checkpoint: fromColumn(row.checkpoint),
    end: end && fromColumn(end),
    featuredId: featuredId && fromColumn(featuredId),
  };
}

/** The state of a room with this end. An end that cannot be read is copied, and the room counts as failed. */
function stateOf(end: string | null): string {
  return end === null ? "polling" : (readEnd(end)?.state ?? "failed");
}
