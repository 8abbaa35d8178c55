/**
 * The store that the service uses: an engine whose reads and writes report their outcome to the store's
 * health. The exceptions are `close`, `sizeBytes`, `freeBytes`, the statements of `paceOf`, and `freed`,
 * `orphans` and `setViewers` of the ownership; a shared store reports the last two itself. Followers read
 * through it too, so an instance that only follows notices a failing store.
 */
import type { Clock } from "../base/clock.ts";
import { Deadline, unlessAborted } from "../base/deadline.ts";
import type { SharedPace } from "../base/shared-pace.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import {
  OWNERSHIP_OPERATIONS,
  PORT_OPERATIONS,
  RECORDING_OPERATIONS,
  type StoreOperation,
} from "../telemetry/store-events.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { followFact } from "./facts.ts";
import type { Followers } from "./follow.ts";
import type { Ownership } from "./ownership.ts";
import type { Restoration, Retention, SizeLimited, Store, Tallying } from "./port.ts";
import type { RecordingList } from "./recording-list.ts";
import { StoreError } from "./store-error.ts";
import { StoreHealth } from "./store-health.ts";
import { Tallier } from "./tallier.ts";

/** How long readiness waits for the write probe. SQLite takes ten seconds to detect some failures. */
const PROBE_LIMIT_MS = 2000;
/** Free space, in bytes, that is enough for a room's first messages, which are written twice. */
const ENOUGH_BYTES = 4 * 2 ** 20;

/**
 * The interface that each store implements: the port without `follow` and `fact`; the engine reports its
 * commits to `followers` instead.
 */
export interface StoreEngine
  extends Omit<Store, "follow" | "fact">,
    Retention,
    SizeLimited,
    Tallying,
    Restoration {
  readonly followers: Followers;
  readonly ownership: Ownership;
  readonly recordings: RecordingList;
  /**
   * The pace of an egress that instances share by its name; undefined if only one instance uses the store.
   */
  paceOf?(egress: string): SharedPace;
  /** The free space on the store's disk, in bytes; undefined if it has none of its own. */
  freeBytes?(): Promise<number | undefined>;
  /** Resolves if the store is lost for good. The error's message is one line that says what to do. */
  readonly lost: Promise<StoreError>;
}

/** Where the store is, without a password, and the version of its schema. */
export interface StoreIdentity {
  place: string;
  schema: number;
}

/** `getAccount` counts the newest messages first, as `Tallier.account` does. */
export interface ObservedStore extends Store, Retention, SizeLimited, Tallying, Restoration {
  readonly health: StoreHealth;
  readonly ownership: Ownership;
  readonly recordings: RecordingList;
  /**
   * As in the engine. If it resolves, the process must stop, because the store can no longer keep messages.
   */
  readonly lost: Promise<StoreError>;
  /**
   * Whether the instance can serve new viewers. A full disk may have space for a probe and none for messages,
   * so both must work.
   */
  isReady(): Promise<boolean>;
  /** See `StoreEngine.paceOf`. */
  paceOf(egress: string): SharedPace | undefined;
}

/** Resolves to whether a write works now. Its report ends an outage that no room's write would end. */
function probeOf({ probeWrite }: Pick<StoreEngine, "probeWrite">, health: StoreHealth, clock: Clock) {
  return async () => {
    // On a disk that was full, a small write proves nothing.
    const wasDiskFull = !health.isAvailable && health.trouble === "the disk is full";
    using limit = new Deadline(clock, PROBE_LIMIT_MS);
    try {
      await unlessAborted(probeWrite(wasDiskFull ? ENOUGH_BYTES : 0), limit.signal);
      return true;
    } catch {
      // `probeWrite` itself has already reported a failure.
      if (limit.signal.aborted)
        health.failed("probeWrite", `no answer within ${PROBE_LIMIT_MS} ms`, "it does not answer");
      return false;
    }
  };
}

export function observed(
  engine: StoreEngine,
  clock: Clock,
  telemetry: Telemetry,
  health = new StoreHealth(clock, telemetry),
): ObservedStore {
  const { ownership, followers } = engine;
  const operations = reported(engine, PORT_OPERATIONS, health);
  const probe = probeOf(operations, health, clock);
  telemetry.store.watch({
    sizeBytes: () => engine.sizeBytes(),
    // A disk that fails must not cost the other metrics.
    freeBytes: async () => engine.freeBytes?.().catch(() => Number.NaN),
    isAvailable: async () => health.isAvailable || ((await probe()) && health.isAvailable),
    isStoreFull: () => health.isStoreFull,
  });
  const tallier = new Tallier(operations, clock, telemetry);
  /**
   * Blanking removes authors and amounts, so the messages are counted first. If the store fails then, the
   * append fails, too. Any other failure is a bug in counting, which must not stop the chat.
   */
  const countFirst = async (key: ChatKey) => {
    try {
      await tallier.catchUp(key);
    } catch (error) {
      if (error instanceof StoreError && error.trouble !== "it failed") throw error;
      telemetry.store.uncounted(key, error);
    }
  };
  return {
    ...operations,
    append: async (claim, expectedHead, messages, checkpoint, overwriting = []) => {
      if (overwriting.length > 0) await countFirst(claim.key);
      const added = await operations.append(claim, expectedHead, messages, checkpoint, overwriting);
      tallier.appended(claim.key, expectedHead, expectedHead + added.length);
      return added;
    },
    finish: async (claim, end) => {
      await operations.finish(claim, end);
      tallier.countSoon(claim.key);
    },
    getAccount: (key) => tallier.account(key),
    health,
    ownership: {
      ...reported(ownership, OWNERSHIP_OPERATIONS, health),
      freed: (key, signal) => ownership.freed(key, signal),
      orphans: (graceMs, signal) => ownership.orphans(graceMs, signal),
      setViewers: (key, viewers) => ownership.setViewers(key, viewers),
    },
    recordings: reported(engine.recordings, RECORDING_OPERATIONS, health),
    lost: engine.lost.then((error) => {
      health.reportLost(error.message);
      return error;
    }),
    follow: (key, after, signal) => followers.follow(operations, key, after, signal),
    fact: (key, name, signal) => followFact({ store: operations, followers, clock }, key, name, signal),
    factChanged: (key, name) => engine.factChanged(key, name),
    isReady: async () => (await probe()) && health.isAvailable && !health.isBlocked,
    paceOf: (egress) => engine.paceOf?.(egress),
    sizeBytes: () => engine.sizeBytes(),
    close: () => {
      tallier.close();
      return engine.close();
    },
  };
}

/** These operations, with a report of each outcome. */
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
