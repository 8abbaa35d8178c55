/**
 * The parts of a run: the service with its process, disk and injector, the upstream with its chats, the
 * viewers, and the judges of both sides. `events/` has the events that happen to them.
 */

import type { Fault, FaultOrder } from "../../simulator/faults.ts";
import { type EndShape, type Simulator, startSimulator } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import type { ClientOptions } from "../harness/clients/observer.ts";
import type { Promised } from "../harness/promises.ts";
import { Audience, type Viewer } from "./audience.ts";
import { ChatScript, LONG_HISTORY, LONG_ROOM } from "./chat-script.ts";
import { Disk } from "./disk.ts";
import { type Edge, edgesOf } from "./edges.ts";
import { FaultInjector, type InjectedFault, KILL_POINTS, THREAD_DEATHS } from "./fault-injector.ts";
import { GapJudge } from "./gap-judge.ts";
import { Line } from "./line.ts";
import type { RoomTruth } from "./room-truth.ts";
import { freePorts, Service } from "./service.ts";
import { UpstreamJudge } from "./upstream-judge.ts";
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
}

/** Faster than in production; seven rooms ask for more calls than the spacing allows. */
const LIMITS = { spacingMs: 50, concurrency: 4, cooldownMs: 700, pollMinMs: 150 };
export const GRACE_MS = 4000;
/** The same at the service and at its edges. */
const OF_STREAMS = { RELAY_GRACE_MS: String(GRACE_MS), RELAY_KEEPALIVE_MS: "1000" };
/** Longer than any wall before a single room, shorter than the breaker's outages. */
const FAILING = { failures: 5, ms: 15_000 };

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

export class World implements AsyncDisposable {
  readonly random: Random;
  readonly verdict: Verdict;
  readonly upstream: Simulator;
  /** To the upstream's main host. */
  readonly line: Line;
  readonly disk: Disk;
  readonly injector: FaultInjector;
  readonly service: Service;
  readonly edges: readonly Edge[];
  readonly script: ChatScript;
  readonly audience: Audience;
  readonly gapJudge = new GapJudge();
  peakRssBytes = 0;
  readonly #upstreamJudge: UpstreamJudge;
  settleMs = SETTLE_MS;
  #orders: { name: string; fault: Fault }[] = [];

  static async create(
    { seed, projectDir, store, without = [], edges = 0, settleMs }: WorldOptions,
    verdict: Verdict,
  ): Promise<World> {
    const upstream = await startSimulator({ seed });
    const injector = new FaultInjector(without.includes("hand-over") ? ["./no-hand-over.preload.ts"] : []);
    const disk = new Disk(DISK_BYTES);
    const line = await Line.to(Number(new URL(upstream.urls.main).port));
    const [port = 0] = await freePorts(1);
    const service = new Service({
      projectDir,
      port,
      injector,
      settings: {
        RELAY_STORE: store === "memory" ? "memory:" : disk.storeUrl,
        RELAY_UPSTREAM_URL: line.url,
        RELAY_UPSTREAM_MUSIC_URL: upstream.urls.music,
        RELAY_UPSTREAM_MOBILE_URL: upstream.urls.mobile,
        RELAY_GATE_SPACING_MS: String(LIMITS.spacingMs),
        RELAY_GATE_CONCURRENCY: String(LIMITS.concurrency),
        RELAY_COOLDOWN_MS: String(LIMITS.cooldownMs),
        RELAY_POLL_MIN_MS: String(LIMITS.pollMinMs),
        RELAY_POLL_MAX_MS: "1000",
        ...OF_STREAMS,
        RELAY_CHANNEL_MS: "2000",
        RELAY_LOOK_MS: "5000", // else a room that waits at the end is looked for after the run has settled
        RELAY_MAX_FAILURES: String(FAILING.failures),
        RELAY_FAILING_MS: String(FAILING.ms),
        RELAY_COMPRESSION: without.includes("compression") ? "off" : "auto",
      },
    });
    const below = await edgesOf({ projectDir, count: edges, origin: port, settings: OF_STREAMS });
    const parts = { upstream, line, injector, disk, service, edges: below };
    const world = new World(seed, verdict, parts);
    world.settleMs = settleMs ?? (edges > 0 ? SETTLE_WITH_EDGES_MS : SETTLE_MS);
    return world;
  }

  private constructor(
    seed: number,
    verdict: Verdict,
    parts: Pick<World, "upstream" | "line" | "injector" | "disk" | "service" | "edges">,
  ) {
    const { upstream, service, edges } = parts;
    const random = new Random(seed, "chaos");
    this.random = random;
    this.verdict = verdict;
    this.upstream = upstream;
    this.line = parts.line;
    this.injector = parts.injector;
    this.disk = parts.disk;
    this.service = service;
    this.edges = edges;
    this.#upstreamJudge = new UpstreamJudge(upstream, LIMITS, verdict);
    const script = new ChatScript(upstream);
    this.script = script;
    const doors = [service, ...edges.map((edge) => edge.service)];
    const choice = new Random(seed, "doors");
    const url = () => choice.pick(doors).url;
    this.audience = new Audience({ random, verdict, script, url, isSpread: edges.length > 0 });
  }

  get rooms(): readonly RoomTruth[] {
    return this.script.rooms;
  }

  /** The rooms whose chats continue. */
  get liveRooms(): RoomTruth[] {
    return this.script.liveRooms;
  }

  /** Says many long messages in their room, which must be open. */
  async sayLongHistory(): Promise<void> {
    for (let answer = 0; answer < LONG_HISTORY.answers; answer++) {
      this.script.sayLong(LONG_HISTORY.messages);
      await this.upstream.requested("get_live_chat", { videoId: LONG_ROOM, finished: true });
    }
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

  /** All viewers move from a finished replay to a new one. */
  async changeReplay(): Promise<void> {
    await this.#move(this.script.replay, this.script.newReplay());
    this.verdict.count("replays");
  }

  /** The brief chat ends: its viewers must receive all of it and the end, and move to a new one. */
  async endBrief(shape: EndShape, lastWords: boolean): Promise<void> {
    const before = this.script.brief;
    const watching = this.audience.of(before).filter(isOfOneChat);
    this.script.endBrief(shape, lastWords);
    await this.until(() => watching.every(({ judge }) => judge.hasEnded), `the end of ${before.videoId}`);
    if (before.cursorOf(before.chat.ledger.length) === undefined) {
      this.verdict.violate("stream", `${before.videoId} ended before all was sent`);
    }
    await this.#move(before, this.script.newBrief());
    this.verdict.count("live chats ended");
  }

  async #move(from: RoomTruth, to: RoomTruth): Promise<void> {
    const watching = this.audience.of(from).filter(isOfOneChat);
    await Promise.all(watching.map((viewer) => this.audience.leave(viewer)));
    for (const _ of watching) await this.arrive(to);
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

  /** Ends the store's faults; then every viewer must have all messages up to now, in good time. */
  async settle(): Promise<void> {
    await this.line.open();
    for (const { line } of this.edges) await line.open();
    this.disk.free();
    this.disk.unlock();
    this.disk.unseal();
    for (const name of INJECTED_FAULTS) this.injector.disarm(name);
    for (const { client } of this.viewers) client.comeBack();
    const said = new Map(this.rooms.map((room) => [room, room.chat.ledger.length]));
    const due = (room: RoomTruth) => room.cursorOf(said.get(room) ?? 0) ?? Number.POSITIVE_INFINITY;
    const lags = () =>
      [...this.viewers].filter(({ judge, client }) => !(client.isOpen || judge.hasEnded) || judge.lacks(due));
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
    { maxMs = this.settleMs, promise = "delivery" }: { maxMs?: number; promise?: Promised } = {},
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
    if (this.brokenRooms > this.verdict.total("faults foreign claim")) {
      this.verdict.violate("health", "a room broke that nobody had taken over");
    }
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
    await this.line[Symbol.asyncDispose]();
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
