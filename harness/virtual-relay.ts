/**
 * A relay without faults of its own, in virtual time: the real rooms on a store in memory, and a simulated upstream that
 * counts calls by address. What is put beside the rooms, and what is measured, is its user's.
 */
import { type Config, SETTINGS, type SettingName, toConfig } from "../src/cli/config.ts";
import { readFlags } from "../src/cli/flags.ts";
import { Rooms } from "../src/rooms/rooms.ts";
import { type InProcessSimulator, simulateInProcess } from "../src/simulator/index.ts";
import { Random } from "../src/simulator/random.ts";
import { MemoryStore } from "../src/store/memory.ts";
import { ObservedStore } from "../src/store/observed.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { EgressPool } from "../src/upstream/egress/pool.ts";
import type { EgressSpec } from "../src/upstream/egress/spec.ts";
import { Journal } from "./journal.ts";
import { Network } from "./network.ts";
import { MortalClock, Scheduler } from "./scheduler.ts";
import { type SimulatedSink, visit } from "./sink.ts";
import { UpstreamJudge } from "./upstream-judge.ts";

export interface VirtualRelayOptions {
  seed: number;
  settings?: Partial<Record<SettingName, string>>;
  telemetry?: Telemetry;
}

export class VirtualRelay {
  readonly scheduler: Scheduler;
  readonly upstream: InProcessSimulator;
  readonly network: Network;
  readonly config: Config;
  readonly rooms: Rooms;
  readonly egresses: EgressPool;
  /** When the upstream gave each chat a good answer, in virtual milliseconds. */
  readonly answers = new Map<string, number[]>();
  readonly #journal: Journal;
  readonly #clock: MortalClock;
  readonly #store: MemoryStore;

  constructor({ seed, settings, telemetry = new Telemetry(silentLog) }: VirtualRelayOptions) {
    const scheduler = new Scheduler(new Random(seed, "time"));
    const spacingMs = Number(settings?.RELAY_GATE_SPACING_MS ?? SETTINGS.RELAY_GATE_SPACING_MS.default);
    // One more than an address asks for that keeps to the gate.
    const perAddress = { requests: Math.floor(1000 / spacingMs) + 1, everyMs: 1000 };
    this.scheduler = scheduler;
    this.upstream = simulateInProcess({ seed, clock: scheduler, keepRequests: 1, perAddress });
    const { main, music, mobile } = this.upstream.urls;
    const texts = {
      RELAY_UPSTREAM_URL: main,
      RELAY_UPSTREAM_MUSIC_URL: music,
      RELAY_UPSTREAM_MOBILE_URL: mobile,
    };
    this.config = toConfig(readFlags(SETTINGS, [], { ...texts, ...settings }).values);
    this.#journal = new Journal(() => scheduler.monotonic());
    const judge = new UpstreamJudge(this.config.upstream.gate, scheduler, this.#journal, {
      chatCalled() {},
      pageCame() {},
      isRoom: (videoId) => !videoId.startsWith("caller") && !videoId.startsWith("probed"),
      answered: (videoId) => this.answers.getOrInsert(videoId, []).push(scheduler.monotonic()),
    });
    const network = new Network(this.upstream, scheduler, new Random(seed, "network"), judge);
    const clock = new MortalClock(scheduler);
    this.network = network;
    this.#clock = clock;
    this.#store = new MemoryStore(clock);
    const store = new ObservedStore(this.#store, clock, telemetry);
    const connectionsOf = ({ name }: EgressSpec) => network.connectionsOf(clock, name);
    this.egresses = new EgressPool({ ...this.config.upstream, clock, telemetry, connectionsOf });
    this.rooms = new Rooms({ store, egresses: this.egresses, clock, telemetry, settings: this.config.rooms });
  }

  /** Takes a viewer into a room, as `Rooms.enter` does. Its connection takes all that is written, unless told otherwise. */
  async enter(videoId: string, address: string): Promise<SimulatedSink> {
    const { request, sink } = visit(videoId, address);
    await this.rooms.enter(request, new AbortController().signal);
    return sink;
  }

  /** Lets virtual time pass until then, and ends the relay. Throws where a promise of the gate was broken. */
  async run(untilMs: number): Promise<void> {
    await this.scheduler.run(
      () => this.scheduler.monotonic() < untilMs,
      async () => {},
    );
    this.#clock.isDead = true;
    const { violation } = this.#journal;
    if (violation) throw new Error(`a promise of the gate is broken: ${JSON.stringify(violation)}`);
  }

  /** The messages of a room as they are stored, id and type. */
  async stored(videoId: string): Promise<{ id: string; type: string }[]> {
    const rows = await this.#store.read(videoId, 0, Number.POSITIVE_INFINITY);
    return rows.map(({ body }) => JSON.parse(body));
  }
}

/** How many of a chat's messages are missing in a room between the first and the last one that it holds, and its gaps. */
export async function missing(
  relay: VirtualRelay,
  chat: { videoId: string; ledger: readonly { id: string }[] },
): Promise<{ stored: number; lost: number; gaps: number }> {
  const rows = await relay.stored(chat.videoId);
  const ids = new Set(rows.filter(({ type }) => type !== "gap").map(({ id }) => id));
  const places = chat.ledger.flatMap(({ id }, place) => (ids.has(id) ? [place] : []));
  const lost = ids.size === 0 ? 0 : (places.at(-1) ?? 0) - (places[0] ?? 0) + 1 - places.length;
  return { stored: ids.size, lost, gaps: rows.length - ids.size };
}
