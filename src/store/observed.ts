/**
 * The store as everyone uses it: an engine whose every operation is reported to the store's health. Followers read
 * through it too, so an instance that only follows sees its store fail.
 */
import type { Clock } from "../clock.ts";
import { Deadline, unlessAborted } from "../deadline.ts";
import type { SharedPace } from "../shared-pace.ts";
import type { StoreOperation } from "../telemetry/metrics.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Followers } from "./follow.ts";
import { StoreHealth } from "./health.ts";
import type { Ownership } from "./ownership.ts";
import type { Restoration, Retention, Store, StoreError } from "./port.ts";

/** How long readiness waits for the write probe: SQLite takes ten seconds to find some failures. */
const PROBE_LIMIT_MS = 2000;

/** What a store implements: all of the port but following, for which it reports its commits to `followers`. */
export interface StoreEngine extends Omit<Store, "follow">, Retention, Restoration {
  readonly followers: Followers;
  readonly ownership: Ownership;
  /** The pace of an egress that instances share by its name; absent where one instance has the store to itself. */
  paceOf?(egress: string): SharedPace;
  /** Free space where the store lies; absent where it has no disk of its own. */
  freeBytes?(): Promise<number>;
  /** Resolves if the store is lost for good, to an error whose message is one line that says what to do. */
  readonly lost: Promise<StoreError>;
}

/** What is reported, each operation under its own name. */
const OPERATIONS = [
  "append",
  "finish",
  "read",
  "messagesById",
  "find",
  "getRoom",
  "listRooms",
  "probeWrite",
  "prune",
  "moveCursors",
] as const;
const OWNERSHIP_OPERATIONS = ["take", "watchedForMs", "wantedElsewhere", "oneTooMany"] as const;

export interface ObservedStore extends Store, Retention, Restoration {
  readonly health: StoreHealth;
  readonly ownership: Ownership;
  /** As of the engine. The process has to stop: what it reads from now on it cannot store. */
  readonly lost: Promise<StoreError>;
  /** Whether new viewers can be served. A full disk may have room for a probe and none for messages: both must do. */
  isReady(): Promise<boolean>;
  /** See `StoreEngine.paceOf`. */
  paceOf(egress: string): SharedPace | undefined;
}

export function observed(
  engine: StoreEngine,
  clock: Clock,
  telemetry: Telemetry,
  health = new StoreHealth(clock, telemetry),
): ObservedStore {
  telemetry.sources.store = {
    sizeBytes: () => engine.sizeBytes(),
    freeBytes: async () => engine.freeBytes?.(),
    isAvailable: () => health.isAvailable,
  };
  const { ownership, followers } = engine;
  const operations = reported(engine, OPERATIONS, health);
  return {
    ...operations,
    health,
    ownership: {
      ...reported(ownership, OWNERSHIP_OPERATIONS, health),
      freed: (videoId, signal) => ownership.freed(videoId, signal),
      orphans: (graceMs, signal) => ownership.orphans(graceMs, signal),
      setViewers: (videoId, viewers) => ownership.setViewers(videoId, viewers),
    },
    lost: engine.lost.then((error) => {
      health.lose(error.message);
      return error;
    }),
    follow: (videoId, after, signal) => followers.follow(operations, videoId, after, signal),
    isReady: async () => {
      using limit = new Deadline(clock, PROBE_LIMIT_MS);
      try {
        await unlessAborted(operations.probeWrite(), limit.signal);
      } catch {
        // A failure was reported as any operation's is.
        if (limit.signal.aborted) health.failed("probeWrite", `no answer within ${PROBE_LIMIT_MS} ms`);
        return false;
      }
      return health.isAvailable && !health.isBlocked;
    },
    paceOf: (egress) => engine.paceOf?.(egress),
    sizeBytes: () => engine.sizeBytes(),
    close: () => engine.close(),
  };
}

/** The operations of those names, the outcome of each call reported. */
function reported<T extends object, Name extends keyof T & StoreOperation>(
  of: T,
  names: readonly Name[],
  health: StoreHealth,
): Pick<T, Name> {
  const operations = names.map((name) => {
    const operation = of[name] as (...args: unknown[]) => Promise<unknown>;
    return [name, (...args: unknown[]) => health.report(name, operation.apply(of, args))];
  });
  return Object.fromEntries(operations);
}
