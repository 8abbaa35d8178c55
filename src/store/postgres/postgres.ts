/**
 * The store that several instances share: a PostgreSQL database. A write to a room is one statement of
 * `postgres-tables.ts` or one function (`append-schema.ts`, `pruning-schema.ts`). This class builds the
 * port's operations from them, and hands committed messages to the room's followers. Recordings, totals and
 * viewer counts have statements in files of their own.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../base/clock.ts";
import type { ClockWitness } from "../../base/clock-witness.ts";
import { Deadline, unlessAborted } from "../../base/deadline.ts";
import { dig, parseJson } from "../../base/json.ts";
import type { FactName, RoomEnd } from "../../protocol/chat.ts";
import type { ChatKey } from "../../protocol/chat-key.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { AuthorSearch, Span } from "../author-blocks.ts";
import { assertOwner } from "../fence.ts";
import { Followers } from "../follow.ts";
import type { TimeKind } from "../message-times.ts";
import type { StoreEngine } from "../observed.ts";
import type {
  Claim,
  FeaturedChoice,
  MessageSearch,
  RoomAccount,
  RoomRecord,
  RoomSummary,
  TypedPart,
} from "../port.ts";
import { isUnavailable, StoreError } from "../store-error.ts";
import type { StoreHealth } from "../store-health.ts";
import { type EncodedMessage, type StoredMessage, saidTimes, wellFormed } from "../stored-message.ts";
import { asShown } from "../stored-video.ts";
import { gapInPlaceOf, isInPlace, isReadable, namesIn, type OnUnreadable, withEnd } from "../strict-rows.ts";
import { ClusterWatch } from "./cluster-watch.ts";
import { columns, fromColumn, toColumn } from "./column-text.ts";
import { DatabaseClock } from "./database-clock.ts";
import { leavePace, paceOf } from "./egress-pace.ts";
import { PostgresOwnership } from "./leases.ts";
import { adoptLineage } from "./lineage.ts";
import { Notifications, type RoomNotice } from "./notifications.ts";
import type { Database } from "./pools.ts";
import { unavailable } from "./postgres-error.ts";
import { PostgresRecordings } from "./postgres-recordings.ts";
import { type FenceRow, type RoomRow, SQL, type SummaryRow, toMessage, toRecord } from "./postgres-tables.ts";
import { Tallies } from "./postgres-tallies.ts";
import { ViewerCounts } from "./viewer-counts.ts";

/** How long a stop waits until the database knows that this instance has no viewers and no rooms any more. */
const CLOSE_LIMIT_MS = 500;

/**
 * The number of messages that one statement of a search examines: few enough to finish within the time limit,
 * so that a search of a long room ends, and lets other reads in between.
 */
const SEARCHED_AT_ONCE = 50_000;

const CONTENT = ["id", "body", "details"] as const;
const TIMES = ["storedAt", "said", "offset"] as const;

export interface PostgresSettings {
  /** How long an owner's lease lasts without a renewal, in milliseconds. */
  leaseMs: number;
  /** How long a room counts as watched after its last viewer, in milliseconds. */
  graceMs: number;
  /** A URL that points to the server directly, if the store's URL points to a pooler. */
  listenUrl: string | undefined;
  /** Whether a failover loses no acknowledged write. */
  isSynchronous: boolean;
}

/** What one statement has deleted, and the room whose messages must be counted before more goes. */
interface Pruned {
  entries: number;
  behind: string | null;
}

interface PostgresParts {
  connections: Database;
  clock: Clock;
  telemetry: Telemetry;
  health: StoreHealth;
  /** Bears out the database's clock. */
  witness: ClockWitness;
  settings: PostgresSettings;
}

export class PostgresStore implements StoreEngine {
  readonly followers: Followers;
  readonly ownership: PostgresOwnership;
  readonly recordings: PostgresRecordings;
  readonly lost = new Promise<never>(() => {});
  readonly #instance = randomUUID();
  readonly #leaseMs: number;
  readonly #connections: Database;
  readonly #onUnreadable: OnUnreadable;
  readonly #tallies: Tallies;
  readonly #clock: Clock;
  readonly #databaseClock: DatabaseClock;
  readonly #witness: ClockWitness;
  readonly #viewerCounts: ViewerCounts;
  readonly #watch: ClusterWatch;
  readonly #notifications: Notifications;
  readonly #writes = new Set<Promise<unknown>>();
  #isClosing = false;
  /** Whether it shares the pace of an egress. */
  #isPaced = false;

  constructor({ connections, clock, telemetry, health, witness, settings }: PostgresParts) {
    const { graceMs, leaseMs, isSynchronous } = settings;
    const instance = this.#instance;
    this.#leaseMs = leaseMs;
    this.#connections = connections;
    this.#onUnreadable = telemetry.store.unreadable;
    this.#tallies = new Tallies(connections, this.#onUnreadable);
    this.#clock = clock;
    this.#databaseClock = new DatabaseClock(clock);
    this.#witness = witness;
    this.followers = new Followers(clock);
    this.recordings = new PostgresRecordings(instance, connections);
    const { followers } = this;
    const isReceiving = () => this.#notifications.isReceiving;
    const shared = { connections, clock, telemetry, health };
    this.#viewerCounts = new ViewerCounts({ ...shared, instance, graceMs });
    const onNotice = (key: ChatKey, notice: RoomNotice) => this.#watch.onNotice(key, notice);
    const onListening = () => this.#watch.hurry();
    this.#notifications = new Notifications({ connections, clock, telemetry, onNotice, onListening });
    this.#watch = new ClusterWatch({ ...shared, followers, leaseMs, isSynchronous, isReceiving });
    const publish = (key: ChatKey, notice: RoomNotice) => this.#notifications.publish(key, notice);
    const parts = {
      ...shared,
      instance,
      leaseMs,
      databaseClock: this.#databaseClock,
      viewerCounts: this.#viewerCounts,
      watch: this.#watch,
      publish,
    };
    this.ownership = new PostgresOwnership(parts);
    telemetry.store.shared(isReceiving);
  }

  paceOf(egress: string) {
    this.#isPaced = true;
    return paceOf(egress, this.#instance, this.#connections);
  }

  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ): Promise<StoredMessage[]> {
    const written = this.#databaseClock.now();
    return this.#write(claim, expectedHead, async () => {
      const { key, epoch } = claim;
      const sentAt = this.#clock.uptime();
      const [row] = await this.#connections.query<FenceRow & { added: number[] | null; times: number[] }>(
        "writes",
        overwriting.length > 0 ? SQL.appendAndOverwrite : SQL.append,
        [
          key,
          epoch,
          expectedHead,
          ...columns(messages, CONTENT),
          toColumn(checkpoint),
          this.#leaseMs,
          written,
          this.#earliest,
          ...columns(
            messages.map((message) => ({ storedAt: message.storedAt, ...saidTimes(message) })),
            TIMES,
          ),
          ...(overwriting.length > 0 ? columns(overwriting, CONTENT) : []),
        ],
      );
      if (!row?.added) return { fencedBy: row };
      this.ownership.prove(claim, sentAt);
      const added: StoredMessage[] = [];
      for (const [i, place] of row.added.entries()) {
        const message = messages[place - 1];
        const at = { cursor: expectedHead + i + 1, storedAt: Number(row.times[i]) };
        if (message) added.push({ ...wellFormed(message), ...at });
      }
      this.followers.added(key, added);
      if (added.length > 0) this.#notifications.publish(key, expectedHead + added.length);
      return { value: added };
    });
  }

  async finish(claim: Claim, end: RoomEnd): Promise<void> {
    await this.#write(claim, undefined, async () => {
      const { key, epoch } = claim;
      const [row] = await this.#connections.query<FenceRow & { outcome: "fenced" | "free" | "final" }>(
        "writes",
        SQL.finish,
        [key, epoch, end.state, JSON.stringify(end)],
      );
      if (!row || row.outcome === "fenced") return { fencedBy: row };
      this.ownership.end(claim);
      if (row.outcome === "final") this.followers.finished(key, row.head, end);
      this.#notifications.publish(key, row.outcome === "final" ? "over" : "free");
      return { value: undefined };
    });
  }

  async read(key: ChatKey, after: number, limit: number): Promise<StoredMessage[]> {
    return this.#messages(key, SQL.read, [key, after, limit]);
  }

  async readTypes(key: ChatKey, { types, after, to, limit, isNewest }: TypedPart): Promise<StoredMessage[]> {
    const sql = isNewest ? SQL.lastOfTypes : SQL.firstOfTypes;
    return this.#messages(key, sql, [key, types, after, to, limit]);
  }

  placeOfAuthor(key: ChatKey, search: AuthorSearch): Promise<Span> {
    return this.#tallies.placeOfAuthor(key, search);
  }

  async cursorAt(key: ChatKey, time: number, kind: TimeKind = "at"): Promise<number | undefined> {
    const sql = { at: SQL.cursorAt, said: SQL.cursorSaid, offset: SQL.cursorOffset }[kind];
    const [row] = await this.#connections.query<{ cursor: number }>("reads", sql, [key, time]);
    return row?.cursor;
  }

  async messagesById(key: ChatKey, ids: readonly string[]): Promise<StoredMessage[]> {
    return this.#messages(key, SQL.messagesById, [key, ids.map(toColumn)]);
  }

  async find(key: ChatKey, by: MessageSearch): Promise<StoredMessage[]> {
    if ("authorId" in by) return this.#findByAuthor(key, by.authorId);
    return this.#messages(key, SQL.byIdPrefix, [key, toColumn(by.idPrefix)]);
  }

  async #findByAuthor(key: ChatKey, authorId: string): Promise<StoredMessage[]> {
    const { floor, head } = (await this.getRoom(key)) ?? { floor: 0, head: 0 };
    const text = toColumn(JSON.stringify(authorId));
    const found: StoredMessage[] = [];
    for (let after = floor; after < head; ) {
      const place = await this.placeOfAuthor(key, { authorId, after, to: head, isNewest: false });
      after = Math.min(place.to, place.after + SEARCHED_AT_ONCE);
      if (after > place.after)
        found.push(...(await this.#messages(key, SQL.byText, [key, text, place.after, after])));
    }
    const isBy = ({ details }: StoredMessage) => dig(parseJson(details), "authorId") === authorId;
    return found.filter((message) => isBy(message) || isInPlace(message));
  }

  async #messages(key: ChatKey, sql: string, values: unknown[]): Promise<StoredMessage[]> {
    const messages = (await this.#connections.query<StoredMessage>("reads", sql, values)).map(toMessage);
    return messages.map((message) => {
      if (isReadable(message)) return message;
      this.#onUnreadable({ part: "message", key, cursor: message.cursor });
      return gapInPlaceOf(message);
    });
  }

  async getRoom(key: ChatKey): Promise<RoomRecord | undefined> {
    const [row] = await this.#connections.query<RoomRow>("reads", SQL.room, [key]);
    return row && toRecord(row, this.#onUnreadable);
  }

  async getChannels(key: ChatKey): Promise<string[]> {
    const [row] = await this.#connections.query<{ channels: string | null }>("reads", SQL.channels, [key]);
    return namesIn(row?.channels);
  }

  async setChannels(key: ChatKey, names: readonly string[]): Promise<void> {
    await this.#begun(this.#connections.query("writes", SQL.setChannels, [key, names.join(" ")]));
  }

  async hasChannel(channel: string): Promise<boolean> {
    const rows = await this.#connections.query("reads", SQL.hasChannel, [channel, asShown(channel)]);
    return rows.length > 0;
  }

  async setVideo(key: ChatKey, video: string): Promise<void> {
    await this.#begun(this.#connections.query("writes", SQL.setVideo, [key, video]));
  }

  async keep(key: ChatKey): Promise<void> {
    await this.#begun(this.#connections.query("writes", SQL.keep, [key]));
  }

  async getFeatured(key: ChatKey): Promise<FeaturedChoice | undefined> {
    const [row] = await this.#connections.query<FeaturedChoice>("reads", SQL.getFeatured, [key]);
    return row && { ...row, messageId: fromColumn(row.messageId) };
  }

  async setFeatured(key: ChatKey, messageId: string | null): Promise<void> {
    const id = messageId === null ? null : toColumn(messageId);
    try {
      await this.#begun(this.#connections.query("writes", SQL.setFeatured, [key, id]));
    } finally {
      this.factChanged(key, "featured"); // it may have been committed even if it failed
    }
  }

  factChanged(key: ChatKey, name: FactName): void {
    this.followers.factChanged(key, name);
    this.#notifications.publish(key, name);
  }

  async listRooms(limit: number): Promise<RoomSummary[]> {
    const rows = await this.#connections.query<SummaryRow>("reads", SQL.listRooms, [limit]);
    return rows.map((row) => withEnd(row, this.#onUnreadable));
  }

  getAccount(key: ChatKey): Promise<RoomAccount | undefined> {
    return this.#tallies.account(key);
  }

  tally(key: ChatKey, limit: number): Promise<number> {
    return this.#begun(this.#tallies.tally(key, limit));
  }

  tallyRooms(after: ChatKey, limit: number): Promise<ChatKey | undefined> {
    return this.#begun(this.#tallies.tallyRooms(after, limit));
  }

  async usedBytes(): Promise<number> {
    const [row] = await this.#connections.query<{ bytes: number }>("reads", SQL.used);
    return row?.bytes ?? 0;
  }

  async pruneRooms(recorded: readonly string[], keptMs: number, limit: number): Promise<number> {
    for (;;) {
      const [row] = await this.#connections.query<Pruned>("writes", SQL.pruneRoom, [
        recorded,
        keptMs,
        limit,
        this.#earliest,
      ]);
      if (!row?.behind) return row?.entries ?? 0;
      await this.tally(row.behind, limit);
    }
  }

  async age() {
    const [row] = await this.#connections.query<{ now: number; oldestAt: number | null }>("reads", SQL.age);
    return { now: row?.now ?? Number.NaN, oldestAt: row?.oldestAt ?? Number.POSITIVE_INFINITY };
  }

  async prune(keptMs: number, limit: number, now?: number): Promise<number> {
    for (let left = limit; ; ) {
      const [row] = await this.#connections.query<Pruned>("writes", SQL.prune, [keptMs, left, now]);
      left -= row?.entries ?? 0;
      if (left === 0 || !row?.behind) return limit - left;
      await this.tally(row.behind, limit);
    }
  }

  async moveCursors(): Promise<number> {
    return await adoptLineage(this.#connections, { isRestored: true, isKept: false }).catch((error) => {
      throw unavailable(error, this.#connections.place);
    });
  }

  async probeWrite(): Promise<void> {
    await this.#connections.query("writes", SQL.touch);
  }

  async sizeBytes(): Promise<number> {
    const [row] = await this.#connections.query<{ bytes: number }>("reads", SQL.size).catch(() => []);
    return row?.bytes ?? 0;
  }

  /** Leases and counts that cannot be given back in time expire by themselves. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.followers.close();
    this.#watch.close();
    this.#tallies.close();
    using limit = new Deadline(this.#clock, CLOSE_LIMIT_MS);
    const closing = Promise.allSettled([
      ...this.#writes,
      this.#viewerCounts.close(),
      this.recordings.leave(),
    ]);
    await unlessAborted(
      closing
        .then(() => this.ownership.close())
        .then(() => (this.#isPaced ? leavePace(this.#instance, this.#connections) : undefined)),
      limit.signal,
    ).catch(() => {});
    this.#notifications.close();
    await this.#connections.close();
  }

  /** The time before which nothing is stored; 0 until the database or the witness was heard. */
  get #earliest(): number {
    return this.#witness.latest(this.#databaseClock.now() ?? 0);
  }

  async #begun<T>(write: Promise<T>): Promise<T> {
    this.#writes.add(write);
    return await write.finally(() => this.#writes.delete(write));
  }

  /**
   * Runs a write under a claim, and resolves to its value. Throws `StoreError` "fenced" with the reason if it
   * was fenced.
   */
  async #write<T>(
    claim: Claim,
    expectedHead: number | undefined,
    act: () => Promise<{ value: T } | { fencedBy: FenceRow | undefined }>,
  ): Promise<T> {
    const { key } = claim;
    try {
      if (!this.#isClosing) this.ownership.leaseOf(claim);
      const outcome = await this.#begun(act());
      if ("value" in outcome) return outcome.value;
      assertOwner(outcome.fencedBy, claim, expectedHead);
      throw new StoreError("fenced", `room ${key}: it was given back, or is finished`);
    } catch (error) {
      if (!isUnavailable(error)) this.ownership.end(claim);
      this.followers.resync(key); // it may have been committed nevertheless
      throw error;
    }
  }
}
