/**
 * The list of recordings in the database, and which instance runs each of them. An instance that stops
 * renewing its recordings loses them to the others.
 */
import {
  MAX_RECORDINGS,
  type Recording,
  type RecordingList,
  type RecordingReport,
} from "../recording-list.ts";
import { columns, fromColumn } from "./column-text.ts";
import type { Database } from "./pools.ts";
import { ms } from "./postgres-tables.ts";

/** All recordings, the oldest first. */
export const RECORDINGS = `select name, ${ms("since")} as since, state, video_id as "videoId", error
  from recording order by recording.since, name`;

const SQL = {
  add: `with present as (select from recording where name = $1), added as (
      insert into recording (name, since, state) select $1, clock_timestamp(), 'waiting'
      where (select count(*) from recording) < ${MAX_RECORDINGS} on conflict do nothing returning name
    )
    select exists (select from present) as is_present, exists (select from added) as is_added`,
  remove: "delete from recording where name = $1 returning name",
  run: `with reported as (
      update recording r set state = m.state, video_id = m.video, error = m.error,
        run_until = clock_timestamp() + $2::float8 * interval '1 ms'
      from unnest($3::text[], $4::text[], $5::text[], $6::text[]) as m (name, state, video, error)
      where r.name = m.name and r.instance = $1 returning r.name, r.state
    ), taken as (
      update recording r set instance = $1, run_until = clock_timestamp() + $2::float8 * interval '1 ms'
      where (r.run_until < clock_timestamp() or r.instance = $1) and r.state <> 'ended' and r.name <> all($3) returning r.name
    )
    select name from reported where state <> 'ended' union all select name from taken`,
  leave: "update recording set run_until = '-infinity' where instance = $1",
} as const;

export function toRecording(row: Recording): Recording {
  return { ...row, error: row.error === null ? null : fromColumn(row.error) };
}

const REPORT = ["name", "state", "videoId", "error"] as const;

export class PostgresRecordings implements RecordingList {
  readonly #instance: string;
  readonly #connections: Database;
  #hasRun = false;

  constructor(instance: string, connections: Database) {
    this.#instance = instance;
    this.#connections = connections;
  }

  async listRecordings(): Promise<Recording[]> {
    return (await this.#connections.query<Recording>("reads", RECORDINGS, [])).map(toRecording);
  }

  async addRecording(name: string): Promise<"added" | "present" | "full"> {
    const [row] = await this.#connections.query<{ is_present: boolean; is_added: boolean }>(
      "writes",
      SQL.add,
      [name],
    );
    if (row?.is_added) return "added";
    return row?.is_present ? "present" : "full";
  }

  async removeRecording(name: string): Promise<boolean> {
    return (await this.#connections.query("writes", SQL.remove, [name])).length === 1;
  }

  async runRecordings(reports: readonly RecordingReport[], runMs: number): Promise<string[]> {
    this.#hasRun = true;
    const values = [this.#instance, runMs, ...columns(reports, REPORT)];
    const rows = await this.#connections.query<{ name: string }>("writes", SQL.run, values);
    return rows.map(({ name }) => name);
  }

  /** Lets other instances run what this one ran. */
  async leave(): Promise<void> {
    if (this.#hasRun) await this.#connections.query("writes", SQL.leave, [this.#instance]);
  }
}
