/**
 * The leases of this instance on the database's clock. A lease is proved for as long as it surely holds: from the
 * moment before the statement that set it was sent, on this instance's clock that never jumps. An instance that was
 * frozen, or cannot reach the database, so finds by itself that it may own nothing any more.
 */
import type { Clock } from "../../clock.ts";
import { type Claim, isUnavailable, type Lease, StoreError } from "../port.ts";
import type { Connections } from "./connections.ts";

/** Of a lease, what is not used: for a call that goes out just before its end. */
const MARGIN_MS = 2000;
const RENEWALS_PER_LEASE = 3;

const RENEW = `update room r set lease_until = clock_timestamp() + $3 * interval '1 ms'
  from unnest($1::text[], $2::bigint[]) as mine (video_id, epoch)
  where r.video_id = mine.video_id and r.epoch = mine.epoch and (r.final_at is null or r.claimed_at is not null)
  returning r.video_id`;

const FREE = `update room r set lease_until = 'epoch', owner = null
  from unnest($1::text[], $2::bigint[]) as mine (video_id, epoch)
  where r.video_id = mine.video_id and r.epoch = mine.epoch`;

interface Held {
  epoch: number;
  provenUntil: number;
}

export class PostgresLeases {
  readonly leaseMs: number;
  readonly #provenMs: number;
  readonly #connections: Connections;
  readonly #clock: Clock;
  readonly #held = new Map<string, Held>();
  readonly #closed = new AbortController();
  readonly #renewing: Promise<void>;

  constructor(leaseMs: number, connections: Connections, clock: Clock) {
    this.leaseMs = leaseMs;
    this.#provenMs = leaseMs - Math.min(MARGIN_MS, leaseMs / 5);
    this.#connections = connections;
    this.#clock = clock;
    this.#renewing = this.#renewAll();
  }

  /** `sentAt`: monotonic time before the claim was sent. */
  grant({ videoId, epoch }: Claim, sentAt: number): Lease {
    this.#held.set(videoId, { epoch, provenUntil: sentAt + this.#provenMs });
    return {
      assertHeld: () => {
        const held = this.#held.get(videoId);
        if (held?.epoch !== epoch) {
          throw new StoreError("fenced", `room ${videoId}: epoch ${epoch} is no longer its owner's`);
        }
        if (this.#clock.monotonic() >= held.provenUntil) {
          throw new StoreError("unavailable", `room ${videoId}: its lease cannot be proved`);
        }
      },
    };
  }

  /** A statement that set the lease has come back; it was sent at that time. */
  prove({ videoId, epoch }: Claim, sentAt: number): void {
    const held = this.#held.get(videoId);
    if (held?.epoch === epoch) held.provenUntil = Math.max(held.provenUntil, sentAt + this.#provenMs);
  }

  end({ videoId, epoch }: Claim): void {
    if (this.#held.get(videoId)?.epoch === epoch) this.#held.delete(videoId);
  }

  /** Whoever wants the rooms need not wait until the leases run out. */
  async close(): Promise<void> {
    const claims = this.#claims();
    this.#held.clear();
    this.#closed.abort();
    await this.#renewing; // it would revive them
    if (claims.length > 0) await this.#connections.query("writes", FREE, arrays(claims)).catch(() => {});
  }

  #claims(): Claim[] {
    return [...this.#held].map(([videoId, { epoch }]) => ({ videoId, epoch }));
  }

  async #renewAll(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await this.#clock.sleep(this.leaseMs / RENEWALS_PER_LEASE, signal).catch(() => {});
      if (this.#held.size > 0 && !signal.aborted) await this.#renew();
    }
  }

  /** All at once. What does not come back has another owner. */
  async #renew(): Promise<void> {
    const claims = this.#claims();
    const sentAt = this.#clock.monotonic();
    try {
      const values = [...arrays(claims), this.leaseMs];
      const rows = await this.#connections.query<{ video_id: string }>("writes", RENEW, values);
      const mine = new Set(rows.map(({ video_id }) => video_id));
      for (const claim of claims) {
        if (mine.has(claim.videoId)) this.prove(claim, sentAt);
        else this.end(claim);
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error; // one that is: the leases run out
    }
  }
}

function arrays(claims: readonly Claim[]): [videoIds: string[], epochs: number[]] {
  return [claims.map(({ videoId }) => videoId), claims.map(({ epoch }) => epoch)];
}
