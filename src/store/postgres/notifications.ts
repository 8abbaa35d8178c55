/**
 * Notices between instances, by PostgreSQL's LISTEN and NOTIFY. After a commit, an instance publishes which
 * rooms have changed, many rooms at once. (Within the transaction, a notification would make all commits wait
 * for each other.) A notice is only a hint: its receivers read the store, and the cluster watch finds the
 * changes of lost notices.
 */

import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import { type Clock, nap, pause } from "../../base/clock.ts";
import { FACT_NAMES, type FactName } from "../../protocol/chat.ts";
import type { ChatKey } from "../../protocol/chat-key.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Database } from "./pools.ts";
import { SCHEMA } from "./postgres-schema.ts";

/** A database may contain several clusters, each in its own schema. */
const CHANNEL = `'relay_' || ${SCHEMA}::oid`;
export const CHANNEL_NAME = `select ${CHANNEL} as channel`;
/** PostgreSQL accepts less than 8000 bytes. */
const MAX_PAYLOAD = 7000;
const SPACING_MS = 20;
const HEARTBEAT_MS = 3000;
const RECONNECT_MS = { minimum: 100, maximum: 3000 };
/**
 * The maximum time of the notification that proves that notifications arrive, and the wait before the next
 * such proof.
 */
const PROOF_MS = 2000;
const PROOF_AGAIN_MS = 3_600_000;

/** A room's new head, or that it has ended, or that it has no owner any more; or a fact that has changed. */
export type RoomNotice = number | "over" | "free" | FactName;

const NOTICE = new RegExp(`^([^:]+):(?:(\\d+)|(over|free|${FACT_NAMES.join("|")}))$`);

interface NotificationsParts {
  connections: Database;
  clock: Clock;
  telemetry: Telemetry;
  /** A room has changed, on any instance, including this one. */
  onNotice(key: ChatKey, notice: RoomNotice): void;
  /** The instance listens again. Notices that were published meanwhile are lost. */
  onListening(): void;
}

export class Notifications {
  readonly #parts: NotificationsParts;
  readonly #closed = new AbortController();
  /** The latest of each room, and apart from it the facts that changed. */
  #unpublished = new Map<string, string>();
  #isPublishing = false;
  #isReceiving = false;
  /** Whether the log says that there is no connection, or that no notices arrive on it. */
  #isLossTold = false;
  #isDeafnessTold = false;
  #proof: { text: string; onArrival(): void } | undefined;

  constructor(parts: NotificationsParts) {
    this.#parts = parts;
    void this.#listen();
  }

  /** Whether the notices of other instances arrive. */
  get isReceiving(): boolean {
    return this.#isReceiving;
  }

  publish(key: ChatKey, notice: RoomNotice): void {
    const text = `${key}:${notice}`;
    const isOfFact = FACT_NAMES.some((name) => name === notice);
    this.#unpublished.set(isOfFact ? text : key, text);
    if (!this.#isPublishing) void this.#publishAll();
  }

  /** The listening connection closes with all others. */
  close(): void {
    this.#closed.abort();
  }

  async #publishAll(): Promise<void> {
    const { connections, clock } = this.#parts;
    this.#isPublishing = true;
    while (this.#unpublished.size > 0) {
      const texts = [...this.#unpublished.values()];
      this.#unpublished = new Map();
      const payloads = packed(texts);
      await connections
        .query("writes", `select pg_notify(${CHANNEL}, payload) from unnest($1::text[]) payload`, [payloads])
        .catch(() => {}); // the cluster watch finds the change
      await clock.sleep(SPACING_MS);
    }
    this.#isPublishing = false;
  }

  /** Listens until the store is closed, and reconnects after each failure. */
  async #listen(): Promise<void> {
    const { clock, connections, telemetry } = this.#parts;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await connections
        .listening((client) => this.#receive(client))
        .catch((error: unknown) => {
          if (this.#isLossTold || this.#isDeafnessTold || signal.aborted) return;
          this.#isLossTold = true;
          telemetry.store.notificationsLost(error, this.#isReceiving);
        });
      this.#isReceiving = false;
      const { minimum, maximum } = RECONNECT_MS;
      await pause(clock, minimum + clock.random() * (maximum - minimum), signal);
    }
  }

  /** Listens on this connection. Rejects when it fails or the store is closed. */
  async #receive(client: Client): Promise<void> {
    const { clock, connections, telemetry } = this.#parts;
    const { signal } = this.#closed;
    const gone = new AbortController();
    client.on("error", (error) => gone.abort(error));
    client.on("end", () => gone.abort(new Error("the connection was closed")));
    const over = AbortSignal.any([signal, gone.signal]);
    client.on("notification", ({ payload = "" }) => this.#take(payload));
    // By the store's URL: `listenUrl` need not name the schema.
    const [row] = await connections.query<{ channel: string }>("reads", CHANNEL_NAME);
    await client.query(`listen ${row?.channel}`);
    this.#isReceiving = await this.#proved(client);
    this.#isLossTold = false;
    if (this.#isReceiving || !this.#isDeafnessTold) telemetry.store.notificationsHeard(this.#isReceiving);
    this.#isDeafnessTold = !this.#isReceiving;
    this.#parts.onListening();
    const periodMs = this.#isReceiving ? HEARTBEAT_MS : PROOF_AGAIN_MS;
    for (;;) {
      await clock.sleep(periodMs, over);
      if (!this.#isReceiving) throw new Error("try again"); // through a pooler, no notification arrives
      await client.query("select 1"); // detects a half-open connection, which is silent
    }
  }

  async #proved(client: Client): Promise<boolean> {
    const { clock, connections } = this.#parts;
    const proof = Promise.withResolvers<void>();
    let hasArrived = false;
    const onArrival = () => {
      hasArrived = true;
      proof.resolve();
    };
    this.#proof = { text: `proof-${randomUUID()}`, onArrival };
    await connections.query("writes", `select pg_notify(${CHANNEL}, $1)`, [this.#proof.text]);
    await nap(clock, PROOF_MS, proof.promise, this.#closed.signal);
    // It may have arrived while this process was frozen: it comes before this answer.
    if (!hasArrived) await client.query("select 1");
    this.#proof = undefined;
    return hasArrived;
  }

  #take(payload: string): void {
    if (payload === this.#proof?.text) this.#proof.onArrival();
    for (const text of payload.split(",")) {
      const [, key, head, word] = NOTICE.exec(text) ?? [];
      if (key) this.#parts.onNotice(key, (word as RoomNotice | undefined) ?? Number(head));
    }
  }
}

/** Joins the texts, in their order, into payloads that PostgreSQL accepts. */
function packed(texts: readonly string[]): string[] {
  const payloads: string[] = [];
  let last = "";
  for (const text of texts) {
    if (last.length + text.length >= MAX_PAYLOAD) {
      payloads.push(last);
      last = "";
    }
    last += last === "" ? text : `,${text}`;
  }
  return [...payloads, last];
}
