/**
 * The world of a run: virtual time, the upstream with its chats, the disk, the service's lives, the viewers,
 * and the judges. `events.ts` has the events that happen to them.
 */

import type { Fault, FaultOrder } from "../../simulator/faults.ts";
import { type InProcessSimulator, simulateInProcess } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import type { Scenario } from "../../simulator/scenario.ts";
import type { Chat } from "../../simulator/simulated-chat.ts";
import type { Config } from "../../src/cli/config.ts";
import type { ChatView } from "../../src/protocol/chat.ts";
import { type ChatKey, chatOf } from "../../src/protocol/chat-key.ts";
import { Disk } from "../harness/disk.ts";
import { Journal } from "../harness/journal.ts";
import { Network } from "../harness/network.ts";
import type { Peek } from "../harness/peek.ts";
import { Scheduler } from "../harness/scheduler.ts";
import { visit } from "../harness/sink.ts";
import { inMemory, onDisk } from "../harness/storage.ts";
import { UpstreamJudge } from "../harness/upstream-judge.ts";
import { Audience } from "./audience.ts";
import { Cluster } from "./cluster.ts";
import { EdgeWaits } from "./edge-waits.ts";
import { Edge, type EdgeTiers, edgesIn } from "./edges.ts";
import { FinishedStream } from "./finished-stream.ts";
import type { Host } from "./host.ts";
import { Instance } from "./instance.ts";
import { judgedLog } from "./judged-events.ts";
import type { LiveChannel } from "./live-channel.ts";
import type { Watcher } from "./log-reader.ts";
import { RecordedChat, ROOMS_BESIDE } from "./recorded-chat.ts";
import { RoomJudge } from "./room-judge.ts";
import { drawConfig, HOLD, PUBLIC } from "./settings.ts";
import { drawClock } from "./wrong-clocks.ts";

export interface WorldOptions extends Partial<EdgeTiers> {
  seed: number;
  rooms: number;
  /** The number of instances; several share a store. */
  instances?: number;
}

/** The interval at which every room is checked, even if nobody receives anything. */
const INSPECT_MS = 15_000;
/** How long the upstream holds the final messages of a run. */
const RELAYED_MS = 60_000;
/** How long each life of the service takes to load what makes connections. */
const LOADING_MS = 150;
/** Less than the spacing of calls: a request that leaves after the next one can keep no distance. */
const CONNECTING_MS = 40;
/** The number of streams that end, and have a replay. */
const FINISHED = 2;
/** A fault that has hit no request within this time is cancelled, in milliseconds. */
const ORDER_MS = 30_000;

export class World {
  readonly scheduler: Scheduler;
  readonly journal: Journal;
  readonly random: Random;
  readonly upstream: InProcessSimulator;
  readonly upstreamJudge: UpstreamJudge;
  readonly seed: number;
  /** The view that rooms must read. */
  readonly view: ChatView;
  /** The addresses of the service, of all instances. */
  readonly addresses: readonly string[];
  readonly network: Network;
  /** Undefined if the store is in memory or shared. */
  readonly disk: Disk | undefined;
  readonly instances: readonly Instance[];
  readonly edges: readonly Edge[];
  /** The state that several instances share; undefined if there is one. */
  readonly cluster: Cluster | undefined;
  /** Whether each trouble affects only one party, and nothing that rooms share. */
  readonly isNeighbourly: boolean;
  readonly rooms: RoomJudge[] = [];
  readonly viewers: readonly Watcher[];
  /** Undefined in a run without one. */
  readonly channel: LiveChannel | undefined;
  readonly recorded: RecordedChat;
  /** Their rooms are none of `rooms`, of which events choose. */
  readonly finished: readonly FinishedStream[];
  /** All faults are over. */
  isCalm = false;
  readonly #dirty = new Set<Watcher>();
  #offers: { room: RoomJudge; ids: readonly string[]; at: number; instance: string }[] = [];
  #inspectedAt = 0;
  readonly #waits = new EdgeWaits(() => this.scheduler.monotonic());
  readonly #faults = new Set<Fault>();
  readonly #replaysBeside: string[] = [];

  constructor({ seed, rooms, instances = 1, edges = 0, tiers = 0 }: WorldOptions) {
    this.random = new Random(seed, "events");
    this.scheduler = new Scheduler(new Random(seed, "time"));
    this.journal = new Journal(() => this.scheduler.monotonic());
    this.upstream = simulateInProcess({ seed, clock: this.scheduler, keepRequests: 100 });
    this.seed = seed;
    this.isNeighbourly = instances === 1 && new Random(seed, "neighbours").chance(0.3);
    // With two slots, the others share one while a page that is never answered holds the other: then
    // newcomers wait longer.
    const concurrencies = this.isNeighbourly ? [4, 4, 8] : [2, 4, 8];
    const maxRooms = rooms + ROOMS_BESIDE;
    const config = drawConfig(this.upstream, {
      ...{ seed, random: this.random, instances, concurrencies, maxRooms },
    });
    this.upstreamJudge = new UpstreamJudge(config.upstream.gate, this.scheduler, this.journal, {
      chatCalled: (key, instance) => this.#chatCalled(key, instance),
      pageCame: (videoId) => {
        for (const room of this.#roomsOf(videoId)) room.pageCame(this.scheduler.monotonic());
      },
      answered: (key, calledAt, view) => {
        this.#room(key)?.answered(calledAt, view);
        this.cluster?.answered(chatOf(key).videoId);
      },
      isRoom: (videoId) => this.#roomsOf(videoId).length > 0,
    });
    this.upstreamJudge.isSharedWell = this.isNeighbourly;
    this.view = config.upstream.reading.chatView;
    this.upstreamJudge.wantsAll = this.view === "all";
    this.journal.count(`runs that read ${this.view}`);
    this.journal.count(
      `runs with ${this.isNeighbourly ? "neighbours' trouble alone" : "trouble of all kinds"}`,
    );
    this.network = new Network(
      this.upstream,
      this.scheduler,
      new Random(seed, "network"),
      this.upstreamJudge,
    );
    this.network.loadingMs = LOADING_MS;
    this.network.connectingMs = CONNECTING_MS;
    const hasDisk = this.random.chance(0.8) && instances === 1;
    this.disk = hasDisk ? new Disk(this.scheduler, new Random(seed, "disk"), this.journal) : undefined;
    this.cluster = instances > 1 ? new Cluster(this, config.shared) : undefined;
    this.journal.count(`runs on ${this.cluster ? `${instances} instances` : hasDisk ? "sqlite" : "memory"}`);
    const numbers = Array.from({ length: instances }, (_, index) => (this.cluster ? String(index + 1) : ""));
    this.instances = numbers.map((name) => this.#newInstance(name, config));
    this.edges = edgesIn(
      {
        ...{ seed, scheduler: this.scheduler, journal: this.journal, instances: this.instances },
        waits: this.#waits,
        logOf: (name) => judgedLog(name, this.journal),
        viewersOf: (name) => this.#viewersOf(name),
      },
      { edges, tiers },
    );
    if (edges > 0) this.journal.count(`runs with edges in ${tiers} tiers`);
    this.addresses = this.instances.flatMap((instance) => instance.addresses);
    for (let number = 1; number < rooms; number++) this.#addRoom(number); // the last one is recorded
    this.upstream.chat(PUBLIC, { tokens: "reusable" }).say(10);
    this.recorded = new RecordedChat(this);
    this.finished = Array.from({ length: FINISHED }, (_, number) => new FinishedStream(this, number + 1));
    const audience = new Audience(this, (viewer) => void this.#dirty.add(viewer));
    this.viewers = audience.viewers;
    this.channel = audience.channel;
  }

  #newInstance(name: string, config: Config): Instance {
    const { scheduler, network, journal, upstreamJudge, disk, cluster } = this;
    const log = judgedLog(name, journal);
    const clocks = new Random(this.seed, "clock");
    const { line, aheadMs, storage } = cluster?.member(name) ?? {};
    return new Instance({
      ...{ name, config, scheduler, network, journal, upstreamJudge, log, line, aheadMs },
      isAlone: !cluster,
      storage: storage ?? (disk ? onDisk(disk, () => drawClock(clocks, journal)) : inMemory()),
      viewers: () => this.#viewersOf(name),
      isOpen: (videoId) => this.liveRooms.some((room) => room.videoId === videoId),
      started: () => {
        if (!disk && !cluster) for (const room of this.judged) room.forget();
      },
    });
  }

  #viewersOf(name: string): Watcher[] {
    return this.viewers.filter(({ host }) => host?.name === name);
  }

  /** A random instance. */
  pickInstance(): Instance {
    const [only] = this.instances;
    return only && !this.cluster ? only : this.random.pick(this.instances);
  }

  #addRoom(number: number): void {
    const { random } = this;
    const isReplay = number === 1;
    const scenario: Partial<Scenario> = isReplay
      ? { kind: "replay", pageSize: 40, perWrapper: 4, tokens: "reusable" }
      : {
          timeoutMs: random.pick([3000, 10_000, 10_000]),
          ...random.pick([{ page: 20 }, { page: 60, backlogOf: "call", isTopLonger: true } as const]),
          tokens: random.pick(["strict", "reusable"]),
          overlap: random.pick([0, 10]),
          foundOn: random.pick(["everywhere", "both", "popout", "watch", "next"]),
          ...(random.chance(0.7) ? HOLD : {}),
        };
    const chat = this.upstream.chat(`simroom-${String(number).padStart(3, "0")}`, scenario);
    const room = new RoomJudge(chat, this);
    room.isReplay = isReplay;
    if (isReplay) room.overSince = 0;
    room.home = this.cluster?.drawHome();
    this.rooms.push(room);
    chat.say(isReplay ? 600 : random.below(60));
    if (!isReplay) chat.speak(random.pick([0.02, 0.05, 0.1, 0.3, 0.8]));
  }

  /** All rooms that have a judge. */
  get judged(): RoomJudge[] {
    return [...this.rooms, ...this.finished.flatMap(({ live, replay }) => [live, replay])];
  }

  /**
   * Whether a viewer of these videos may be refused for want of capacity, by this process in these words:
   * with neighbours' trouble alone, only at an edge to which the video was refused after the longest wait.
   */
  mayRefuse(videoIds: readonly string[], host: Host | undefined, message: unknown): boolean {
    if (!this.isNeighbourly) return true;
    return host instanceof Edge && videoIds.some((videoId) => this.#waits.explain(videoId, message));
  }

  get liveRooms(): RoomJudge[] {
    return this.rooms.filter(({ overSince }) => overSince === Number.POSITIVE_INFINITY);
  }

  /** Starts the service and its edges, and retries like a supervisor until they keep running. */
  async start(): Promise<void> {
    await Promise.all(this.instances.map((instance) => instance.start()));
    for (const edge of this.edges) await edge.start();
  }

  /** This many replays that are not rooms of the run. They are long, so a run has them once it needs them. */
  replaysBeside(count: number): string[] {
    const scenario: Partial<Scenario> = { kind: "replay", kinds: ["text"], tokens: "reusable" };
    for (let number = this.#replaysBeside.length; number < count; number++) {
      const chat = this.upstream.chat(`beside---${String(number).padStart(2, "0")}`, scenario);
      chat.say(3000);
      this.#replaysBeside.push(chat.videoId);
    }
    return this.#replaysBeside.slice(0, count);
  }

  /** A visitor, who is not a viewer of the run, enters a video and leaves after a while. */
  async visit(videoId: string, address: string, forMs = 0, { life } = this.pickInstance()): Promise<void> {
    const { request, sink } = visit(videoId, address);
    life?.rooms.enter(request, new AbortController().signal).catch(() => {});
    await this.scheduler.sleep(forMs);
    sink.leave();
  }

  /** The end of the last pause after throttling that the service has reported, in virtual milliseconds. */
  get pausedUntil(): number {
    return Math.max(...this.instances.map(({ pausedUntil }) => pausedUntil));
  }

  /** Adds a fault of the upstream, for a while. */
  async order(name: string, order: FaultOrder): Promise<void> {
    this.journal.note(`order ${order.videoId ?? ""} ${name} ${order.times} times`);
    const fault = this.upstream.fault(order);
    this.#faults.add(fault);
    await this.scheduler.sleep(ORDER_MS);
    fault.cancel();
    this.#faults.delete(fault);
    if (fault.fired > 0) this.journal.count(name, fault.fired);
  }

  /** Ends all faults, and makes every viewer stay. */
  calm(): void {
    this.isCalm = true;
    for (const fault of this.#faults) fault.cancel();
    this.network.calm();
    this.disk?.calm();
    this.cluster?.calm();
    for (const { line } of this.edges) line.calm();
    for (const viewer of this.viewers) {
      viewer.isCalm = true;
      viewer.sink?.readOn();
    }
    this.journal.note("calm");
  }

  /**
   * If an owner gives the room up before it stores an answer, the next owner is offered the same messages
   * again.
   */
  #chatCalled(key: ChatKey, instance: string): void {
    const { videoId } = chatOf(key);
    const offer = this.upstreamJudge.offered.get(key);
    const room = this.#room(key);
    room?.called();
    if (room) this.cluster?.called(videoId, instance);
    this.upstreamJudge.offered.delete(key);
    const isOwn = offer?.instance === instance && !this.cluster?.hasNewOwner(videoId);
    if (isOwn && room) this.#offers.push({ room, ...offer });
  }

  #room(key: ChatKey): RoomJudge | undefined {
    return this.judged.find((room) => room.key === key);
  }

  #roomsOf(videoId: string): RoomJudge[] {
    return this.judged.filter((room) => room.videoId === videoId);
  }

  /** Call it when everything that a timer started has come to rest. */
  async judge(): Promise<void> {
    const now = this.scheduler.monotonic();
    const isDue = now - this.#inspectedAt >= INSPECT_MS || this.#isStoreEnding;
    const peek = this.#peek;
    if (peek && (isDue || this.#dirty.size > 0 || this.#offers.length > 0)) {
      const rooms = isDue
        ? this.judged
        : new Set([
            ...[...this.#dirty].flatMap(({ rooms }) => rooms),
            ...this.#offers.map(({ room }) => room),
          ]);
      for (const room of rooms) await room.inspect(peek);
    }
    if (isDue) this.#inspectedAt = now;
    for (const viewer of this.#dirty) viewer.judge();
    this.#dirty.clear();
    for (const { room, ids, at, instance } of this.#offers) {
      const failedAt = this.disk?.failedAt ?? this.cluster?.failedAt(instance) ?? Number.NEGATIVE_INFINITY;
      if (at > failedAt) room.judgeOffered(ids);
    }
    this.#offers = [];
    this.cluster?.judge();
  }

  /** A store in memory is about to be lost, while edges hold what nobody has been sent yet. */
  get #isStoreEnding(): boolean {
    const isInMemory = !this.disk && !this.cluster;
    return isInMemory && this.edges.length > 0 && this.instances.some(({ life }) => !life);
  }

  /** Call it at the end of a run. */
  async judgeTotals(): Promise<void> {
    const peek = this.#peek;
    for (const room of peek ? this.judged : []) await room.judgeTotals(peek as Peek);
  }

  /** A view of the service's store, of its last life. */
  get #peek(): Peek | undefined {
    return this.instances[0]?.peek;
  }

  /** Every open chat says one more message, which must arrive. */
  sayFinalMessages(): void {
    for (const room of this.liveRooms) {
      room.chat.change({ kinds: ["text"], holdsMs: RELAYED_MS });
      room.chat.say(2); // earlier work comes first
      room.finalMessageId = sayInBothViews(room.chat);
    }
    this.journal.note("last words");
  }

  /** The first viewer or room that lacks messages; undefined if there is none. */
  lagging(): { room: RoomJudge; what: string; retriedInMs?: number } | undefined {
    for (const room of this.liveRooms) {
      if (!room.hasFinalMessage) return { room, what: `the room lacks ${room.finalMessageId}` };
    }
    for (const viewer of this.viewers) {
      const lag = viewer.lag();
      const { name, retriedInMs } = viewer;
      if (lag) return { ...lag, what: `viewer ${name} ${lag.what}`, retriedInMs };
    }
    return this.cluster?.overloaded();
  }
}

/** The id of the next message that Top chat shows, too. */
function sayInBothViews(chat: Chat): string | undefined {
  for (;;) {
    const [id] = chat.say(1);
    const said = chat.ledger.at(-1);
    if (said && !chat.leavesOut(said.action)) return id;
  }
}
