/**
 * All of a run: virtual time, the upstream with its chats, the disk, the service's lives, the viewers, and the judges.
 * What happens to them is in `events.ts`.
 */
import { pino } from "pino";
import { type Config, SETTINGS, type SettingName, toConfig } from "../src/cli/config.ts";
import { readFlags } from "../src/cli/flags.ts";
import { FORMS } from "../src/serving/form.ts";
import type { Fault, FaultOrder } from "../src/simulator/faults.ts";
import { type InProcessSimulator, simulateInProcess } from "../src/simulator/index.ts";
import { Random } from "../src/simulator/random.ts";
import type { Scenario } from "../src/simulator/scenario.ts";
import { Disk } from "./disk.ts";
import { FrameReader } from "./frames.ts";
import { Journal } from "./journal.ts";
import { Life, type Peek } from "./life.ts";
import { Network } from "./network.ts";
import { RoomJudge } from "./room-judge.ts";
import { Scheduler } from "./scheduler.ts";
import { SimulatedSink } from "./sink.ts";
import { UpstreamJudge } from "./upstream-judge.ts";
import { Viewer } from "./viewer.ts";

export interface WorldOptions {
  seed: number;
  rooms: number;
}

/** Every room is looked at this often, also where nobody is sent anything. */
const LOOK_MS = 15_000;
/** What the upstream holds for a late reader: its ten seconds, and what a room may exceed them by unnoticed. */
export const HOLD = { holdsMs: 11_000, holdsMessages: 200 };
const SUPERVISOR_MS = 1000;
/** For how long the upstream holds the last words of a run. */
const RELAYED_MS = 60_000;
/** An order that no request has met by then is taken back, in milliseconds. */
const ORDER_MS = 30_000;
/** What the service logs only where something in it is wrong, as nobody else writes to its store. */
const BUGS = /^(?!.*not done within).*"msg":"(room broken|a reader failed)/;
const VIEWERS_PER_ROOM = 2;
const REPLAYS_BESIDE = 6;
/** No room's: a probe's calls would pass for its polls. */
export const PROBED = "simprobe-01";

export class World {
  readonly scheduler: Scheduler;
  readonly journal: Journal;
  readonly random: Random;
  readonly upstream: InProcessSimulator;
  readonly upstreamJudge: UpstreamJudge;
  readonly seed: number;
  /** The names of the service's ways out. */
  readonly egresses: readonly string[];
  readonly network: Network;
  /** Undefined where the store is in memory. */
  readonly disk: Disk | undefined;
  /** Whether each trouble is one party's alone: nothing befalls what rooms share. */
  readonly isNeighbourly: boolean;
  readonly rooms: RoomJudge[] = [];
  readonly viewers: Viewer[] = [];
  life: Life | undefined;
  /** Nothing goes wrong any more. */
  isCalm = false;
  /** When the longest pause is over that the service has told of after throttling, in virtual milliseconds. */
  pausedUntil = 0;
  readonly #config: Config;
  /** Of the last life: what it has stored can be read after it. */
  #peek: Peek | undefined;
  readonly #dirty = new Set<Viewer>();
  #offers: { room: RoomJudge; ids: readonly string[]; at: number }[] = [];
  #lookedAt = 0;
  readonly #faults = new Set<Fault>();

  constructor({ seed, rooms }: WorldOptions) {
    this.random = new Random(seed, "events");
    this.scheduler = new Scheduler(new Random(seed, "time"));
    this.journal = new Journal(() => this.scheduler.monotonic());
    this.upstream = simulateInProcess({ seed, clock: this.scheduler, keepRequests: 100 });
    this.seed = seed;
    this.isNeighbourly = new Random(seed, "neighbours").chance(0.3);
    // With two slots others have one, and a page that is never answered holds it: there newcomers wait for longer.
    const concurrencies = this.isNeighbourly ? [4, 4, 8] : [2, 4, 8];
    this.#config = drawConfig(this.random, this.upstream, drawWays(seed), concurrencies);
    this.egresses = this.#config.upstream.specs.map(({ name }) => name);
    this.upstreamJudge = new UpstreamJudge(this.#config.upstream.gate, this.scheduler, this.journal, {
      chatCalled: (videoId) => this.#chatCalled(videoId),
      pageCame: (videoId) => this.#pageCame(videoId),
      answered: (videoId) => this.#room(videoId)?.answered(),
      isRoom: (videoId) => this.#room(videoId) !== undefined,
    });
    this.upstreamJudge.isSharedWell = this.isNeighbourly;
    this.journal.count(
      `runs with ${this.isNeighbourly ? "neighbours' trouble alone" : "trouble of all kinds"}`,
    );
    this.network = new Network(
      this.upstream,
      this.scheduler,
      new Random(seed, "network"),
      this.upstreamJudge,
    );
    const hasDisk = this.random.chance(0.8);
    this.disk = hasDisk ? new Disk(this.scheduler, new Random(seed, "disk"), this.journal) : undefined;
    this.journal.count(`runs on ${hasDisk ? "sqlite" : "memory"}`);
    for (let number = 1; number <= rooms; number++) this.#addRoom(number);
    for (let number = 0; number < REPLAYS_BESIDE; number++) {
      const scenario: Partial<Scenario> = { kind: "replay", kinds: ["text"], tokens: "reusable" };
      this.upstream.chat(`beside---${String(number).padStart(2, "0")}`, scenario).say(3000);
    }
    this.upstream.chat(PROBED, { tokens: "reusable" }).say(10);
    const frames = new FrameReader();
    for (const [index, room] of this.rooms.flatMap((each) => Array(VIEWERS_PER_ROOM).fill(each)).entries()) {
      const random = new Random(seed, `viewer ${index}`);
      const { scheduler, journal } = this;
      const onFrames = (viewer: Viewer) => void this.#dirty.add(viewer);
      const life = () => this.life;
      const isSharedWell = this.isNeighbourly;
      const parts = { room, scheduler, random, journal, frames, life, onFrames, isSharedWell };
      this.viewers.push(new Viewer(String(index), parts));
    }
  }

  #addRoom(number: number): void {
    const { random } = this;
    const isReplay = number === 1;
    const scenario: Partial<Scenario> = isReplay
      ? { kind: "replay", pageSize: 40, tokens: "reusable" }
      : {
          timeoutMs: random.pick([3000, 10_000, 10_000]),
          page: 20,
          tokens: random.pick(["strict", "reusable"]),
          overlap: random.pick([0, 10]),
          foundOn: random.pick(["everywhere", "both", "popout", "watch", "next"]),
          ...(random.chance(0.7) ? HOLD : {}),
        };
    const chat = this.upstream.chat(`simroom-${String(number).padStart(3, "0")}`, scenario);
    const room = new RoomJudge(chat, this.journal);
    if (isReplay) room.overSince = 0;
    this.rooms.push(room);
    chat.say(isReplay ? 600 : random.below(60));
    if (!isReplay) chat.speak(random.pick([0.02, 0.05, 0.1, 0.3, 0.8]));
  }

  get liveRooms(): RoomJudge[] {
    return this.rooms.filter(({ overSince }) => overSince === Number.POSITIVE_INFINITY);
  }

  /** Starts the service, as its supervisor does until it stays. */
  async start(): Promise<void> {
    const log = pino(
      { level: "info", base: null, timestamp: false },
      { write: (line: string) => this.#logged(line.trimEnd()) },
    );
    const { scheduler, network, disk } = this;
    for (;;) {
      this.upstreamJudge.lifeBegins();
      this.pausedUntil = 0;
      try {
        this.life = await Life.begin({ config: this.#config, scheduler, network, disk, log });
        this.#peek = this.life.peek;
        if (!disk) for (const room of this.rooms) room.forget();
        this.journal.note("service started");
        return;
      } catch (error) {
        this.journal.note(`service did not start: ${error}`);
        await scheduler.sleep(SUPERVISOR_MS);
      }
    }
  }

  #logged(line: string): void {
    this.journal.note(`log ${line}`);
    const [, cooldownMs] = /"cooldownMs":(\d+)/.exec(line) ?? [];
    if (cooldownMs)
      this.pausedUntil = Math.max(this.pausedUntil, this.scheduler.monotonic() + Number(cooldownMs));
    if (BUGS.test(line)) this.journal.violate(/"videoId":"(.*?)"/.exec(line)?.[1] ?? "", line);
  }

  /** The process is gone between two steps, and whatever it was about to do; another is started after a while. */
  async kill(downMs: number): Promise<void> {
    this.life?.kill();
    this.life = undefined;
    for (const { sink } of this.viewers) sink?.lose();
    this.journal.note("service killed");
    await this.scheduler.sleep(downMs);
    await this.start();
  }

  async restart(downMs: number): Promise<void> {
    const { life } = this;
    this.life = undefined;
    await life?.stop();
    for (const { sink, name } of this.viewers) {
      if (sink?.closedBy === undefined && sink) this.journal.violate("", `viewer ${name} outlived the stop`);
    }
    this.journal.note("service stopped");
    await this.scheduler.sleep(downMs);
    await this.start();
  }

  /** Somebody enters a video who is no viewer of the run, and leaves after a while. */
  async visit(videoId: string, address: string, forMs = 0): Promise<void> {
    const sink = new SimulatedSink(FORMS.plain.bare, () => {});
    const request = {
      videoId,
      lastEventId: undefined,
      backfill: 0,
      address: () => address,
      open: () => sink,
    };
    this.life?.rooms.enter(request, new AbortController().signal).catch(() => {});
    await this.scheduler.sleep(forMs);
    sink.leave();
  }

  /** Orders a fault of the upstream, for a while. */
  async order(name: string, order: FaultOrder): Promise<void> {
    this.journal.note(`order ${order.videoId ?? ""} ${name} ${order.times} times`);
    const fault = this.upstream.fault(order);
    this.#faults.add(fault);
    await this.scheduler.sleep(ORDER_MS);
    fault.cancel();
    this.#faults.delete(fault);
    if (fault.fired > 0) this.journal.count(name, fault.fired);
  }

  /** From now on nothing goes wrong, and every viewer stays. */
  calm(): void {
    this.isCalm = true;
    for (const fault of this.#faults) fault.cancel();
    this.network.calm();
    this.disk?.calm();
    for (const viewer of this.viewers) {
      viewer.isCalm = true;
      viewer.sink?.readOn();
    }
    this.journal.note("calm");
  }

  #chatCalled(videoId: string): void {
    const offer = this.upstreamJudge.offered.get(videoId);
    const room = this.#room(videoId);
    room?.called();
    this.upstreamJudge.offered.delete(videoId);
    if (offer && room) this.#offers.push({ room, ...offer });
  }

  #pageCame(videoId: string): void {
    const room = this.#room(videoId);
    room?.pageCame();
  }

  #room(videoId: string): RoomJudge | undefined {
    return this.rooms.find((room) => room.videoId === videoId);
  }

  /** To be called when all that a timer set off has come to rest. */
  async judge(): Promise<void> {
    const now = this.scheduler.monotonic();
    const isDue = now - this.#lookedAt >= LOOK_MS;
    if (this.#peek && (isDue || this.#dirty.size > 0 || this.#offers.length > 0)) {
      const rooms = isDue
        ? this.rooms
        : new Set([...[...this.#dirty].map(({ room }) => room), ...this.#offers.map(({ room }) => room)]);
      for (const room of rooms) await room.look(this.#peek);
    }
    if (isDue) this.#lookedAt = now;
    for (const viewer of this.#dirty) viewer.judge();
    this.#dirty.clear();
    for (const { room, ids, at } of this.#offers) {
      if (at > (this.disk?.failedAt ?? Number.NEGATIVE_INFINITY)) room.judgeOffered(ids);
    }
    this.#offers = [];
  }

  /** One more message in every open chat: it must come through. */
  sayLastWords(): void {
    for (const room of this.liveRooms) {
      room.chat.change({ kinds: ["text"], holdsMs: RELAYED_MS });
      room.lastWord = room.chat.say(3).at(-1); // what was begun before comes first
    }
    this.journal.note("last words");
  }

  /** Who has not everything; undefined where nobody lacks anything. */
  lagging(): { room: RoomJudge; what: string } | undefined {
    for (const room of this.liveRooms) {
      if (!room.hasLastWord) return { room, what: `the room lacks ${room.lastWord}` };
    }
    for (const { room, sink, cursor, name, lastWord } of this.viewers) {
      if (room.overSince < Number.POSITIVE_INFINITY) continue;
      if (!sink || sink.closedBy) return { room, what: `viewer ${name} is not connected: ${lastWord}` };
      if (cursor !== room.head) return { room, what: `viewer ${name} stands at ${cursor} of ${room.head}` };
    }
    return undefined;
  }
}

/** Limits that make calls rare enough to have to wait for each other, and states short enough to be left in a run. */
function drawConfig(
  random: Random,
  { urls }: InProcessSimulator,
  ways: string,
  concurrencies: readonly number[],
): Config {
  const settings: Partial<Record<SettingName, string | number>> = {
    RELAY_STORE: "memory:",
    RELAY_UPSTREAM_URL: urls.main,
    RELAY_UPSTREAM_MUSIC_URL: urls.music,
    RELAY_UPSTREAM_MOBILE_URL: urls.mobile,
    RELAY_EGRESS: ways,
    RELAY_GATE_SPACING_MS: random.pick([50, 100, 150]), // at 200 ms twenty lively chats may be refused
    RELAY_GATE_CONCURRENCY: random.pick(concurrencies),
    RELAY_COOLDOWN_MS: random.pick([2000, 5000]),
    RELAY_GRACE_MS: random.pick([5000, 30_000, 90_000]),
    RELAY_FAILING_MS: random.pick([20_000, 120_000]),
    RELAY_NO_CHAT_MS: random.pick([0, 30_000]),
  };
  const texts = Object.entries(settings).map(([name, value]) => [name, String(value)]);
  return toConfig(readFlags(SETTINGS, [], Object.fromEntries(texts)).values);
}

/** `RELAY_EGRESS`: some runs have one address, some several. Drawn apart, so that all else of a seed is as it was. */
function drawWays(seed: number): string {
  const count = new Random(seed, "addresses").pick([1, 1, 2, 3]);
  return Array.from({ length: count }, (_, i) => (i === 0 ? "direct" : `address-${i}=direct`)).join();
}
