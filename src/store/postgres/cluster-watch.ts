/**
 * Watches the other instances. One statement looks at all rooms that are followed here, after missed notices
 * and about every 1.5 s, so a lost notice delays followers by no more than that. It finds new heads, changed
 * facts, ended rooms, owners that are gone, and rooms whose rows were replaced. These must not be followed
 * any further, because their cursors now name other messages.
 */
import { after, type Clock, nap, pause } from "../../base/clock.ts";
import { unlessAborted } from "../../base/deadline.ts";
import { FACT_NAMES, RELEASED } from "../../protocol/chat.ts";
import type { ChatKey } from "../../protocol/chat-key.ts";
import { background } from "../../telemetry/background.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { FactMark, Followers } from "../follow.ts";
import { isUnavailable } from "../store-error.ts";
import type { StoreHealth } from "../store-health.ts";
import { adoptLineage } from "./lineage.ts";
import type { RoomNotice } from "./notifications.ts";
import type { Database } from "./pools.ts";
import { unavailable } from "./postgres-error.ts";
import { LINEAGE } from "./postgres-schema.ts";
import { FAR_AHEAD, SQL } from "./postgres-tables.ts";

const SWEEP_MS = 1500;
/** A lease must not expire unnoticed between two sweeps. */
const SWEEPS_PER_LEASE = 3;
/** The interval while no notices arrive. */
const FAST_SWEEP_MS = 250;
/** A room is taken this long after its lease has expired: its owner may be renewing it at this moment. */
export const AFTER_LEASE_MS = 100;
/** The interval of checks for rooms without an owner. */
const ORPHANS_MS = 700;
/** The wait that lets instances with viewers of a handed-over room take it first. */
const OTHERS_FIRST_MS = 200;
/**
 * The number of successful checks in a row before a room counts as unwatched: after an outage, other
 * instances may need time to renew their counts.
 */
const SURE_CHECKS = 20;

export const SWEEP = `select s.generation, s.lineage = ${LINEAGE} as is_same,
    r.video_id, r.base, r.head, r.featured_at as featured,
    split_part(split_part(r.checkpoint, '"absence":{', 2), '}', 1) as standing,
    r.final_at is not null as is_final,
    case when r.${FAR_AHEAD} then 0
      else greatest(extract(epoch from r.lease_until - clock_timestamp()) * 1000, 0) end::float8 as lease_left_ms
  from store s left join room r on r.video_id = any($1)`;

/** Open rooms without a valid lease. One that has just expired may still be renewed. */
const UNOWNED = `final_at is null and checkpoint is not null
    and (lease_until <= clock_timestamp() - interval '${AFTER_LEASE_MS} ms' or ${FAR_AHEAD})`;

export const ORPHANS = `select video_id from room r where ${UNOWNED}
    and exists (select from interest i where i.video_id = r.video_id and i.until > clock_timestamp())
  order by random()`;

export const RELEASE = `update room r set state = 'released', detail = $2, final_at = clock_timestamp(), owner = null,
    lease_until = 'epoch', epoch = epoch + 1
  where ${UNOWNED} and checkpoint_at <= clock_timestamp() - $1::float8 * interval '1 ms'
    and not exists (select from interest i where i.video_id = r.video_id and i.until > clock_timestamp())`;

/** `featured`, `standing`: the marks of these facts. */
interface SweptRoom {
  is_same: boolean;
  video_id: string | null;
  base: number;
  head: number;
  featured: FactMark;
  standing: FactMark;
  is_final: boolean;
  lease_left_ms: number;
}

interface ClusterWatchParts {
  connections: Database;
  health: StoreHealth;
  clock: Clock;
  telemetry: Telemetry;
  followers: Followers;
  leaseMs: number;
  /** Whether a failover loses no acknowledged write. */
  isSynchronous: boolean;
  isReceiving(): boolean;
}

export class ClusterWatch {
  readonly #parts: ClusterWatchParts;
  readonly #closed = new AbortController();
  /** The followed rooms as they were at the last sweep. */
  readonly #seen = new Map<ChatKey, SweptRoom>();
  /** The calls of `freed` that wait, by room. */
  readonly #waiting = new Map<ChatKey, Set<() => void>>();
  /** Resolves when a notice reports a room without an owner that no follower here waits for. */
  #noticedFree = Promise.withResolvers<void>();
  #hurry = Promise.withResolvers<void>();

  constructor(parts: ClusterWatchParts) {
    this.#parts = parts;
    void background("watch of the other instances", parts, this.#closed.signal, () => this.#run());
  }

  /** Starts the next sweep at once. */
  hurry(): void {
    this.#hurry.resolve();
  }

  onNotice(key: ChatKey, notice: RoomNotice): void {
    if (notice === "over") this.#parts.followers.resync(key);
    else if (typeof notice === "number") this.#parts.followers.advanced(key, notice);
    else if (notice !== "free") this.#parts.followers.factChanged(key, notice);
    else if (this.#waiting.has(key)) this.#free(key);
    else this.#noticedFree.resolve();
  }

  close(): void {
    this.#closed.abort();
  }

  /**
   * Moves all rooms, with their messages, to cursors that no client can hold, if the server or its history
   * has changed: the new history may lack cursors that were sent. With `isSynchronous` it lacks none, and the
   * rooms stay. Rejects with `StoreError` "unavailable".
   */
  async adoptLineage(): Promise<void> {
    const { connections, health, isSynchronous, telemetry } = this.#parts;
    const adopting = adoptLineage(connections, { isRestored: false, isKept: isSynchronous }).catch(
      (error) => {
        throw unavailable(error, connections.place);
      },
    );
    const rooms = await health.report("moveCursors", adopting);
    if (rooms > 0) telemetry.store.lineageAdopted(rooms);
    this.hurry();
  }

  /** See `Ownership.freed`. */
  async freed(key: ChatKey, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiting = this.#waiting.get(key) ?? new Set();
    this.#waiting.set(key, waiting.add(resolve));
    try {
      await unlessAborted(promise, signal);
    } finally {
      waiting.delete(resolve);
      if (waiting.size === 0 && this.#waiting.get(key) === waiting) this.#waiting.delete(key);
    }
  }

  /** See `Ownership.orphans`. Also releases rooms that nobody watches. */
  async *orphans(graceMs: number, signal: AbortSignal): AsyncGenerator<readonly ChatKey[]> {
    const { clock, connections, health } = this.#parts;
    const over = AbortSignal.any([signal, this.#closed.signal]);
    for (let checks = 0; ; ) {
      await pause(clock, OTHERS_FIRST_MS * (1 + clock.random()), over);
      if (over.aborted) return;
      this.#noticedFree = Promise.withResolvers();
      try {
        const finding = connections.query<{ video_id: string }>("reads", ORPHANS);
        const found = await health.report("orphans", finding);
        if (found.length > 0) yield found.map(({ video_id }) => video_id);
        checks += 1;
        if (checks >= SURE_CHECKS && found.length === 0) {
          const releasing = connections.query("writes", RELEASE, [graceMs, JSON.stringify(RELEASED)]);
          await health.report("release", releasing);
        }
      } catch (error) {
        if (!isUnavailable(error)) throw error; // already reported
        checks = 0;
      }
      await nap(clock, ORPHANS_MS, this.#noticedFree.promise, over);
    }
  }

  async #run(): Promise<void> {
    const { clock, followers, isReceiving, leaseMs } = this.#parts;
    const { signal } = this.#closed;
    const sweepMs = Math.min(SWEEP_MS, leaseMs / SWEEPS_PER_LEASE);
    while (!signal.aborted) {
      const napMs = isReceiving() ? sweepMs : Math.min(FAST_SWEEP_MS, sweepMs);
      await nap(clock, napMs, this.#hurry.promise, signal);
      this.#hurry = Promise.withResolvers();
      const keys = [...followers.keys];
      for (const key of this.#seen.keys()) if (!followers.has(key)) this.#seen.delete(key);
      if (signal.aborted || keys.length === 0) continue;
      try {
        await this.#sweep(keys, napMs);
      } catch (error) {
        if (!isUnavailable(error)) throw error; // already reported; the next sweep follows soon
      }
    }
  }

  async #sweep(keys: readonly ChatKey[], napMs: number): Promise<void> {
    const { clock, connections, health } = this.#parts;
    const rows = await health.report("sweep", connections.query<SweptRoom>("reads", SWEEP, [keys]));
    // An instance that only follows has no other operation that can end an outage.
    if (!health.isAvailable) await health.report("probeWrite", connections.query("writes", SQL.touch));
    if (!rows[0]?.is_same) return this.adoptLineage();
    const found = new Map(rows.map((row) => [row.video_id, row]));
    for (const key of keys) {
      const row = found.get(key);
      this.#compare(key, row);
      if (!row || row.is_final || row.lease_left_ms > napMs || !this.#waiting.has(key)) continue;
      const leftMs = row.lease_left_ms > 0 ? row.lease_left_ms + AFTER_LEASE_MS : 0;
      after(clock, leftMs, this.#closed.signal, () => this.#free(key));
    }
  }

  #compare(key: ChatKey, row: SweptRoom | undefined): void {
    const { followers } = this.#parts;
    const seen = this.#seen.get(key);
    const isOther = row && seen && (seen.base !== row.base || seen.head > row.head);
    if (!row || isOther) {
      // The room's viewers are disconnected; they reconnect to the rows that the store has now.
      this.#seen.delete(key);
      followers.abort(key, new Error(`room ${key}: the store does not hold any more what it held`));
      return;
    }
    // Not compared with the last sweep: a fact may change, be read, and change back between two of them.
    for (const name of FACT_NAMES) followers.factChanged(key, name, row[name]);
    if (row.is_final && !seen?.is_final) followers.resync(key);
    else followers.advanced(key, row.head);
    this.#seen.set(key, row);
  }

  #free(key: ChatKey): void {
    for (const resolve of this.#waiting.get(key) ?? []) resolve();
  }
}
