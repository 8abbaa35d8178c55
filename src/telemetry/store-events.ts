/** The events of the store, in log and metrics. */
import { messageOf } from "../base/error-message.ts";
import { type ChatKey, chatOf } from "../protocol/chat-key.ts";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

/**
 * The operations of every store, by their names in the port, metrics and log. A new one must be listed here
 * to compile.
 */
export const PORT_OPERATIONS = [
  "append",
  "finish",
  "read",
  "readTypes",
  "placeOfAuthor",
  "cursorAt",
  "messagesById",
  "find",
  "getRoom",
  "getChannels",
  "setChannels",
  "hasChannel",
  "setVideo",
  "keep",
  "getFeatured",
  "setFeatured",
  "listRooms",
  "getAccount",
  "probeWrite",
  "age",
  "prune",
  "usedBytes",
  "pruneRooms",
  "tally",
  "tallyRooms",
  "moveCursors",
] as const;

/** The operations of the list of recordings. */
export const RECORDING_OPERATIONS = [
  "listRecordings",
  "addRecording",
  "removeRecording",
  "runRecordings",
] as const;

/** The operations of rooms' ownership that every store reports. */
export const OWNERSHIP_OPERATIONS = ["take", "watchedForMs", "wantedElsewhere", "oneTooMany"] as const;

const STORE_OPERATIONS = [
  ...PORT_OPERATIONS,
  ...RECORDING_OPERATIONS,
  ...OWNERSHIP_OPERATIONS,
  // of rooms' ownership, reported by the store that instances share
  "giveBack",
  "renew",
  "setViewers",
  // with several instances
  "sweep",
  "orphans",
  "release",
] as const;

export type StoreOperation = (typeof STORE_OPERATIONS)[number];

/** A stored row that cannot be read: a message, the end of a room, or a room's totals. */
export type UnreadableRow =
  | { part: "message"; key: ChatKey; cursor: number }
  | { part: "end" | "totals"; key: ChatKey };

/** What becomes of a row that cannot be read. */
const UNREADABLE = {
  message: "stored message unreadable: viewers get a gap in its place",
  end: "end of a room unreadable: it counts as failed",
  totals: "totals unreadable: counted again from the oldest stored message",
} as const;

/** How many rows and rooms are remembered as counted. Then all are forgotten, and count again. */
const MAX_UNREADABLE = 10_000;

/** A failure of these keeps a room from being polled: they are retried until they succeed. */
const BEFORE_A_POLL: ReadonlySet<StoreOperation> = new Set<StoreOperation>([
  "append",
  "messagesById",
  "find",
]);

/** What gauges read of the store whenever metrics are collected. */
interface StoreSource {
  sizeBytes(): Promise<number>;
  /** Undefined for a store without a disk of its own. */
  freeBytes(): Promise<number | undefined>;
  /** Probes the store if it was unavailable. */
  isAvailable(): Promise<boolean>;
  /** Whether it has reached its limit of size. */
  isStoreFull(): boolean;
}

export class StoreEvents {
  readonly #log: Logger;
  readonly #makers: MetricMakers;
  readonly #metrics: ReturnType<typeof createMetrics>;
  readonly #unreadable = new Set<string>();
  #isShared = false;
  /** Undefined until there is a store. */
  #source: StoreSource | undefined;

  constructor(log: Logger, makers: MetricMakers) {
    this.#log = log;
    this.#makers = makers;
    this.#metrics = createMetrics(makers, () => this.#source);
  }

  watch(source: StoreSource): void {
    this.#source = source;
  }

  /** Called at each reading of the row. A message or an end counts once; one message per room is logged. */
  readonly unreadable = (row: UnreadableRow): void => {
    const { part, key, ...where } = row;
    if (part === "totals") this.#metrics.unreadableTotals.inc();
    else if (this.#isFirst(JSON.stringify(row))) this.#metrics.unreadableRows.inc({ part });
    else return;
    if (part !== "message" || this.#isFirst(key))
      this.#log.warn({ ...chatOf(key), ...where }, UNREADABLE[part]);
  };

  /** Whether nothing of this name was met before. */
  #isFirst(name: string): boolean {
    if (this.#unreadable.has(name)) return false;
    if (this.#unreadable.size >= MAX_UNREADABLE) this.#unreadable.clear();
    this.#unreadable.add(name);
    return true;
  }

  /**
   * The named store did not exist: expected on a first start, otherwise perhaps a typing error in the name.
   * `wasEmpty`: there was a file of 0 bytes, such as a backup that failed.
   */
  made(path: string, wasEmpty: boolean): void {
    if (wasEmpty) this.#log.warn({ path }, "the store's file was empty: made a new store in it");
    else this.#log.info({ path }, "made a new store");
  }

  /** A step of the upgrade of an older store. */
  upgraded(toSchema: number, tookMs: number): void {
    this.#log.info({ toSchema, tookMs: Math.round(tookMs) }, "upgraded the store");
  }

  succeeded(operation: StoreOperation, ms: number): void {
    this.#metrics.operations.inc({ kind: operation });
    if (operation === "append") this.#metrics.appendSeconds.observe(ms / 1000);
  }

  failed(operation: StoreOperation, why: string): void {
    this.#metrics.failures.inc({ kind: operation });
    this.#log.debug({ operation, why }, "a store operation failed");
  }

  /** The store fails, or still fails. `reason`: as in `/readyz`; `why` includes advice if there is any. */
  outage(operation: StoreOperation, reason: string, why: string, forMs: number): void {
    const paused = BEFORE_A_POLL.has(operation) ? "polling paused, " : "";
    this.#log.error(
      { operation, reason, why, forMs: Math.round(forMs) },
      `the store failed: ${paused}viewers stay connected, retrying`,
    );
  }

  /** `isDamaged`: a part of it was found damaged. */
  recovered(afterMs: number, isDamaged: boolean): void {
    const line = { afterMs: Math.round(afterMs) };
    if (isDamaged) this.#log.warn(line, "the store works, but a part of it is damaged: restore a backup");
    else this.#log.info(line, "the store works again");
  }

  threadDied(path: string, reason: unknown): void {
    this.#log.error({ err: reason, store: path }, "the store's thread died");
  }

  /** A bug in counting. Messages that are blanked meanwhile will be missing in the totals. */
  uncounted(key: ChatKey, error: unknown): void {
    this.#log.error({ ...chatOf(key), err: error }, "messages were not counted: totals may lack them");
  }

  /** The start waits for an unreachable store, at most for `limitMs`. */
  awaited(why: string, limitMs: number): void {
    this.#log.warn({ why, limitMs }, "the store cannot be reached: the start waits for it");
  }

  /** Several instances share the store. `isNotified`: whether notifications of the others arrive. */
  shared(isNotified: () => boolean): void {
    if (this.#isShared) return;
    this.#isShared = true;
    this.#makers.reading.gauge(
      "relay_store_notify",
      "Whether notifications of other instances arrive; 0 while the database is polled instead",
      [],
      (notify) => notify.set(isNotified() ? 1 : 0),
    );
  }

  /** Whether notifications of other instances arrive. */
  notificationsHeard(isHeard: boolean): void {
    if (isHeard) this.#log.info("listening for notifications of other instances");
    else
      this.#log.warn(
        "PostgreSQL's notifications do not arrive, probably because of a pooler in transaction mode: set RELAY_STORE_LISTEN_URL to the server itself; until then the database is polled four times a second",
      );
  }

  /** `wasReceiving`: whether notifications of other instances arrived until now. */
  notificationsLost(error: unknown, wasReceiving: boolean): void {
    const why = messageOf(error);
    this.#log.warn(
      { why },
      wasReceiving
        ? "LISTEN connection lost: reconnecting"
        : "no connection for LISTEN: check RELAY_STORE_LISTEN_URL if it is set; until one is made the database is polled four times a second",
    );
  }

  lost(why: string): void {
    this.#log.fatal({ why }, "the store is lost: the service stops");
  }

  /** A round of the retention is done. */
  pruned(entries: number): void {
    if (entries > 0) this.#log.info({ entries }, "deleted messages older than the retention");
  }

  /** The store has reached its limit of size. */
  atLimit(usedBytes: number, maxBytes: number): void {
    this.#log.warn(
      { usedBytes: Math.round(usedBytes), maxBytes },
      "the store is full (RELAY_MAX_STORE_BYTES): only recordings open chats, and the oldest rooms are deleted",
    );
  }

  /** A step deleted messages, or rooms without messages, because the store is full. */
  displaced(entries: number): void {
    this.#metrics.displaced.inc(entries);
  }

  /** The store is below its limit again. */
  belowLimit(entries: number): void {
    this.#log.info({ entries }, "the store is below RELAY_MAX_STORE_BYTES again");
  }

  /** `aheadMs`: how far the store's clock is ahead of the upstream's; undefined if that is not known. */
  unwitnessed(now: number, aheadMs: number | undefined): void {
    const clock = new Date(now).toISOString();
    if (aheadMs === undefined)
      this.#log.warn(
        { clock },
        "the retention deletes nothing: no answer of the upstream in the last 24 hours shows that the store's clock is right",
      );
    else
      this.#log.warn(
        { clock, aheadMs: Math.round(aheadMs) },
        "the retention deletes nothing: the store's clock differs from the upstream's by more than an hour: set it",
      );
  }

  /** The database was replaced, or its history changed. */
  lineageAdopted(rooms: number): void {
    this.#log.warn(
      { rooms },
      "the database failed over or was replaced: all rooms moved to new cursors, with their messages",
    );
  }

  cursorsMoved(rooms: number): void {
    this.#log.warn(
      { rooms },
      "RELAY_RESTORED is on: all rooms moved to new cursors; switch it off before the next start",
    );
  }
}

function createMetrics({ reading }: MetricMakers, source: () => StoreSource | undefined) {
  reading.gauge("relay_store_bytes", "Size of the store", [], async (bytes) =>
    bytes.set((await source()?.sizeBytes()) ?? 0),
  );
  reading.gauge(
    "relay_store_free_bytes",
    "Free space on the store's disk; infinite for a store without a disk of its own, NaN while it cannot be read",
    [],
    async (free) => free.set((await source()?.freeBytes()) ?? Number.POSITIVE_INFINITY),
  );
  reading.gauge(
    "relay_store_available",
    "Whether the store works: 0 from a failed operation until one shows that it works again, else 1",
    [],
    async (available) => available.set((await source()?.isAvailable()) ? 1 : 0),
  );
  reading.gauge(
    "relay_store_full",
    "Whether the store has reached RELAY_MAX_STORE_BYTES: only recordings open chats until enough is deleted",
    [],
    (full) => full.set(source()?.isStoreFull() ? 1 : 0),
  );
  return {
    displaced: reading.counter(
      "relay_store_displaced_total",
      "Messages, and rooms without messages, that were deleted because the store had reached RELAY_MAX_STORE_BYTES",
    ),
    operations: reading.counterBy(
      "relay_store_operations_total",
      "Store operations that succeeded, by kind; a read is one page of history, shared by all who wait for it",
      "kind",
      STORE_OPERATIONS,
    ),
    failures: reading.counterBy(
      "relay_store_failures_total",
      "Store operations that failed, by kind",
      "kind",
      STORE_OPERATIONS,
    ),
    appendSeconds: reading.histogram("relay_append_duration_seconds", "Time for a batch to become durable"),
    unreadableTotals: reading.counter(
      "relay_unreadable_totals_total",
      "Stored totals of a room that could not be read; they are counted again from the oldest stored message",
    ),
    unreadableRows: reading.counterBy(
      "relay_unreadable_rows_total",
      "Stored rows that could not be read, by part: viewers get a gap in place of a message, a room without its end counts as failed",
      "part",
      ["message", "end"],
    ),
  };
}
