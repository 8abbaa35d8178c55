/** The list of recordings in the store file. Only one process uses the file, so it runs all recordings. */
import type { DatabaseSync } from "node:sqlite";
import { MAX_RECORDINGS, type Recording, type RecordingReport } from "../recording-list.ts";
import { prepared } from "./sqlite-schema.ts";

/** All recordings, the oldest first. */
export const RECORDINGS =
  "select name, since, state, video_id as videoId, error from recording order by since, name";

const SQL = {
  list: RECORDINGS,
  add: `insert into recording (name, since, state) select :name, :now, 'waiting'
    where (select count(*) from recording) < ${MAX_RECORDINGS} on conflict do nothing`,
  has: "select 1 from recording where name = ?",
  remove: "delete from recording where name = ?",
  report: `update recording set state = :state, video_id = :videoId, error = :error
    where name = :name and (state, video_id, error) is not (:state, :videoId, :error)`,
  toRun: "select name from recording where state <> 'ended'",
} as const;

/** The operations of `RecordingList`. */
export function recordingsOn(database: DatabaseSync) {
  const sql = prepared(database, SQL);
  return {
    listRecordings: (): Recording[] =>
      (sql.list.all() as unknown as Recording[]).map((recording) => ({ ...recording })),

    addRecording(now: number, name: string): "added" | "present" | "full" {
      if (sql.has.get(name)) return "present";
      return sql.add.run({ name, now }).changes === 1 ? "added" : "full";
    },

    removeRecording: (name: string): boolean => sql.remove.run(name).changes === 1,

    /** Writes only changed reports, so that a call without news costs no fsync. */
    runRecordings(reports: readonly RecordingReport[]): string[] {
      for (const { name, state, videoId, error } of reports) sql.report.run({ name, state, videoId, error });
      return sql.toRun.all().map(({ name }) => String(name));
    },
  };
}
