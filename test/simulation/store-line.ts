/**
 * One instance's line to the shared store, in virtual time: latency for each statement, a line that is cut or
 * silent, writes that are done without an answer, notifications that are lost. Statements that the instance
 * sent before its death are still executed.
 */
import { EventEmitter } from "node:events";
import type { Client } from "pg";
import type { Random } from "../../simulator/random.ts";
import type { Database } from "../../src/store/postgres/pools.ts";
import { SQL } from "../../src/store/postgres/postgres-tables.ts";
import { StoreError } from "../../src/store/store-error.ts";
import type { Journal } from "../harness/journal.ts";
import type { MortalClock, Scheduler } from "../harness/scheduler.ts";
import type { SharedStore } from "./shared-store.ts";

/** The usual round trip of a statement in milliseconds: a minimum, plus at most the jitter. */
const USUAL_LATENCY = { leastMs: 0.5, jitterMs: 6 };
/** Time limit of an answer, and of a new connection. */
const STATEMENT_LIMIT_MS = 5000;
const CONNECT_LIMIT_MS = 3000;
/** A failed statement is retried within this time. */
const WELL_AFTER_MS = 1000;
const PLACE = "postgres://simulated/";

interface StoreLineParts {
  store: SharedStore;
  scheduler: Scheduler;
  random: Random;
  journal: Journal;
  /** No notification ever arrives, as behind a pooler in transaction mode. */
  isDeaf: boolean;
}

export class StoreLine {
  latency: Readonly<typeof USUAL_LATENCY> = USUAL_LATENCY;
  /** Until this virtual time, no notifications arrive (milliseconds). */
  deafUntil = 0;
  /** The time of the last failed statement. */
  failedAt = Number.NEGATIVE_INFINITY;
  /** The name in the store of the instance's last process. */
  instance = "";
  readonly #parts: StoreLineParts;
  #cutUntil = 0;
  #silentUntil = 0;
  /** For each write that must stay without an answer, the number of writes before it. */
  #unanswered: number[] = [];
  /** The listeners, each with its process's clock. */
  readonly #listeners = new Map<EventEmitter, MortalClock>();
  /** Those that have asked for notifications. */
  readonly #hearing = new WeakSet<EventEmitter>();

  constructor(parts: StoreLineParts) {
    this.#parts = parts;
  }

  /** Whether statements succeed without delay. */
  get isWell(): boolean {
    return this.isOpen && this.latency === USUAL_LATENCY && this.failedAt < this.#now - WELL_AFTER_MS;
  }

  /** Whether statements succeed. */
  get isOpen(): boolean {
    return this.#now >= Math.max(this.#cutUntil, this.#silentUntil);
  }

  /** Breaks all connections, and refuses new ones for `forMs`. */
  cut(forMs: number): void {
    this.#cutUntil = Math.max(this.#cutUntil, this.#now + forMs);
    for (const listener of this.#living()) listener.emit("error", lost("the connection was reset"));
  }

  /** Answers nothing for `forMs`. */
  silence(forMs: number): void {
    this.#silentUntil = Math.max(this.#silentUntil, this.#now + forMs);
  }

  /** The n-th write from now on is done without an answer. */
  loseAnswer(n: number): void {
    this.#unanswered.push(n);
  }

  calm(): void {
    this.latency = USUAL_LATENCY;
    this.#cutUntil = 0;
    this.#silentUntil = 0;
    this.deafUntil = 0;
    this.#unanswered = [];
  }

  /** Delivers a notification to the instance, if it listens. */
  async heard(payload: string): Promise<void> {
    const { scheduler, journal, isDeaf } = this.#parts;
    await scheduler.sleep(this.#way());
    if (!this.isOpen) return;
    for (const listener of this.#living()) {
      if (!this.#hearing.has(listener)) continue;
      if (isDeaf || this.#now < this.deafUntil) journal.count("notifications lost");
      else listener.emit("notification", { payload });
    }
  }

  /** The connections of one process. */
  connections(life: MortalClock): Database {
    this.instance = "";
    const connections: Database = {
      place: PLACE,
      lostAt: Number.NEGATIVE_INFINITY,
      query: async <Row extends object>(lane: string, text: string, values: readonly unknown[] = []) => {
        if (life.isDead) return new Promise<never>(() => {});
        const rows = this.#statement(lane === "writes", text, values).catch((error) => {
          this.failedAt = this.#now;
          connections.lostAt = this.#now;
          throw error;
        });
        return (await life.untilDeath(rows)) as Row[];
      },
      listening: (act) => this.#listening(life, act),
      alone: () => Promise.reject(new Error("a shared store of a run keeps its lineage")),
      close: async () => {},
    };
    return connections;
  }

  *#living(): Iterable<EventEmitter> {
    for (const [listener, life] of this.#listeners) {
      if (life.isDead) this.#listeners.delete(listener);
      else yield listener;
    }
  }

  get #now(): number {
    return this.#parts.scheduler.monotonic();
  }

  /** Half of a statement's latency. */
  #way(): number {
    return (this.latency.leastMs + this.#parts.random.next() * this.latency.jitterMs) / 2;
  }

  async #statement(isWrite: boolean, text: string, values: readonly unknown[]): Promise<object[]> {
    const { scheduler, store, journal } = this.#parts;
    // The instance may take an error for that of a database, and do without what it asked for.
    if (!store.knows(text)) journal.violate("run", "", `the shared store of a run does not know: ${text}`);
    await this.#assertOpen(CONNECT_LIMIT_MS);
    await scheduler.sleep(this.#way());
    await this.#assertOpen(STATEMENT_LIMIT_MS);
    const rows = store.execute(text, values);
    if (text === SQL.take) this.instance = String(values[1]);
    if (isWrite) this.#assertAnswered();
    await scheduler.sleep(this.#way());
    await this.#assertOpen(STATEMENT_LIMIT_MS);
    return rows;
  }

  async #assertOpen(limitMs: number): Promise<void> {
    const { scheduler, journal } = this.#parts;
    const silentMs = this.#silentUntil - this.#now;
    if (silentMs > 0) {
      journal.count("lines silent");
      await scheduler.sleep(Math.min(silentMs, limitMs));
    }
    if (silentMs > limitMs) throw lost("no answer in time");
    if (this.#now >= this.#cutUntil) return;
    journal.count("lines cut");
    throw lost("the connection was reset");
  }

  #assertAnswered(): void {
    this.#unanswered = this.#unanswered.map((before) => before - 1);
    const due = this.#unanswered.findIndex((before) => before <= 0);
    if (due < 0) return;
    this.#unanswered.splice(due, 1);
    this.#parts.journal.count("statements unanswered");
    throw lost("the connection was reset before the answer came");
  }

  async #listening<T>(life: MortalClock, act: (client: Client) => Promise<T>): Promise<T> {
    const listener = Object.assign(new EventEmitter(), {
      query: async (text: string) => {
        await life.untilDeath(this.#statement(false, text, []));
        if (text.startsWith("listen ")) this.#hearing.add(listener);
      },
    });
    listener.on("error", () => {}); // statements on it reject by themselves
    try {
      this.#listeners.set(listener, life);
      return await act(listener as unknown as Client);
    } finally {
      this.#listeners.delete(listener);
    }
  }
}

function lost(why: string): StoreError {
  return new StoreError("unavailable", `${PLACE} failed (${why})`, {
    trouble: "the database cannot be reached",
  });
}
