/**
 * A relay without faults of its own, in virtual time: the real rooms on a store in memory or on a simulated
 * disk, and a simulated upstream that counts calls by address and checks them against the gate's promises.
 * Time passes only while a test waits:
 *
 *     const relay = new VirtualRelay();
 *     const chat = relay.upstream.chat("some-video1", { kinds: ["text"] });
 *     const viewer = await relay.enter({ videoId: "some-video1" });
 *     chat.say(3);
 *     await relay.advance(10_000);
 *     assert.equal(viewer.ids.length, 3);
 */
import { pino } from "pino";
import { type InProcessSimulator, type SimulatorOptions, simulateInProcess } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import type { Awaited, RequestKind, RequestRecord } from "../../simulator/requests.ts";
import type { Counts } from "../../src/base/key-counts.ts";
import { type Config, toConfig } from "../../src/cli/config.ts";
import { readFlags } from "../../src/cli/flags.ts";
import { SETTINGS, type SettingName } from "../../src/cli/setting-table.ts";
import { RelayError } from "../../src/protocol/errors.ts";
import type { RoomList } from "../../src/rooms/listing.ts";
import type { Rooms } from "../../src/rooms/rooms.ts";
import type { ObservedStore } from "../../src/store/observed.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { EgressPool } from "../../src/upstream/egress/pool.ts";
import { Disk } from "./disk.ts";
import { FrameReader } from "./frames.ts";
import { Journal } from "./journal.ts";
import { Life } from "./life.ts";
import { metricOf } from "./metric.ts";
import { Network } from "./network.ts";
import { Scheduler } from "./scheduler.ts";
import { inMemory, onDisk } from "./storage.ts";
import { UpstreamJudge } from "./upstream-judge.ts";
import { VirtualViewer, type Visit } from "./virtual-viewer.ts";

/** Longer than anything can take that happens at all, in virtual milliseconds. */
const LIMIT_MS = 600_000;

/** Requests at the very moment at which a test begins to wait are past: shorter than any timer. */
const AT_ONCE_MS = 0.001;

export interface VirtualRelayOptions {
  /** 1 by default. */
  seed?: number;
  settings?: Partial<Record<SettingName, string>>;
  simulator?: SimulatorOptions;
  /** The telemetry of all lives; by default each life has its own. */
  telemetry?: Telemetry;
  /** Whether the store is on `disk` and outlives the service; otherwise it is in memory. */
  hasDisk?: boolean;
  /** The error of the wall clock in the next life, in milliseconds; 0 by default. */
  aheadMs?: () => number;
}

export interface LogLine {
  level: number;
  msg: string;
  [field: string]: unknown;
}

export class VirtualRelay {
  readonly clock: Scheduler;
  readonly upstream: InProcessSimulator;
  readonly network: Network;
  config: Config;
  /** The times of the good answers for each chat, in virtual milliseconds. */
  readonly answers = new Map<string, number[]>();
  telemetry: Telemetry;
  #life: Life;
  readonly #written: string[] = [];
  readonly #options: VirtualRelayOptions;
  readonly #journal: Journal;
  readonly #judge: UpstreamJudge;
  readonly #frames = new FrameReader();
  #disk: Disk | undefined;

  constructor(options: VirtualRelayOptions = {}) {
    const { seed = 1, settings, simulator } = options;
    const clock = new Scheduler(new Random(seed, "time"));
    const spacingMs = Number(settings?.RELAY_GATE_SPACING_MS ?? SETTINGS.RELAY_GATE_SPACING_MS.default);
    // One more than an address sends if it keeps to the gate.
    const perAddress = { requests: Math.floor(1000 / spacingMs) + 1, everyMs: 1000 };
    this.clock = clock;
    this.upstream = simulateInProcess({ seed, clock, perAddress, ...simulator });
    this.config = configOf(this.upstream, settings);
    this.#options = options;
    this.#journal = new Journal(() => clock.monotonic());
    this.#judge = new UpstreamJudge(this.config.upstream.gate, clock, this.#journal, {
      chatCalled() {},
      pageCame() {},
      isRoom: (videoId) => !videoId.startsWith("caller") && !videoId.startsWith("probed"),
      answered: (videoId) => this.answers.getOrInsert(videoId, []).push(clock.monotonic()),
    });
    this.network = new Network(this.upstream, clock, new Random(seed, "network"), this.#judge);
    [this.#life, this.telemetry] = this.#begin();
  }

  /** The disk under the store, with its faults; unused if the store is in memory. */
  get disk(): Disk {
    this.#disk ??= new Disk(this.clock, new Random(this.#options.seed ?? 1, "disk"), this.#journal);
    return this.#disk;
  }

  get rooms(): Rooms {
    return this.#life.rooms;
  }

  get list(): RoomList {
    return this.#life.list;
  }

  get channels() {
    return this.#life.channels;
  }

  get egresses(): EgressPool {
    return this.#life.egresses;
  }

  /** The recordings of each video. */
  get recorded(): Counts<string> {
    return this.#life.recorded;
  }

  get store(): ObservedStore {
    return this.#life.store;
  }

  /** The clock of the service's computer: its wall clock can be set, and it can sleep. */
  get computer(): Life["clock"] {
    return this.#life.clock;
  }

  /** Advances virtual time. */
  async advance(ms: number): Promise<void> {
    await this.clock.advance(ms);
    this.#assertPromises();
  }

  /** Advances virtual time until the promise settles. Returns its outcome. */
  async when<T>(promise: Promise<T>, what = "the promise settles"): Promise<T> {
    let isSettled = false;
    const settled = () => {
      isSettled = true;
    };
    promise.then(settled, settled);
    await this.until(() => isSettled, what);
    return promise;
  }

  /** Advances virtual time until the condition holds. Rejects if it does not in time. */
  async until(condition: () => boolean, what = condition.toString()): Promise<void> {
    const holds = await this.clock.until(condition, LIMIT_MS);
    this.#assertPromises();
    if (!holds) throw new Error(`not within ${LIMIT_MS} ms: ${what}`);
  }

  /**
   * Advances virtual time until the upstream has received the requests: from now on, unless `since` says
   * otherwise.
   */
  requested(kind: RequestKind, awaited: Awaited = {}): Promise<RequestRecord[]> {
    const since = this.clock.monotonic() + AT_ONCE_MS;
    return this.when(this.upstream.requested(kind, { since, ...awaited }), `a request of ${kind}`);
  }

  /** The service as edges use it. */
  get service(): Life {
    return this.#life;
  }

  /** A viewer that is about to enter a room, here or at an edge. */
  visit(visit: Visit, rooms = this.rooms): VirtualViewer {
    return new VirtualViewer(rooms, visit, this.#frames, (condition, what) => this.until(condition, what));
  }

  /** Takes a viewer into a room, however long it takes. Rejects as `/v1/stream` answers. */
  async enter(visit: Visit, rooms = this.rooms): Promise<VirtualViewer> {
    const viewer = this.visit(visit, rooms);
    await this.when(viewer.entered, `a stream of ${visit.videoId}`);
    return viewer;
  }

  /** The error with which a viewer is refused. */
  async refusal(visit: Visit, rooms = this.rooms): Promise<RelayError> {
    const error = await this.enter(visit, rooms).catch((reason: unknown) => reason);
    if (error instanceof RelayError) return error;
    throw new Error(`a stream of ${visit.videoId} was not refused`, { cause: error });
  }

  /** Stops the service as a signal does. */
  stop(): Promise<void> {
    return this.when(this.#life.stop(), "the service stops");
  }

  /** Kills the process between two steps, without notice. */
  kill(): void {
    this.#life.kill();
  }

  /** Starts the service again after `stop` or `kill`, with other settings if given. */
  start(settings: VirtualRelayOptions["settings"] = {}): void {
    this.config = configOf(this.upstream, { ...this.#options.settings, ...settings });
    this.#judge.lifeEnds("");
    [this.#life, this.telemetry] = this.#begin();
  }

  /** Stops the service, and starts it again after `downMs`. */
  async restart(downMs = 0, settings: VirtualRelayOptions["settings"] = {}): Promise<void> {
    await this.stop();
    await this.advance(downMs);
    this.start(settings);
  }

  /** The stored messages of a room, id and type. */
  async stored(videoId: string): Promise<{ id: string; type: string }[]> {
    const rows = await this.#life.peek.after(videoId, 0);
    return rows.map(({ body }) => JSON.parse(body));
  }

  /** The log of all lives, at `RELAY_LOG_LEVEL`. */
  get log(): LogLine[] {
    return this.#written.map((line) => JSON.parse(line));
  }

  /** The value of one metric by its name with labels; undefined if it has none yet. */
  metric(name: string): Promise<number | undefined> {
    return metricOf(this.telemetry, name);
  }

  #begin(): [Life, Telemetry] {
    const { config, clock: scheduler, network } = this;
    const log = pino({ level: config.logLevel, base: null }, { write: (line) => this.#written.push(line) });
    const telemetry = this.#options.telemetry ?? new Telemetry(log);
    const storage = this.#options.hasDisk ? onDisk(this.disk) : inMemory();
    const aheadMs = this.#options.aheadMs?.() ?? 0;
    return [new Life({ config, scheduler, network, storage, telemetry, aheadMs }), telemetry];
  }

  #assertPromises(): void {
    const { violation } = this.#journal;
    if (violation) throw new Error(`a promise of the gate is broken: ${JSON.stringify(violation)}`);
  }
}

/** The configuration that these settings mean, for a simulated upstream. */
export function configOf({ urls }: InProcessSimulator, settings: VirtualRelayOptions["settings"]): Config {
  const hosts = {
    RELAY_UPSTREAM_URL: urls.main,
    RELAY_UPSTREAM_MUSIC_URL: urls.music,
    RELAY_UPSTREAM_MOBILE_URL: urls.mobile,
  };
  return toConfig(readFlags(SETTINGS, [], { ...hosts, ...settings }).values);
}

/**
 * The number of a chat's messages that a room lacks between its first and its last one, and the number of its
 * gaps.
 */
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
