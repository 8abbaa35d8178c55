/** What several instances share, and each one's line to it: the store, who is where, and the judge of them all. */
import type { Storage } from "../harness/storage.ts";
import { Random } from "../src/simulator/random.ts";
import { type PostgresSettings, PostgresStore } from "../src/store/postgres/postgres.ts";
import { ClusterJudge, type ClusterWorld } from "./cluster-judge.ts";
import type { RoomJudge } from "./room-judge.ts";
import { SharedStore } from "./shared-store.ts";
import { StoreLine } from "./store-line.ts";

/** By how much an instance's wall clock may be wrong. */
const HOUR_MS = 3_600_000;
/** How many rooms have viewers that keep to one instance. */
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
  /** Under which each room was owned when it was last answered. */
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
    this.#judge = new ClusterJudge(world, this.store, settings.leaseMs);
    upstreamJudge.marginMs = this.#judge.marginMs;
  }

  get lines(): readonly StoreLine[] {
    return [...this.#lines.values()];
  }

  /** What an instance needs to be one of them. */
  member(name: string): Member {
    const { seed, scheduler, journal } = this.#world;
    const random = new Random(seed, `line ${name}`);
    const line = new StoreLine({ store: this.store, scheduler, random, journal });
    this.#lines.set(name, line);
    const aheadMs = random.pick([0, 0, HOUR_MS, -HOUR_MS]);
    return { line, aheadMs, storage: shared(this.store, line, this.settings) };
  }

  /** The instance that a room's viewers keep to, where they do. */
  drawHome(): string | undefined {
    return this.#random.chance(AT_HOME) ? this.#random.pick([...this.#lines.keys()]) : undefined;
  }

  /** When a statement of the instance last failed. */
  failedAt(instance: string): number | undefined {
    return this.#lines.get(instance)?.failedAt;
  }

  calm(): void {
    for (const line of this.lines) line.calm();
  }

  /** To be called when all that a timer set off has come to rest. */
  judge(): void {
    this.#judge.look();
  }

  /** To be called when a room's call goes out. */
  called(videoId: string, instance: string): void {
    this.#judge.called(videoId, instance);
  }

  /** A good answer to a room's call came. */
  answered(videoId: string): void {
    this.#epochs.set(videoId, this.store.at(videoId)?.epoch);
  }

  /** Whether the room was taken by whomever since it was last answered. */
  isTakenAnew(videoId: string): boolean {
    return this.#epochs.get(videoId) !== this.store.at(videoId)?.epoch;
  }

  /** An instance that reads too many rooms; undefined where none does. */
  overloaded(): { room: RoomJudge; what: string } | undefined {
    return this.#judge.overloaded();
  }
}

/** The real store for PostgreSQL, on tables of the simulation. */
function shared(store: SharedStore, line: StoreLine, settings: PostgresSettings): Storage {
  return ({ clock, telemetry, health }) => ({
    engine: new PostgresStore({ connections: line.connections(clock), clock, telemetry, health, settings }),
    peek: store,
  });
}
