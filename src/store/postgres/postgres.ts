/**
 * The store that several instances share: a PostgreSQL database. What a write does is one statement of `tables.ts` or
 * one function of `schema.ts`; here statements become the port's operations, in order for each room, and what was
 * committed becomes hand-overs to the room's followers.
 */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { dig, parseJson } from "../../json.ts";
import type { RoomEnd } from "../../protocol/chat.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { assertOwner } from "../fence.ts";
import { Followers } from "../follow.ts";
import type { StoreEngine } from "../observed.ts";
import type { Peers } from "../peers.ts";
import {
  type Claim,
  type ClaimedRoom,
  isUnavailable,
  type MessageSearch,
  type RoomRecord,
  type RoomSummary,
  StoreError,
} from "../port.ts";
import type { EncodedMessage, StoredMessage } from "../stored-message.ts";
import type { Connections } from "./connections.ts";
import { paceOf } from "./egress.ts";
import { Interest } from "./interest.ts";
import { PostgresLeases } from "./leases.ts";
import { type News, Notifications } from "./notifications.ts";
import { Sweep } from "./sweep.ts";
import {
  type ClaimedRow,
  type FenceRow,
  type RoomRow,
  SQL,
  type SummaryRow,
  toEnd,
  toMessage,
  toRecord,
  toSummary,
} from "./tables.ts";
import { toColumn } from "./text.ts";

export interface PostgresSettings {
  /** How long an owner's lease lasts without being renewed. */
  leaseMs: number;
  /** How long a room counts as watched after its last viewer. */
  graceMs: number;
  /** A URL that leads to the server directly, where the store's leads to a pooler. */
  listenUrl: string | undefined;
  /** Whether instances wake each other; else each looks four times a second. */
  isNotifying: boolean;
  /** Whether a failover loses nothing that was acknowledged. */
  isSynchronous: boolean;
}

interface PostgresParts {
  connections: Connections;
  clock: Clock;
  telemetry: Telemetry;
  settings: PostgresSettings;
  /** Wall time in place of the database's, for what is stored. Leases always run on the database's clock. */
  wallTime?: () => number;
}

export class PostgresStore implements StoreEngine {
  readonly followers: Followers;
  readonly presence: Interest;
  readonly peers: Peers;
  readonly lost = new Promise<never>(() => {});
  /** Of this start of the process, as rooms name their owner. */
  readonly #instance = randomUUID();
  readonly #connections: Connections;
  readonly #clock: Clock;
  readonly #leases: PostgresLeases;
  readonly #sweep: Sweep;
  readonly #notifications: Notifications | undefined;
  readonly #wallTime: () => number | null;
  /** Of each room with writes under way, the last. */
  readonly #writes = new Map<string, Promise<unknown>>();

  constructor({ connections, clock, telemetry, settings, wallTime }: PostgresParts) {
    const { graceMs, leaseMs, isNotifying, isSynchronous } = settings;
    this.#connections = connections;
    this.#clock = clock;
    this.#wallTime = wallTime ?? (() => null);
    this.#leases = new PostgresLeases(leaseMs, connections, clock);
    this.presence = new Interest(this.#instance, graceMs, connections, clock);
    this.followers = new Followers(clock);
    const isHearing = () => this.#notifications?.isHearing ?? false;
    const { followers } = this;
    this.#sweep = new Sweep({ connections, clock, followers, graceMs, leaseMs, isSynchronous, isHearing });
    if (isNotifying) {
      const heard = (videoId: string, news: News) => this.#sweep.heard(videoId, news);
      const missed = () => this.#sweep.hurry();
      this.#notifications = new Notifications({ connections, clock, telemetry, heard, missed });
    }
    telemetry.storeShared(isHearing);
    this.peers = {
      takeOver: (videoId) => this.#take(SQL.takeOver, [], videoId),
      opened: (videoId, signal) => this.#sweep.opened(videoId, signal),
      freed: (videoId, signal) => this.#sweep.freed(videoId, signal),
      orphans: (signal) => this.#sweep.orphans(signal),
      pace: (egress) => paceOf(egress, this.#instance, connections),
    };
  }

  claim(videoId: string): Promise<ClaimedRoom | undefined> {
    return this.#take(SQL.claim, [this.#wallTime()], videoId);
  }

  #take(statement: string, more: readonly unknown[], videoId: string): Promise<ClaimedRoom | undefined> {
    return this.#inOrder(videoId, async () => {
      await this.presence.written(); // else a room could be released between a viewer's coming and its being known
      const sentAt = this.#clock.monotonic();
      const values = [videoId, this.#instance, this.#leases.leaseMs, ...more];
      const [row] = await this.#connections.query<ClaimedRow>("writes", statement, values);
      if (!row) return undefined;
      const claimed = { ...toRecord(row), lastEnd: toEnd(row.last_detail) };
      return { ...claimed, lease: this.#leases.grant(claimed, sentAt) };
    });
  }

  async abandon(claim: Claim): Promise<void> {
    await this.#write(claim, undefined, async () => {
      const { videoId, epoch } = claim;
      type Row = FenceRow & { outcome: "fenced" | "free" | "gone"; detail: string | null };
      const [row] = await this.#connections.query<Row>("writes", SQL.abandon, [videoId, epoch]);
      if (!row || row.outcome === "fenced") return { fencedBy: row };
      this.#leases.end(claim);
      this.#notifications?.say(videoId, "free");
      const end = row.outcome === "free" && row.is_final ? toEnd(row.detail) : null;
      if (end) this.followers.finished(videoId, row.head, end);
      return { value: undefined };
    });
  }

  append(
    claim: Claim,
    expectedHead: number,
    messages: readonly EncodedMessage[],
    checkpoint: string,
    overwriting: readonly EncodedMessage[] = [],
  ): Promise<StoredMessage[]> {
    return this.#write(claim, expectedHead, async (sentAt) => {
      const { videoId, epoch } = claim;
      const [row] = await this.#connections.query<FenceRow & { added: number[] | null }>(
        "writes",
        overwriting.length > 0 ? SQL.appendAndOverwrite : SQL.append,
        [
          videoId,
          epoch,
          this.#instance,
          expectedHead,
          ...toColumns(messages),
          toColumn(checkpoint),
          this.#wallTime(),
          this.#leases.leaseMs,
          ...(overwriting.length > 0 ? toColumns(overwriting) : []),
        ],
      );
      if (!row?.added) return { fencedBy: row };
      this.#leases.prove(claim, sentAt);
      const added: StoredMessage[] = [];
      for (const place of row.added) {
        const message = messages[place - 1];
        if (message) added.push({ ...wellFormed(message), cursor: expectedHead + added.length + 1 });
      }
      this.followers.added(videoId, added);
      if (added.length > 0) this.#notifications?.say(videoId, expectedHead + added.length);
      return { value: added };
    });
  }

  async finish(claim: Claim, end: RoomEnd): Promise<void> {
    await this.#write(claim, undefined, async () => {
      const { videoId, epoch } = claim;
      const [row] = await this.#connections.query<FenceRow & { outcome: "fenced" | "free" | "final" }>(
        "writes",
        SQL.finish,
        [videoId, epoch, this.#instance, end.state, JSON.stringify(end), this.#wallTime()],
      );
      if (!row || row.outcome === "fenced") return { fencedBy: row };
      this.#leases.end(claim);
      if (row.outcome === "final") this.followers.finished(videoId, row.head, end);
      this.#notifications?.say(videoId, row.outcome === "final" ? "over" : "free");
      return { value: undefined };
    });
  }

  async read(videoId: string, after: number, limit: number): Promise<StoredMessage[]> {
    const rows = await this.#connections.query<StoredMessage>("reads", SQL.read, [videoId, after, limit]);
    return rows.map(toMessage);
  }

  async messagesById(videoId: string, ids: readonly string[]): Promise<StoredMessage[]> {
    const values = [videoId, ids.map(toColumn)];
    return (await this.#connections.query<StoredMessage>("reads", SQL.messagesById, values)).map(toMessage);
  }

  async find(videoId: string, by: MessageSearch): Promise<StoredMessage[]> {
    const [statement, text] =
      "idPrefix" in by ? [SQL.byIdPrefix, by.idPrefix] : [SQL.byText, JSON.stringify(by.authorId)];
    const rows = await this.#connections.query<StoredMessage>("reads", statement, [videoId, toColumn(text)]);
    const found = rows.map(toMessage);
    if ("idPrefix" in by) return found;
    return found.filter(({ details }) => dig(parseJson(details), "authorId") === by.authorId);
  }

  async getRoom(videoId: string): Promise<RoomRecord | undefined> {
    const [row] = await this.#connections.query<RoomRow>("reads", SQL.room, [videoId]);
    return row && withoutEpoch(row);
  }

  async unfinishedRooms(since: number): Promise<RoomRecord[]> {
    const rows = await this.#connections.query<RoomRow>("reads", SQL.unfinishedRooms, [since]);
    return rows.map(withoutEpoch);
  }

  async listRooms(limit: number): Promise<RoomSummary[]> {
    const rows = await this.#connections.query<SummaryRow>("reads", SQL.listRooms, [limit]);
    return rows.map(toSummary);
  }

  async prune(before: number, limit: number): Promise<number> {
    const values = [before, limit, this.#wallTime()];
    const [row] = await this.#connections.query<{ entries: number }>("writes", SQL.prune, values);
    return row?.entries ?? 0;
  }

  async moveCursors(): Promise<number> {
    const [row] = await this.#connections.query<{ rooms: number }>("writes", SQL.move, [this.#wallTime()]);
    return row?.rooms ?? 0;
  }

  async probeWrite(): Promise<void> {
    await this.#connections.query("writes", SQL.touch);
  }

  async sizeBytes(): Promise<number> {
    const [row] = await this.#connections.query<{ bytes: number }>("reads", SQL.size).catch(() => []);
    return row?.bytes ?? 0;
  }

  async close(): Promise<void> {
    this.followers.close();
    this.#sweep.close();
    await this.presence.close();
    while (this.#writes.size > 0) await Promise.allSettled(this.#writes.values());
    await this.#leases.close();
    await this.#notifications?.close();
    await this.#connections.close();
  }

  /** A write under a claim: what it resolves to, unless it was fenced, or a room as it stands fenced it. */
  #write<T>(
    claim: Claim,
    expectedHead: number | undefined,
    act: (sentAt: number) => Promise<{ value: T } | { fencedBy: FenceRow | undefined }>,
  ): Promise<T> {
    const { videoId } = claim;
    return this.#inOrder(videoId, async (sentAt) => {
      try {
        const outcome = await act(sentAt);
        if ("value" in outcome) return outcome.value;
        const { fencedBy } = outcome;
        assertOwner(
          fencedBy && { ...fencedBy, videoId, end: fencedBy.is_final || null },
          claim,
          expectedHead,
        );
        throw new StoreError("fenced", `room ${videoId}: it has just changed`);
      } catch (error) {
        if (!isUnavailable(error)) this.#leases.end(claim);
        this.followers.resync(videoId); // it may have been committed all the same
        throw error;
      }
    });
  }

  /** Writes of one room come to the database in the order of their calls. */
  async #inOrder<T>(videoId: string, act: (sentAt: number) => Promise<T>): Promise<T> {
    const before = this.#writes.get(videoId);
    const writing = (async () => {
      await before?.catch(() => {});
      return await act(this.#clock.monotonic());
    })();
    this.#writes.set(videoId, writing);
    try {
      return await writing;
    } finally {
      if (this.#writes.get(videoId) === writing) this.#writes.delete(videoId);
    }
  }
}

function toColumns(messages: readonly EncodedMessage[]): string[][] {
  return (["id", "body", "details"] as const).map((key) => messages.map((message) => toColumn(message[key])));
}

function withoutEpoch(row: RoomRow): RoomRecord {
  const { epoch: _, ...record } = toRecord(row);
  return record;
}

/** As it is read later: so that what is handed over to followers is the same. */
function wellFormed({ id, body, details }: EncodedMessage): EncodedMessage {
  return { id: id.toWellFormed(), body: body.toWellFormed(), details: details.toWellFormed() };
}
