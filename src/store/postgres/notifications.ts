/**
 * The wake-up between instances: who has committed something tells the others which rooms have moved, after the
 * commit (within it, it would make all commits wait for each other), and many rooms at once. It is a hint: what was
 * stored is read, and what is not heard is found by the sweep.
 */

import { randomUUID } from "node:crypto";
import type { Client } from "pg";
import type { Clock } from "../../clock.ts";
import { nap } from "../../deadline.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { Database } from "./connections.ts";
import { SCHEMA } from "./schema.ts";

/** A database may hold several clusters, each in a schema of its own. */
const CHANNEL = `'relay_' || ${SCHEMA}::oid`;
/** PostgreSQL takes less than 8000 bytes. */
const MAX_PAYLOAD = 7000;
const SPACING_MS = 20;
const HEARTBEAT_MS = 3000;
const RECONNECT_MS = { least: 100, most: 3000 };
/** How long a notification may take that proves that they arrive. */
const PROOF_MS = 2000;
const PROOF_AGAIN_MS = 3_600_000;

/** A room's new head, or that it is over, or that nobody owns it any more. */
export type News = number | "over" | "free";

interface NotificationsParts {
  connections: Database;
  clock: Clock;
  telemetry: Telemetry;
  /** A room has moved, on any instance, this one included. */
  heard(videoId: string, news: News): void;
  /** It listens again: what was said meanwhile was not heard. */
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

  /** Whether what other instances say is heard. */
  get isHearing(): boolean {
    return this.#isHearing;
  }

  /** Tells all instances. */
  say(videoId: string, news: News): void {
    this.#unsaid.set(videoId, news);
    if (!this.#isSaying) void this.#say();
  }

  /** Its connection goes with the others. */
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
        .catch(() => {}); // the sweep finds it
      await clock.sleep(SPACING_MS);
    }
    this.#isSaying = false;
  }

  /** Listens for as long as the store is open, on one connection after the other. */
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

  /** Hears until the connection fails or the store is closed. */
  async #hear(client: Client): Promise<void> {
    const { clock, connections, telemetry } = this.#parts;
    const { signal } = this.#closed;
    const gone = new Promise<never>((_, reject) => {
      client.on("error", reject);
      client.on("end", () => reject(new Error("the connection was closed")));
    });
    gone.catch(() => {});
    client.on("notification", ({ payload = "" }) => this.#take(payload));
    // Its own URL need not name the schema.
    const [row] = await connections.query<{ channel: string }>("reads", `select ${CHANNEL} as channel`);
    await client.query(`listen ${row?.channel}`);
    this.#isHearing = await this.#proved();
    telemetry.notificationsHeard(this.#isHearing);
    this.#parts.missed();
    const periodMs = this.#isHearing ? HEARTBEAT_MS : PROOF_AGAIN_MS;
    while (!signal.aborted) {
      await Promise.race([gone, clock.sleep(periodMs, signal).catch(() => {})]);
      if (signal.aborted) return;
      if (!this.#isHearing) throw new Error("try again"); // a pooler in between hears nothing
      await client.query("select 1"); // a connection that is half open is silent
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

/** The texts, joined, in as few payloads as hold them. */
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
