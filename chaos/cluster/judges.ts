/**
 * What must hold, whatever happened: every viewer was sent its room's messages once and in order, under the cursors
 * that the tables hold; the tables hold what was said, without a gap; and the upstream had one reader for each room.
 */
import type { Simulator } from "../../src/simulator/index.ts";
import type { Observer } from "../clients/observer.ts";
import { Sequence } from "../clients/sequence.ts";
import { run } from "./postgres.ts";

/** Of all polls, the share that may begin while another of the room is unanswered: a process can freeze just before its call. */
const LATE_POLLS = 1 / 1000;
/** What a viewer may be refused with while instances come and go; it tries again. */
const REFUSALS = new Set(["CAPACITY", "STORE_UNAVAILABLE"]);

export interface Facts {
  violations: string[];
  counts: Map<string, number>;
}

/** All that one viewer was sent, over all its connections. */
export class ViewerLog implements Observer {
  readonly videoId: string;
  readonly messages: { cursor: number; id: string }[] = [];
  readonly faults: string[] = [];
  readonly refusals = new Map<string, number>();
  readonly #sequence = new Sequence();

  constructor(videoId: string) {
    this.videoId = videoId;
  }

  /** Whether it has the newest of what was said. */
  isComplete(said: ReadonlyMap<string, readonly string[]>): boolean {
    return this.messages.at(-1)?.id === said.get(this.videoId)?.at(-1);
  }

  opened({ cursor }: { cursor: number }, lastEventId: number | undefined): void {
    this.#note(this.#sequence.begin(cursor, lastEventId));
  }

  message(cursor: number, data: string): void {
    this.messages.push({ cursor, id: JSON.parse(data).id });
    this.#note(this.#sequence.next(cursor));
  }

  terminal(event: string, reason: string): void {
    this.#note(`${event}: ${reason}`);
  }

  refused(status: number, code: string): void {
    if (REFUSALS.has(code)) this.refusals.set(code, (this.refusals.get(code) ?? 0) + 1);
    else this.#note(`refused with ${status} ${code}`);
  }

  closed(): void {}

  malformed(what: string): void {
    this.#note(what);
  }

  #note(fault: string | undefined): void {
    if (fault) this.faults.push(fault);
  }
}

/** Has the database itself note each owner that was overtaken while its lease was good. */
export async function watchLeases(url: string): Promise<void> {
  await run(
    url,
    `create table stolen (video_id text, lease_until timestamptz, at timestamptz);
     create function note_theft() returns trigger language plpgsql as $$ begin
       if old.lease_until > clock_timestamp() then
         insert into stolen values (old.video_id, old.lease_until, clock_timestamp());
       end if;
       return null;
     end $$;
     create trigger note_theft after update on room for each row
       when (new.owner is not null and new.owner <> old.owner) execute function note_theft();`,
  );
}

interface RoomRow {
  video_id: string;
  base: string;
  head: string;
  epoch: string;
}

/** Compares the tables with what was said in each room, and the viewers with the tables. */
export async function judge(
  url: string,
  said: ReadonlyMap<string, readonly string[]>,
  viewers: readonly ViewerLog[],
  requests: Simulator["requests"],
): Promise<Facts> {
  const violations: string[] = [];
  const counts = new Map<string, number>();
  const count = (name: string, by: number) => counts.set(name, (counts.get(name) ?? 0) + by);
  for (const room of await run<RoomRow>(url, "select video_id, base, head, epoch from room order by 1")) {
    const { video_id: videoId } = room;
    const base = Number(room.base);
    const rows = await run<{ cursor: string; id: string }>(
      url,
      "select cursor, id from message where video_id = $1 order by cursor",
      [videoId],
    );
    const ids = rows.map(({ id }) => id);
    const expected = said.get(videoId) ?? [];
    const odd = rows.findIndex(({ cursor }, index) => Number(cursor) !== base + 1 + index);
    if (odd >= 0)
      violations.push(`${videoId}: the ${odd + 1}th message has cursor ${rows[odd]?.cursor}, base ${base}`);
    if (Number(room.head) !== base + rows.length)
      violations.push(`${videoId}: head ${room.head}, ${rows.length} messages`);
    const differs = expected.findIndex((id, index) => ids[index] !== id);
    if (differs >= 0 || ids.length !== expected.length)
      violations.push(`${videoId}: holds ${ids.length} of ${expected.length}, and another one at ${differs}`);
    for (const [index, viewer] of viewers.entries()) {
      if (viewer.videoId !== videoId) continue;
      const wrong = viewer.messages.find(({ cursor, id }) => ids[cursor - base - 1] !== id);
      if (wrong)
        violations.push(`viewer ${index}: cursor ${wrong.cursor} is not what the table holds under it`);
    }
    count("messages", rows.length);
    count("take-overs", Number(room.epoch) - base - 2);
  }
  for (const { video_id } of await run<{ video_id: string }>(url, "select video_id from stolen"))
    violations.push(`${video_id}: taken over while its owner's lease was good`);
  for (const [index, viewer] of viewers.entries()) {
    violations.push(...viewer.faults.map((fault) => `viewer ${index} of ${viewer.videoId}: ${fault}`));
    if (!viewer.isComplete(said))
      violations.push(`viewer ${index} of ${viewer.videoId}: did not get the last message`);
    count("messages to viewers", viewer.messages.length);
    for (const [code, times] of viewer.refusals) count(`refusals ${code}`, times);
  }
  judgeUpstream(said, requests, violations, count);
  return { violations, counts };
}

function judgeUpstream(
  said: ReadonlyMap<string, readonly string[]>,
  requests: Simulator["requests"],
  violations: string[],
  count: (name: string, by: number) => void,
): void {
  let polls = 0;
  let late = 0;
  for (const videoId of said.keys()) {
    let busyUntil = Number.NEGATIVE_INFINITY;
    for (const request of requests) {
      if (request.videoId !== videoId || request.kind !== "get_live_chat") continue;
      polls += 1;
      if (request.at < busyUntil) late += 1;
      busyUntil = Math.max(busyUntil, request.finishedAt ?? request.at);
    }
  }
  count("polls", polls);
  count("polls beside another", late);
  count("pages", requests.filter(({ kind }) => kind === "popout" || kind === "watch").length);
  if (late > polls * LATE_POLLS + 1)
    violations.push(`${late} of ${polls} polls began while another was unanswered`);
}
