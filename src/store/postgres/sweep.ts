/**
 * What this instance sees of the others: one statement looks at all rooms that are followed here, at each wake-up that
 * was missed and every two seconds, so that a notification that is lost costs no more than that. It finds heads that
 * have moved, ends, owners that are gone, and rooms that are no longer what they were: those nobody may follow on,
 * because cursors would name other messages.
 */
import { after, type Clock } from "../../clock.ts";
import { nap, unlessAborted } from "../../deadline.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Followers } from "../follow.ts";
import type { StoreHealth } from "../health.ts";
import { isUnavailable } from "../port.ts";
import type { Database } from "./connections.ts";
import { unavailable } from "./error.ts";
import { adoptLineage } from "./lineage.ts";
import type { News } from "./notifications.ts";
import { LINEAGE } from "./schema.ts";
import { SQL } from "./tables.ts";

const SWEEP_MS = 1500;
/** A lease must not run out unseen between two sweeps. */
const SWEEPS_PER_LEASE = 3;
/** While notifications are not heard. */
const FAST_SWEEP_MS = 250;
/** A room whose lease has run out is taken so much later: the owner may just be renewing it. */
const AFTER_LEASE_MS = 100;
/** Between two looks for rooms that nobody owns. */
const ORPHANS_MS = 700;
/** Instances with viewers of a room that was handed over come first. */
const OTHERS_FIRST_MS = 200;
/** So many looks in a row must have worked before a room counts as unwatched: others may come back from an outage. */
const SURE_LOOKS = 20;

export const LOOK = `select s.generation, s.lineage = ${LINEAGE} as is_same,
    r.video_id, r.base, r.head, r.final_at is not null as is_final,
    greatest(extract(epoch from r.lease_until - clock_timestamp()) * 1000, 0)::float8 as lease_left_ms
  from store s left join room r on r.video_id = any($1)`;

/** A lease that has just run out may yet be renewed. */
const UNOWNED = `final_at is null and checkpoint is not null
    and lease_until <= clock_timestamp() - interval '${AFTER_LEASE_MS} ms'`;

export const ORPHANS = `select video_id from room r where ${UNOWNED}
    and exists (select from interest i where i.video_id = r.video_id and i.until > clock_timestamp())
  order by random()`;

export const RELEASE = `update room r set state = 'released', detail = $2, final_at = clock_timestamp(), owner = null,
    lease_until = 'epoch', epoch = epoch + 1
  where ${UNOWNED} and checkpoint_at <= clock_timestamp() - $1::float8 * interval '1 ms'
    and not exists (select from interest i where i.video_id = r.video_id and i.until > clock_timestamp())`;

const RELEASED = JSON.stringify({ state: "released", reason: "room released" });

interface Look {
  is_same: boolean;
  video_id: string | null;
  base: number;
  head: number;
  is_final: boolean;
  lease_left_ms: number;
}

/** A followed room as it was last seen; `isMissing`: it was not there. */
type Seen = Pick<Look, "base" | "head" | "is_final"> & { isMissing?: true };

interface SweepParts {
  connections: Database;
  health: StoreHealth;
  clock: Clock;
  telemetry: Telemetry;
  followers: Followers;
  leaseMs: number;
  /** Whether a failover loses nothing that was acknowledged. */
  isSynchronous: boolean;
  isHearing(): boolean;
}

export class Sweep {
  readonly #parts: SweepParts;
  readonly #closed = new AbortController();
  readonly #seen = new Map<string, Seen>();
  /** Who waits for a room to be free. */
  readonly #waiting = new Map<string, Set<() => void>>();
  /** Rooms that nobody owns, of which this instance was told. */
  #toldFree = Promise.withResolvers<void>();
  #hurry = Promise.withResolvers<void>();

  constructor(parts: SweepParts) {
    this.#parts = parts;
    void this.#run();
  }

  /** Looks at once. */
  hurry(): void {
    this.#hurry.resolve();
  }

  heard(videoId: string, news: News): void {
    if (news === "over") this.#parts.followers.resync(videoId);
    else if (news !== "free") this.#parts.followers.advanced(videoId, news);
    else if (this.#waiting.has(videoId)) this.#free(videoId);
    else this.#toldFree.resolve();
  }

  close(): void {
    this.#closed.abort();
  }

  /**
   * Moves all rooms to cursors that nobody can hold, with what they hold, where the server is another one, or its
   * history another: what was sent may end before it. Rejects with `StoreError` "unavailable".
   */
  async adoptLineage(): Promise<void> {
    const { connections, health, isSynchronous, telemetry } = this.#parts;
    const adopting = adoptLineage(connections, { isRestored: false, isKept: isSynchronous }).catch(
      (error) => {
        throw unavailable(error, connections.place);
      },
    );
    const rooms = await health.report("moveCursors", adopting);
    if (rooms > 0) telemetry.lineageAdopted(rooms);
    this.hurry();
  }

  /** See `Ownership.freed`. */
  async freed(videoId: string, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(videoId) ?? new Set();
    this.#waiting.set(videoId, waiting.add(resolve));
    try {
      await unlessAborted(promise, signal);
    } finally {
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(videoId) === waiting) this.#waiting.delete(videoId);
    }
  }

  /** See `Ownership.orphans`; rooms that nobody watches either are released on the way. */
  async *orphans(graceMs: number, signal: AbortSignal): AsyncGenerator<readonly string[]> {
    const { clock, connections, health } = this.#parts;
    const over = AbortSignal.any([signal, this.#closed.signal]);
    for (let looks = 0; ; ) {
      await clock.sleep(OTHERS_FIRST_MS * (1 + clock.random()), over).catch(() => {});
      if (over.aborted) return;
      this.#toldFree = Promise.withResolvers();
      try {
        const looking = connections.query<{ video_id: string }>("reads", ORPHANS);
        const found = await health.report("orphans", looking);
        if (found.length > 0) yield found.map(({ video_id }) => video_id);
        looks += 1;
        if (looks >= SURE_LOOKS && found.length === 0)
          await connections.query("writes", RELEASE, [graceMs, RELEASED]);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
        looks = 0;
      }
      await nap(ORPHANS_MS, this.#toldFree.promise, clock, over);
    }
  }

  async #run(): Promise<void> {
    const { clock, followers, isHearing, leaseMs } = this.#parts;
    const { signal } = this.#closed;
    const sweepMs = Math.min(SWEEP_MS, leaseMs / SWEEPS_PER_LEASE);
    while (!signal.aborted) {
      const napMs = isHearing() ? sweepMs : Math.min(FAST_SWEEP_MS, sweepMs);
      await nap(napMs, this.#hurry.promise, clock, signal);
      this.#hurry = Promise.withResolvers();
      const videoIds = [...followers.videoIds];
      for (const videoId of this.#seen.keys()) if (!followers.has(videoId)) this.#seen.delete(videoId);
      if (signal.aborted || videoIds.length === 0) continue;
      try {
        await this.#look(videoIds, napMs);
      } catch (error) {
        if (!isUnavailable(error)) throw error; // one that is was reported, and the next look is soon
      }
    }
  }

  async #look(videoIds: readonly string[], napMs: number): Promise<void> {
    const { clock, connections, health } = this.#parts;
    const rows = await health.report("sweep", connections.query<Look>("reads", LOOK, [videoIds]));
    if (!health.isAvailable) await health.report("probeWrite", connections.query("writes", SQL.touch)); // nobody else may
    if (!rows[0]?.is_same) return this.adoptLineage();
    const found = new Map(rows.map((row) => [row.video_id, row]));
    for (const videoId of videoIds) {
      const row = found.get(videoId);
      this.#compare(videoId, row);
      if (!row || row.is_final || row.lease_left_ms > napMs || !this.#waiting.has(videoId)) continue;
      const leftMs = row.lease_left_ms > 0 ? row.lease_left_ms + AFTER_LEASE_MS : 0;
      after(clock, leftMs, this.#closed.signal, () => this.#free(videoId));
    }
  }

  #compare(videoId: string, row: Look | undefined): void {
    const { followers } = this.#parts;
    const seen = this.#seen.get(videoId);
    const isOther = row && seen && !seen.isMissing && (seen.base !== row.base || seen.head > row.head);
    if (isOther || (!row && seen)) {
      // Viewers are let go, and come back by what the store holds now.
      this.#seen.delete(videoId);
      followers.lose(videoId, new Error(`room ${videoId}: the store does not hold any more what it held`));
      return;
    }
    if (!row) {
      this.#seen.set(videoId, { base: 0, head: 0, is_final: false, isMissing: true });
      return;
    }
    if (row.is_final && !seen?.is_final) followers.resync(videoId);
    else followers.advanced(videoId, row.head);
    this.#seen.set(videoId, row);
  }

  #free(videoId: string): void {
    for (const resolve of this.#waiting.get(videoId) ?? []) resolve();
  }
}
