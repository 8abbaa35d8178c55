/**
 * The counts of each room's viewers by instance, in the table `interest`. An instance writes a row when its
 * first viewer comes and when its last one leaves, and renews it meanwhile. The rows of a crashed instance
 * expire.
 */
import { type Clock, pause } from "../../base/clock.ts";
import type { ChatKey } from "../../protocol/chat-key.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isUnavailable } from "../store-error.ts";
import type { StoreHealth } from "../store-health.ts";
import type { Database } from "./pools.ts";

const SHORTEST_PERIOD_MS = 200;
const LONGEST_PERIOD_MS = 10_000;

export const WRITE = `insert into interest as i (video_id, instance, viewers, until)
  select v, $2, n, clock_timestamp() + keep * interval '1 ms'
  from unnest($1::text[], $3::int[], $4::float8[]) as w (v, n, keep)
  on conflict (video_id, instance) do update set viewers = excluded.viewers,
    until = case when excluded.viewers = 0 then excluded.until else greatest(i.until, excluded.until) end`;

export const WATCHED_FOR = `select coalesce(extract(epoch from max(until) - clock_timestamp()) * 1000, 0)::float8 as ms
  from interest where video_id = $1 and until > clock_timestamp()`;

export const WANTED_ELSEWHERE = `select distinct video_id from interest
  where video_id = any($1) and instance <> $2 and viewers > $3 and until > clock_timestamp()`;

interface ViewerCountsParts {
  /** The id of this process. */
  instance: string;
  /** How long a room counts as watched after its last viewer, in milliseconds. */
  graceMs: number;
  connections: Database;
  health: StoreHealth;
  clock: Clock;
  telemetry: Telemetry;
}

export class ViewerCounts {
  readonly #parts: ViewerCountsParts;
  readonly #periodMs: number;
  readonly #viewers = new Map<ChatKey, number>();
  /** Counts that are not written yet, and when they were set, on the monotonic clock. */
  #changed = new Map<ChatKey, { viewers: number; at: number }>();
  #writing: Promise<void> | undefined;
  readonly #closed = new AbortController();

  constructor(parts: ViewerCountsParts) {
    this.#parts = parts;
    this.#periodMs = Math.min(LONGEST_PERIOD_MS, Math.max(SHORTEST_PERIOD_MS, parts.graceMs / 3));
    void this.#renew();
  }

  /** See `Ownership.setViewers`. */
  setViewers(key: ChatKey, viewers: number): void {
    const before = this.#viewers.get(key) ?? 0;
    if (viewers > 0) this.#viewers.set(key, viewers);
    else this.#viewers.delete(key);
    if (viewers > 0 === before > 0) return; // the next renewal writes the new number
    this.#changed.set(key, this.#setNow(viewers));
    this.#writing ??= this.#write();
  }

  #setNow(viewers: number) {
    return { viewers, at: this.#parts.clock.monotonic() };
  }

  /** Resolves when all earlier changes were written, or could not be. */
  async written(): Promise<void> {
    await this.#writing;
  }

  /** See `Ownership.watchedForMs`. */
  async watchedForMs(key: ChatKey): Promise<number> {
    await this.written();
    // After an outage, the other instances need time to renew their counts.
    const { clock, connections } = this.#parts;
    const doubtMs = connections.lostAt + 2 * this.#periodMs - clock.monotonic();
    if (doubtMs > 0) return doubtMs;
    const [row] = await connections.query<{ ms: number }>("reads", WATCHED_FOR, [key]);
    return row?.ms ?? 0;
  }

  /** See `Ownership.wantedElsewhere`. */
  async wantedElsewhere(keys: readonly ChatKey[], beyond = 0): Promise<readonly ChatKey[]> {
    const { connections, instance } = this.#parts;
    const values = [keys, instance, beyond];
    const rows = await connections.query<{ video_id: string }>("reads", WANTED_ELSEWHERE, values);
    return rows.map(({ video_id }) => video_id);
  }

  async close(): Promise<void> {
    for (const key of this.#viewers.keys()) this.setViewers(key, 0);
    this.#closed.abort();
    await this.#writing;
    if (this.#changed.size > 0) await this.#write();
  }

  async #renew(): Promise<void> {
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await pause(this.#parts.clock, this.#periodMs, signal);
      if (signal.aborted) continue;
      for (const [key, viewers] of this.#viewers) this.#changed.set(key, this.#setNow(viewers));
      if (this.#changed.size === 0) continue;
      this.#writing ??= this.#write();
      await this.#writing;
    }
  }

  /**
   * Writes all changes, including those that come meanwhile. After a failure, the next renewal writes them,
   * or `close`.
   */
  async #write(): Promise<void> {
    const { clock, connections, graceMs, health, instance, telemetry } = this.#parts;
    let changed: [ChatKey, { viewers: number; at: number }][] = [];
    try {
      while (this.#changed.size > 0) {
        changed = [...this.#changed].sort(([one], [other]) => (one < other ? -1 : 1)); // no deadlocks
        this.#changed = new Map();
        const keepMs = Math.max(graceMs, 3 * this.#periodMs);
        const graceLeft = (at: number) => Math.max(0, at + graceMs - clock.monotonic());
        const writing = connections.query("writes", WRITE, [
          changed.map(([key]) => key),
          instance,
          changed.map(([, { viewers }]) => viewers),
          changed.map(([, { viewers, at }]) => (viewers > 0 ? keepMs : graceLeft(at))),
        ]);
        await health.report("setViewers", writing);
      }
    } catch (error) {
      this.#changed = new Map([...changed, ...this.#changed]);
      if (!isUnavailable(error)) telemetry.service.taskFailed("counts of viewers", error);
    } finally {
      this.#writing = undefined;
    }
  }
}
