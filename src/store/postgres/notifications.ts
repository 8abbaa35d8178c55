/**
 * Notices between instances, by PostgreSQL's LISTEN and NOTIFY. After a commit, an instance publishes which
 * rooms have changed, many rooms at once. (Within the transaction, a notification would make all commits wait
 * for each other.) A notice is only a hint: its receivers read the store, and the cluster watch finds the
 * changes of lost notices.
 */

import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import type { Clock } from "../../clock.ts";
import { nap } from "../../deadline.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Database } from "./pools.ts";
import { SCHEMA } from "./schema.ts";

/** A database may contain several clusters, each in its own schema. */
const CHANNEL = `'relay_' || ${SCHEMA}::oid`;
/** PostgreSQL accepts less than 8000 bytes. */
const MAX_PAYLOAD = 7000;
const SPACING_MS = 20;
const HEARTBEAT_MS = 3000;
const RECONNECT_MS = { least: 100, most: 3000 };
/**
 * The maximum time of the notification that proves that notifications arrive, and the wait before the next
 * such proof.
 */
const PROOF_MS = 2000;
const PROOF_AGAIN_MS = 3_600_000;

/** A room's new head, or that the room has ended, or that it has no owner any more. */
export type News = number | "over" | "free";

interface NotificationsParts {
  connections: Database;
  clock: Clock;
  telemetry: Telemetry;
  /** A room has changed, on any instance, including this one. */
  heard(videoId: string, news: News): void;
  /** The instance listens again. Notices that were published meanwhile are lost. */
  missed(): void;
}

export class Notifications {
  readonly #parts: NotificationsParts;
  readonly #closed = new AbortController();
  #unsaid = new Map<string, News>();
  #isSaying = false;
  #isHearing = false;
  #proof: { text: string; heard(): void } | undefined;

  constructor(parts: NotificationsParts) {
    this.#parts = parts;
    void this.#listen();
  }

  /** Whether the notices of other instances arrive. */
  get isHearing(): boolean {
    return this.#isHearing;
  }

  /** Publishes the notice to all instances. */
  say(videoId: string, news: News): void {
    this.#unsaid.set(videoId, news);
    if (!this.#isSaying) void this.#say();
  }

  /** The listening connection closes with all others. */
  close(): void {
    this.#closed.abort();
  }

  async #say(): Promise<void> {
    const { connections, clock } = this.#parts;
    this.#isSaying = true;
    while (this.#unsaid.size > 0) {
      const texts = [...this.#unsaid].map(([videoId, news]) => `${videoId}:${news}`);
      this.#unsaid = new Map();
      const payloads = packed(texts);
      await connections
        .query("writes", `select pg_notify(${CHANNEL}, payload) from unnest($1::text[]) payload`, [payloads])
        .catch(() => {}); // the cluster watch finds the change
      await clock.sleep(SPACING_MS);
    }
    this.#isSaying = false;
  }

  /** Listens until the store is closed, and reconnects after each failure. */
  async #listen(): Promise<void> {
    const { clock, connections, telemetry } = this.#parts;
    const { signal } = this.#closed;
    while (!signal.aborted) {
      await connections
        .listening((client) => this.#hear(client))
        .catch((error: unknown) => {
          if (this.#isHearing && !signal.aborted) telemetry.notificationsLost(error);
        });
      this.#isHearing = false;
      const { least, most } = RECONNECT_MS;
      await clock.sleep(least + clock.random() * (most - least), signal).catch(() => {});
    }
  }

  /** Listens on this connection until it fails or the store is closed. */
  async #hear(client: Client): Promise<void> {
    const { clock, connections, telemetry } = this.#parts;
    const { signal } = this.#closed;
    const gone = new Promise<never>((_, reject) => {
      client.on("error", reject);
      client.on("end", () => reject(new Error("the connection was closed")));
    });
    gone.catch(() => {});
    client.on("notification", ({ payload = "" }) => this.#take(payload));
    // By the store's URL: `listenUrl` need not name the schema.
    const [row] = await connections.query<{ channel: string }>("reads", `select ${CHANNEL} as channel`);
    await client.query(`listen ${row?.channel}`);
    this.#isHearing = await this.#proved();
    telemetry.notificationsHeard(this.#isHearing);
    this.#parts.missed();
    const periodMs = this.#isHearing ? HEARTBEAT_MS : PROOF_AGAIN_MS;
    while (!signal.aborted) {
      await Promise.race([gone, clock.sleep(periodMs, signal).catch(() => {})]);
      if (signal.aborted) return;
      if (!this.#isHearing) throw new Error("try again"); // through a pooler, no notification arrives
      await client.query("select 1"); // detects a half-open connection, which is silent
    }
  }

  async #proved(): Promise<boolean> {
    const { clock, connections } = this.#parts;
    const proof = Promise.withResolvers<void>();
    let isHeard = false;
    const heard = () => {
      isHeard = true;
      proof.resolve();
    };
    this.#proof = { text: `proof-${randomUUID()}`, heard };
    await connections.query("writes", `select pg_notify(${CHANNEL}, $1)`, [this.#proof.text]);
    await nap(PROOF_MS, proof.promise, clock, this.#closed.signal);
    this.#proof = undefined;
    return isHeard;
  }

  #take(payload: string): void {
    if (payload === this.#proof?.text) this.#proof.heard();
    for (const text of payload.split(",")) {
      const [, videoId, news] = /^([^:]+):(\d+|over|free)$/.exec(text) ?? [];
      if (videoId && news)
        this.#parts.heard(videoId, news === "free" || news === "over" ? news : Number(news));
    }
  }
}

/** Joins the texts into as few payloads as possible. */
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
