/**
 * The parts of a run: the service with its process, disk and injector, the upstream with its chats, the
 * viewers, and the judges of both sides. `events/` has the events that happen to them.
 */

import type { Fault, FaultOrder } from "../../simulator/faults.ts";
import { type Simulator, startSimulator } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import type { ClientOptions } from "../harness/clients/observer.ts";
import type { Promised } from "../harness/promises.ts";
import { Audience, type Habits, type Viewer } from "./audience.ts";
import type { ChatScript, Chats } from "./chat-script.ts";
import { Disk } from "./disk.ts";
import { type Edge, edgesOf } from "./edges.ts";
import { FaultInjector, type InjectedFault, KILL_POINTS, THREAD_DEATHS } from "./fault-injector.ts";
import { GapJudge } from "./gap-judge.ts";
import type { RoomTruth } from "./room-truth.ts";
import { freePorts, Service } from "./service.ts";
import { type Limits, UpstreamJudge } from "./upstream-judge.ts";
import { UpstreamLines } from "./upstream-lines.ts";
import type { Verdict } from "./verdict.ts";
import { ViewerJudge } from "./viewer-judge.ts";

/** Optimisations of streams, invisible to viewers. Without the second, the first is off, too. */
export const SHORT_CUTS = ["compression", "hand-over"] as const;
export type ShortCut = (typeof SHORT_CUTS)[number];

export interface WorldOptions {
  seed: number;
  /** The project whose service to run. */
  projectDir: string;
  /** `memory` is lost at each restart: for runs without restarts. */
  store?: "sqlite" | "memory";
  /** The optimisations to switch off. */
  without?: readonly ShortCut[];
  /** The number of edges, of which the last follows the first. */
  edges?: number;
  /** Time limit until every viewer has everything, once all faults are over. */
  settleMs?: number;
  limits?: Limits;
  /** Further ones of the service. */
  settings?: Readonly<Record<string, string>>;
  /** Whether faults can happen within the service. */
  isInjected?: boolean;
  habits?: Habits;
}

/** Faster than in production; seven rooms ask for more calls than the spacing allows. */
const LIMITS: Limits = { spacingMs: 50, concurrency: 4, cooldownMs: 700, pollMinMs: 150 };
export const GRACE_MS = 4000;
/** The same at the service and at its edges. */
const OF_STREAMS = { RELAY_GRACE_MS: String(GRACE_MS), RELAY_KEEPALIVE_MS: "1000" };
const SETTINGS = {
  ...OF_STREAMS,
  RELAY_POLL_MAX_MS: "1000",
  RELAY_CHANNEL_MS: "2000",
  RELAY_LOOK_MS: "5000", // else a room that waits at the end is looked for after the run has settled
  // Longer than any wall before a single room, shorter than the breaker's outages.
  RELAY_MAX_FAILURES: "5",
  RELAY_FAILING_MS: "15000",
};

const SETTLE_MS = 25_000;
/** Each tier of edges resumes after waits of its own. */
const SETTLE_WITH_EDGES_MS = 50_000;
/** Holds an hour of messages; the rest is taken when the disk must be full. */
const DISK_BYTES = 512 * 1024 * 1024;
/** Time limit for the service to end when it must. */
const EXIT_MS = 15_000;

const INJECTED_FAULTS: readonly InjectedFault[] = [
  ...KILL_POINTS,
  ...THREAD_DEATHS,
  "slow-commit",
  "stall-loop",
];

export class World<Script extends Chats = ChatScript> implements AsyncDisposable {
  readonly random: Random;
  readonly verdict: Verdict;
  readonly upstream: Simulator;
  /** Those of the service. */
  readonly lines: UpstreamLines;
  readonly disk = new Disk(DISK_BYTES);
  readonly injector: FaultInjector;
  readonly service: Service;
  edges: readonly Edge[] = [];
  readonly script: Script;
  readonly audience: Audience;
  readonly gapJudge = new GapJudge();
  peakRssBytes = 0;
  readonly #upstreamJudge: UpstreamJudge;
  readonly #settleMs: number;
  #orders: { name: string; fault: Fault }[] = [];

  static async create<Script extends Chats>(
    options: WorldOptions,
    verdict: Verdict,
    scriptFor: (upstream: Simulator) => Script,
  ): Promise<World<Script>> {
    const { seed, projectDir, edges: count = 0 } = options;
    const upstream = await startSimulator({ seed });
    const lines = await UpstreamLines.to(upstream);
    const [port = 0] = await freePorts(1);
    const world = new World(options, verdict, { upstream, lines, port, script: scriptFor(upstream) });
    world.edges = await edgesOf({ projectDir, count, origin: port, settings: OF_STREAMS });
    return world;
  }

  private constructor(
    options: WorldOptions,
    verdict: Verdict,
    {
      upstream,
      lines,
      port,
      script,
    }: Pick<World<Script>, "upstream" | "lines" | "script"> & { port: number },
  ) {
    const { seed, projectDir, store, without = [], edges = 0, isInjected = true, habits } = options;
    const { limits = LIMITS, settings = SETTINGS } = options;
    const random = new Random(seed, "chaos");
    this.random = random;
    this.verdict = verdict;
    this.upstream = upstream;
    this.lines = lines;
    this.script = script;
    this.injector = new FaultInjector(without.includes("hand-over") ? ["./no-hand-over.preload.ts"] : []);
    this.service = new Service({
      projectDir,
      port,
      ...(isInjected && { injector: this.injector }),
      settings: {
        RELAY_STORE: store === "memory" ? "memory:" : this.disk.storeUrl,
        ...lines.settings,
        RELAY_GATE_SPACING_MS: String(limits.spacingMs),
        RELAY_GATE_CONCURRENCY: String(limits.concurrency),
        RELAY_COOLDOWN_MS: String(limits.cooldownMs),
        RELAY_POLL_MIN_MS: String(limits.pollMinMs),
        RELAY_COMPRESSION: without.includes("compression") ? "off" : "auto",
        ...settings,
      },
    });
    this.#settleMs = options.settleMs ?? (edges > 0 ? SETTLE_WITH_EDGES_MS : SETTLE_MS);
    this.#upstreamJudge = new UpstreamJudge(upstream, limits, verdict);
    const choice = new Random(seed, "doors");
    const url = () => choice.pick([this, ...this.edges]).service.url;
    this.audience = new Audience({ random, verdict, url, isSpread: edges > 0, habits });
  }

  get rooms(): readonly RoomTruth[] {
    return this.script.rooms;
  }

  /** The rooms whose chats continue. */
  get liveRooms(): RoomTruth[] {
    return this.script.liveRooms;
  }

  get viewers(): ReadonlySet<Viewer> {
    return this.audience.viewers;
  }

  async start(): Promise<void> {
    this.verdict.lives += 1;
    this.#upstreamJudge.lifeBegins();
    this.gapJudge.lost();
    this.verdict.time("start", await this.service.start());
    for (const { service } of this.edges) if (service.pid === undefined) await service.start();
  }

  /** Waits for the service to end, by itself or by a signal, and restarts it after `downMs`. */
  async restart(what: string, downMs = this.random.below(1200)): Promise<void> {
    this.judge();
    const isGone = await Promise.race([
      this.service.exited.then(() => true),
      new Promise<boolean>((resolve) => setTimeout(resolve, EXIT_MS, false).unref()),
    ]);
    if (!isGone) this.verdict.violate("stop", `${what}: the service is still there after ${EXIT_MS} ms`);
    await this.pause(downMs);
    await this.start();
  }

  /** A viewer of a chat comes; waits for the first one of a room to learn where it begins. */
  async arrive(room: RoomTruth, options: Partial<ClientOptions> = {}): Promise<void> {
    const { isWitness } = this.audience.arrive(room, options);
    if (isWitness) await this.until(() => room.base !== undefined, `a first viewer of ${room.videoId}`);
  }

  /** All viewers of this chat alone move to another one. */
  async move(from: RoomTruth, to: RoomTruth): Promise<void> {
    const watching = this.audience.of(from).filter(isOfOneChat);
    await Promise.all(watching.map((viewer) => this.audience.leave(viewer)));
    for (const _ of watching) await this.arrive(to);
  }

  /** A chat ends: its viewers must receive all of it and the end, and move to the next one. */
  async endChat(room: RoomTruth, end: () => void, next: () => RoomTruth): Promise<void> {
    const watching = this.audience.of(room).filter(isOfOneChat);
    end();
    await this.until(() => watching.every(({ judge }) => judge.hasEnded), `the end of ${room.videoId}`);
    if (room.cursorOf(room.chat.ledger.length) === undefined)
      this.verdict.violate("stream", `${room.videoId} ended before all was sent`);
    await this.move(room, next());
    this.verdict.count("live chats ended");
  }

  /** Adds a fault of the upstream; `calm` cancels the faults that were not used. */
  order(order: FaultOrder): void {
    const name = `faults upstream ${nameOf(order)}`;
    this.verdict.note(`${name}, ${order.times} times`);
    this.#orders.push({ name, fault: this.upstream.fault(order) });
  }

  /**
   * Cancels all faults, and waits until every viewer has everything, with a last message of each live chat: a
   * room whose token has expired needs another for that.
   */
  async calm(): Promise<void> {
    this.callOffFaults();
    for (const { chat } of this.liveRooms) chat.say(1);
    await this.settle();
  }

  /** Cancels all faults of the upstream. */
  callOffFaults(): void {
    for (const { name, fault } of this.#orders.splice(0)) {
      fault.cancel();
      if (fault.fired > 0) this.verdict.count(name, fault.fired);
    }
  }

  /** Ends the store's faults; then viewers must have all messages up to now, in good time. */
  async settle(viewers: Iterable<Viewer> = this.viewers): Promise<void> {
    await this.lines.mend();
    for (const { line } of this.edges) await line.open();
    this.disk.free();
    this.disk.unlock();
    this.disk.unseal();
    for (const name of INJECTED_FAULTS) this.injector.disarm(name);
    for (const { client } of viewers) client.comeBack();
    const said = new Map(this.rooms.map((room) => [room, room.chat.ledger.length]));
    const due = (room: RoomTruth) => room.cursorOf(said.get(room) ?? 0) ?? Number.POSITIVE_INFINITY;
    const lags = () =>
      [...viewers].filter(({ judge, client }) => !(client.isOpen || judge.hasEnded) || judge.lacks(due));
    await this.until(
      () => lags().length === 0,
      () => {
        const [first] = lags();
        if (!first) return "nobody";
        const { judge, client } = first;
        const dues = judge.rooms.map((room) => `${room.videoId} at ${due(room)}`);
        const link = client.isOpen ? `connected to ${client.url}` : `not connected, ${judge.closeReason}`;
        return `${lags().length} viewers to have everything: the first, ${client.kind}, stands in ${judge.place}, not in ${dues}, ${link}`;
      },
    );
    for (const { judge } of this.viewers) judge.judgeSkipped();
    this.verdict.count("settlements");
  }

  /** Waits for a condition; a timeout is a violation. */
  async until(
    condition: () => boolean,
    what: string | (() => string),
    { maxMs = this.#settleMs, promise = "delivery" }: { maxMs?: number; promise?: Promised } = {},
  ): Promise<void> {
    const from = performance.now();
    while (!condition() && !this.verdict.over.aborted) {
      if (performance.now() - from > maxMs) {
        const missing = typeof what === "string" ? what : what();
        this.verdict.violate(promise, `waited ${maxMs} ms in vain for ${missing}`);
        return;
      }
      await this.pause(20);
    }
  }

  /** Ends early if the run is over. */
  async pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.verdict.over.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.verdict.over.addEventListener("abort", done, { once: true });
    });
  }

  /** How often the service disconnected a room's viewers because of a take-over. */
  get brokenRooms(): number {
    let broken = 0;
    for (const [text, count] of this.service.errors) if (text.startsWith("room broken")) broken += count;
    return broken;
  }

  /** The service continues after a freeze: it sends its pending calls in a bunch. */
  thawed(): void {
    this.#upstreamJudge.thawed();
  }

  /** Judges the service's actions since the last look. */
  judge(): void {
    this.#upstreamJudge.judge();
    this.gapJudge.observe(this.upstream.requests);
    const claims = this.verdict.total("faults foreign claim");
    if (this.brokenRooms > claims) this.verdict.violate("health", "a room broke that nobody had taken over");
    if (this.service.roomsLeft > claims)
      this.verdict.violate("poller", "a room was left to another instance, and nobody had taken it over");
    for (const { service } of [this, ...this.edges])
      if (service.bug) this.verdict.violate("health", service.bug);
    for (const { service } of this.edges) {
      const broken = [...service.errors.keys()].find((text) => text.startsWith("room broken"));
      if (broken) this.verdict.violate("health", `at the edge ${service.url}: ${broken}`);
    }
    this.peakRssBytes = Math.max(this.peakRssBytes, this.service.rssBytes() ?? 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.viewers].map((viewer) => this.audience.leave(viewer)));
    this.#upstreamJudge.close();
    await this.service.close();
    for (const { service, line } of this.edges) {
      await service.close();
      await line[Symbol.asyncDispose]();
    }
    await this.lines[Symbol.asyncDispose]();
    await this.upstream.close();
    this.injector.close();
    this.disk.close();
  }
}

/** The others move on by themselves, or watch only chats that continue. */
function isOfOneChat({ judge }: Viewer): boolean {
  return judge instanceof ViewerJudge;
}

/** The fault's name in a report: the request that it hits, and its name, status or kind. */
function nameOf({ on, as }: FaultOrder): string {
  const what = typeof as === "string" ? as : "status" in as ? as.status : Object.keys(as)[0];
  return `${[on].flat().join("+")} ${what}`;
}
