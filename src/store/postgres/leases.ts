/**
 * The rooms that this instance owns, by leases on the database's clock. (`cluster-watch.ts` finds the rooms
 * of owners that are gone.) A lease counts as proven by this computer's uptime, which includes its sleep,
 * from the moment before its statement was sent. So an instance that was frozen or asleep, or cannot reach
 * the database, notices by itself that it may have lost its rooms. A room that is given back is not renewed,
 * even if the database does not answer, so no room stays without a reader for longer than a lease. Test: "are
 * free once the lease is over, if they were given back while the database was away".
 */
import { type Clock, pause } from "../../base/clock.ts";
import { type ChatKey, otherChat } from "../../protocol/chat-key.ts";
import { background } from "../../telemetry/background.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { Hold, type Ownership, SETTLED_MS } from "../ownership.ts";
import type { Claim } from "../port.ts";
import { isUnavailable, StoreError } from "../store-error.ts";
import type { StoreHealth } from "../store-health.ts";
import type { ClusterWatch } from "./cluster-watch.ts";
import type { DatabaseClock } from "./database-clock.ts";
import type { RoomNotice } from "./notifications.ts";
import type { Database } from "./pools.ts";
import { SQL, type TakenRow, toRecord } from "./postgres-tables.ts";
import type { ViewerCounts } from "./viewer-counts.ts";

/** The maximum time by which a lease counts as over early: a call may start just before the proof expires. */
const MARGIN_MS = 2000;
const RENEWALS_PER_LEASE = 3;

/**
 * An instance has too many rooms if it has more than this number plus twice those of another instance that
 * has viewers of one of them.
 */
export const SPARE_ROOMS = 4;

/**
 * A room of this instance that should be read by another one, which has viewers of it and far fewer rooms.
 * $3: rooms that it keeps.
 */
export const ONE_TOO_MANY = `with load as (
    select i.instance, min(i.video_id) as video_id, (select count(*) from room o
      where o.owner = i.instance and o.final_at is null and o.lease_until > clock_timestamp()) as rooms
    from interest i join room r on r.video_id = i.video_id
    where r.owner = $1 and r.final_at is null and r.checkpoint is not null and r.video_id <> all($3::text[])
      and i.instance <> $1 and i.viewers > 0 and i.until > clock_timestamp()
    group by i.instance
  )
  select video_id from load where $2 > 2 * rooms + ${SPARE_ROOMS} order by rooms limit 1`;

interface Lease {
  epoch: number;
  hold: Hold;
  /** By the computer's uptime, in milliseconds. */
  provenUntil: number;
  /** When it was taken, on the monotonic clock. */
  takenAt: number;
}

interface PostgresOwnershipParts {
  /** The id of this process, which rooms name as their owner. */
  instance: string;
  leaseMs: number;
  connections: Database;
  health: StoreHealth;
  clock: Clock;
  telemetry: Telemetry;
  databaseClock: DatabaseClock;
  viewerCounts: ViewerCounts;
  watch: ClusterWatch;
  publish(key: ChatKey, notice: RoomNotice): void;
}

export class PostgresOwnership implements Ownership {
  readonly #parts: PostgresOwnershipParts;
  readonly #provenMs: number;
  readonly #leases = new Map<ChatKey, Lease>();
  readonly #closed = new AbortController();
  readonly #renewing: Promise<void>;

  constructor(parts: PostgresOwnershipParts) {
    this.#parts = parts;
    this.#provenMs = parts.leaseMs - Math.min(MARGIN_MS, parts.leaseMs / 5);
    this.#renewing = background("renewal of the leases", parts, this.#closed.signal, () => this.#renewAll());
  }

  async take(key: ChatKey): Promise<Hold | undefined> {
    const { clock, connections, databaseClock, instance, leaseMs, telemetry, viewerCounts, watch } =
      this.#parts;
    await viewerCounts.written(); // otherwise a room could be released before its new viewer is known
    for (;;) {
      const sentAt = clock.uptime();
      const values = [key, instance, leaseMs, otherChat(key)];
      const [row] = await connections.query<TakenRow>("writes", SQL.take, values);
      if (!row?.is_same) await watch.adoptLineage();
      else if (row.epoch === null) return undefined;
      else {
        const { is_same: _, now, epoch, checkpoint, ...rest } = row;
        databaseClock.hear(now);
        const room =
          checkpoint === null ? undefined : toRecord({ ...rest, checkpoint }, telemetry.store.unreadable);
        const hold = new Hold({ key, epoch }, row.head, room, this);
        this.#leases.set(key, {
          epoch,
          hold,
          provenUntil: sentAt + this.#provenMs,
          takenAt: clock.monotonic(),
        });
        return hold;
      }
    }
  }

  /** See `Hold.assertHeld`. */
  assertHeld(claim: Claim): void {
    if (this.#parts.clock.uptime() >= this.leaseOf(claim).provenUntil) {
      throw new StoreError("unavailable", `room ${claim.key}: its lease cannot be proved`);
    }
  }

  /** The lease of a claim that has not ended. Throws `StoreError` "fenced" if it has. */
  leaseOf({ key, epoch }: Claim): Lease {
    const lease = this.#leases.get(key);
    if (lease?.epoch === epoch) return lease;
    throw new StoreError("fenced", `room ${key}: epoch ${epoch} is no longer its owner's`);
  }

  /** See `Hold.giveBack`. */
  async giveBack(claim: Claim): Promise<void> {
    if (this.end(claim)) await this.#free([claim]);
  }

  /** Records that a statement sent at `sentAt`, by the uptime, has set the lease. */
  prove({ key, epoch }: Claim, sentAt: number): void {
    const lease = this.#leases.get(key);
    if (lease?.epoch === epoch) lease.provenUntil = Math.max(lease.provenUntil, sentAt + this.#provenMs);
  }

  /** Ends the renewal of the lease. Returns whether the claim still had one. */
  end({ key, epoch }: Claim): boolean {
    return this.#leases.get(key)?.epoch === epoch && this.#leases.delete(key);
  }

  #lose(claim: Claim): void {
    const lease = this.#leases.get(claim.key);
    if (this.end(claim)) lease?.hold.lose();
  }

  freed(key: ChatKey, signal: AbortSignal): Promise<void> {
    return this.#parts.watch.freed(key, signal);
  }

  orphans(graceMs: number, signal: AbortSignal): AsyncIterable<readonly ChatKey[]> {
    return this.#parts.watch.orphans(graceMs, signal);
  }

  setViewers(key: ChatKey, viewers: number): void {
    this.#parts.viewerCounts.setViewers(key, viewers);
  }

  watchedForMs(key: ChatKey): Promise<number> {
    return this.#parts.viewerCounts.watchedForMs(key);
  }

  wantedElsewhere(keys: readonly ChatKey[], beyond?: number): Promise<readonly ChatKey[]> {
    return this.#parts.viewerCounts.wantedElsewhere(keys, beyond);
  }

  async oneTooMany(): Promise<ChatKey | undefined> {
    const { clock, connections, instance } = this.#parts;
    const { size } = this.#leases;
    if (size <= SPARE_ROOMS) return undefined;
    const settledAt = clock.monotonic() - SETTLED_MS;
    const kept = [...this.#leases].filter(([, { takenAt }]) => takenAt > settledAt);
    const values = [instance, size, kept.map(([key]) => key)];
    const [row] = await connections.query<{ video_id: string }>("reads", ONE_TOO_MANY, values);
    return row?.video_id;
  }

  /** Gives all rooms back, so that other instances need not wait until the leases expire. */
  async close(): Promise<void> {
    const claims = this.#claims();
    this.#leases.clear();
    this.#closed.abort();
    await this.#renewing; // a renewal could revive them
    if (claims.length > 0) await this.#free(claims);
  }

  /** Gives the rooms back in the database. If that fails, their leases expire. */
  async #free(claims: readonly Claim[]): Promise<void> {
    const { connections, health, publish } = this.#parts;
    type Row = { video_id: string; is_open: boolean };
    const freeing = connections.query<Row>("leases", SQL.giveBack, arrays(claims));
    const rows = await health.report("giveBack", freeing).catch(() => []); // already reported
    for (const { video_id, is_open } of rows) if (is_open) publish(video_id, "free");
  }

  #claims(): Claim[] {
    return [...this.#leases].map(([key, { epoch }]) => ({ key, epoch }));
  }

  async #renewAll(): Promise<void> {
    const { clock, leaseMs } = this.#parts;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await pause(clock, leaseMs / RENEWALS_PER_LEASE, signal);
      if (this.#leases.size > 0 && !signal.aborted) await this.#renew();
    }
  }

  /** Renews all leases at once. A room that is missing in the result has another owner. */
  async #renew(): Promise<void> {
    const { clock, connections, databaseClock, health, leaseMs } = this.#parts;
    const claims = this.#claims();
    const sentAt = clock.uptime();
    try {
      const values = [...arrays(claims), leaseMs];
      const renewing = connections.query<{ video_id: string; now: number }>("leases", SQL.renew, values);
      const rows = await health.report("renew", renewing);
      if (rows[0]) databaseClock.hear(rows[0].now);
      const mine = new Set(rows.map(({ video_id }) => video_id));
      for (const claim of claims) {
        if (mine.has(claim.key)) this.prove(claim, sentAt);
        else this.#lose(claim);
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error; // already reported; the leases expire
    }
  }
}

function arrays(claims: readonly Claim[]): [keys: ChatKey[], epochs: number[]] {
  return [claims.map(({ key }) => key), claims.map(({ epoch }) => epoch)];
}
