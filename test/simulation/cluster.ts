/**
 * The state that several instances share: the store, each instance's line to it, the viewers' home instances,
 * and their common judge.
 */

import { Random } from "../../simulator/random.ts";
import { type PostgresSettings, PostgresStore } from "../../src/store/postgres/postgres.ts";
import type { Storage } from "../harness/storage.ts";
import { ClusterJudge, type ClusterWorld } from "./cluster-judge.ts";
import type { RoomJudge } from "./room-judge.ts";
import { SharedStore } from "./shared-store.ts";
import { StoreLine } from "./store-line.ts";
import { drawClock } from "./wrong-clocks.ts";

/** Maximum error of an instance's wall clock. */
const HOUR_MS = 3_600_000;
/** The share of rooms whose viewers stay with one instance. */
const AT_HOME = 0.3;

interface Member {
  line: StoreLine;
  aheadMs: number;
  storage: Storage;
}

export class Cluster {
  readonly store: SharedStore;
  readonly settings: PostgresSettings;
  readonly #world: ClusterWorld;
  readonly #random: Random;
  readonly #lines = new Map<string, StoreLine>();
  readonly #judge: ClusterJudge;
  /** Each room's epoch at its last answer. */
  readonly #epochs = new Map<string, number | undefined>();

  constructor(world: ClusterWorld, settings: PostgresSettings) {
    const { seed, scheduler, upstreamJudge } = world;
    this.store = new SharedStore(scheduler, new Random(seed, "shared store"));
    this.store.onNotify = (payload) => {
      for (const line of this.lines) void line.heard(payload);
    };
    this.settings = settings;
    this.#world = world;
    this.#random = new Random(seed, "cluster");
    this.#judge = new ClusterJudge(world, this.store, settings);
    upstreamJudge.marginMs = this.#judge.marginMs;
  }

  get lines(): readonly StoreLine[] {
    return [...this.#lines.values()];
  }

  /** The parts of the cluster for one instance. */
  member(name: string): Member {
    const { seed, scheduler, journal } = this.#world;
    const random = new Random(seed, `line ${name}`);
    const isDeaf = new Random(seed, `pooler ${name}`).pick([false, false, false, true]);
    const line = new StoreLine({ store: this.store, scheduler, random, journal, isDeaf });
    this.#lines.set(name, line);
    const aheadMs = random.pick([0, 0, HOUR_MS, -HOUR_MS]);
    return { line, aheadMs, storage: this.#storage(line, new Random(seed, `clock ${name}`)) };
  }

  /** The real store for PostgreSQL, on the simulation's tables. Each start may set the database's clock. */
  #storage(line: StoreLine, clocks: Random): Storage {
    const { store, settings } = this;
    return ({ clock, telemetry, health, witness }) => {
      store.contentAheadMs = drawClock(clocks, this.#world.journal);
      const parts = { connections: line.connections(clock), clock, telemetry, health, witness, settings };
      return { engine: new PostgresStore(parts), peek: store };
    };
  }

  /** The home instance of a room's viewers, if they have one. */
  drawHome(): string | undefined {
    return this.#random.chance(AT_HOME) ? this.#random.pick([...this.#lines.keys()]) : undefined;
  }

  /** The time of the instance's last failed statement. */
  failedAt(instance: string): number | undefined {
    return this.#lines.get(instance)?.failedAt;
  }

  calm(): void {
    for (const line of this.lines) line.calm();
  }

  /** Call it when everything that a timer started has come to rest. */
  judge(): void {
    this.#judge.inspect();
  }

  /** Call it when a room's call begins. */
  called(videoId: string, instance: string): void {
    this.#judge.called(videoId, instance);
  }

  /** A room's call got a good answer. */
  answered(videoId: string): void {
    this.#epochs.set(videoId, this.store.at(videoId)?.epoch);
  }

  /** Whether the room has changed its owner since its last answer. */
  hasNewOwner(videoId: string): boolean {
    return this.#epochs.get(videoId) !== this.store.at(videoId)?.epoch;
  }

  /** An instance that reads too many rooms; undefined if there is none. */
  overloaded(): { room: RoomJudge; what: string } | undefined {
    return this.#judge.overloaded();
  }
}
