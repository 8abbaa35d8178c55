/**
 * What a soak plays with: rooms that come and go on a simulated upstream, their viewers, and the service,
 * which deletes what is older than minutes. Its events are milder than those of `events/`, but nothing here
 * starts the service anew.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import type { Failure, Fault, FaultOrder } from "../../simulator/faults.ts";
import { END_SHAPES, realisticHold, type Simulator, startSimulator } from "../../simulator/index.ts";
import { Random } from "../../simulator/random.ts";
import { Client, type ClientKind } from "../harness/clients/client.ts";
import { PAGE_FAILURES } from "../harness/upstream-failures.ts";
import { atExit } from "./at-exit.ts";
import { comeAndGo } from "./churn-clients.ts";
import { GapJudge } from "./gap-judge.ts";
import { Line } from "./line.ts";
import { type Gap, RoomTruth } from "./room-truth.ts";
import { freePorts, Service } from "./service.ts";
import { judgeGaps, judgeStore } from "./store-judge.ts";
import { UpstreamJudge } from "./upstream-judge.ts";
import type { Verdict } from "./verdict.ts";
import { ViewerJudge } from "./viewer-judge.ts";

const PROJECT = fileURLToPath(new URL("../..", import.meta.url));
const LIMITS = { spacingMs: 50, concurrency: 4, cooldownMs: 1000, pollMinMs: 500 };
const GRACE_MS = 12_000;
const KEPT_MINUTES = 5;
/** Collects all garbage at SIGUSR2: what is left is in use. */
const COLLECTING = "--expose-gc --import=data:text/javascript,process.on(%22SIGUSR2%22,()=>gc())";
const COLLECTION_MS = 500;

/**
 * Its page holds more than is said in any outage, and less than is said while messages are kept. Each message
 * bears a time: the place of one without is not certain where an answer begins with it.
 */
const CHAT = {
  page: 200,
  overlap: 20,
  timeoutMs: 2000,
  kinds: ["text", "paid", "sticker", "membership", "milestone", "gift", "redemption"],
} as const;
/**
 * One that holds no more for a late reader than the real upstream: what is missing there is lost. Top chat
 * leaves out nothing, as in the lossy room of chaos.
 */
const LOSSY_CHAT = {
  ...realisticHold,
  ...CHAT,
  page: 50,
  kinds: ["text", "paid"],
  onlyInAll: () => false,
} as const;
/** Messages a second, by turns of rooms. */
const RATES = [1, 2, 4, 1] as const;
/** Of the rooms that are there at first: they stay. One in four of these loses messages. */
const LASTING_SHARE = 0.4;
/**
 * Gzip is what `eventsource` and the SDK ask for, as the built-in fetch does; the others are sent plain text.
 */
const KINDS: readonly ClientKind[] = [
  ...Array<ClientKind>(11).fill("http"),
  ...Array<ClientKind>(4).fill("eventsource"),
  ...Array<ClientKind>(4).fill("sdk"),
  "curl",
];
const SETTLE_MS = 60_000;

interface Room {
  truth: RoomTruth;
  traffic: { stop(): void };
  isLasting: boolean;
}

interface Viewer {
  client: Client;
  judge: ViewerJudge;
  room: Room;
  /** The first one of its room: sees all of it, and stays. */
  isWitness: boolean;
}

export class SoakWorld implements AsyncDisposable {
  readonly random: Random;
  readonly service: Service;
  readonly storePath: string;
  readonly #rooms = new Set<Room>();
  readonly #viewers = new Set<Viewer>();
  readonly #verdict: Verdict;
  readonly #upstream: Simulator;
  readonly #lines: readonly Line[];
  readonly #upstreamJudge: UpstreamJudge;
  readonly #gapJudge = new GapJudge();
  readonly #judgedGaps = new Set<Gap>();
  readonly #owned: AsyncDisposableStack;
  readonly #faults: Fault[] = [];
  #opened = 0;
  #named = 0;

  static async open(seed: number, verdict: Verdict): Promise<SoakWorld> {
    await using owned = new AsyncDisposableStack();
    const folder = mkdtempSync(join(tmpdir(), "relay-soak-"));
    const remove = () => rmSync(folder, { recursive: true, force: true });
    owned.defer(atExit(remove));
    owned.defer(remove);
    const upstream = owned.use(await startSimulator({ seed }));
    const line = async (url: string) => owned.use(await Line.to(Number(new URL(url).port)));
    const main = await line(upstream.urls.main);
    const music = await line(upstream.urls.music);
    const mobile = await line(upstream.urls.mobile);
    const [port = 0] = await freePorts(1);
    const storePath = join(folder, "relay.db");
    const settings = {
      NODE_OPTIONS: COLLECTING,
      RELAY_STORE: `sqlite:${storePath}`,
      RELAY_UPSTREAM_URL: main.url,
      RELAY_UPSTREAM_MUSIC_URL: music.url,
      RELAY_UPSTREAM_MOBILE_URL: mobile.url,
      RELAY_GATE_SPACING_MS: String(LIMITS.spacingMs),
      RELAY_COOLDOWN_MS: String(LIMITS.cooldownMs),
      RELAY_GRACE_MS: String(GRACE_MS),
      RELAY_RETENTION_DAYS: (KEPT_MINUTES / 1440).toFixed(9),
    };
    const service = owned.use(new Service({ projectDir: PROJECT, port, settings }));
    await service.start();
    return new SoakWorld(seed, verdict, upstream, [main, music, mobile], service, storePath, owned.move());
  }

  private constructor(
    seed: number,
    verdict: Verdict,
    upstream: Simulator,
    lines: readonly Line[],
    service: Service,
    storePath: string,
    owned: AsyncDisposableStack,
  ) {
    this.random = new Random(seed, "soak");
    this.#verdict = verdict;
    this.#upstream = upstream;
    this.#lines = lines;
    this.service = service;
    this.storePath = storePath;
    this.#owned = owned;
    this.#upstreamJudge = new UpstreamJudge(upstream, LIMITS, verdict);
    this.#upstreamJudge.lifeBegins();
    this.#gapJudge.lost();
  }

  anyRoom(): Room {
    return this.random.pick([...this.#rooms]);
  }

  /** One that does not stay. */
  passingRoom(): Room {
    return this.random.pick([...this.#rooms].filter(({ isLasting }) => !isLasting));
  }

  /** Rooms and their viewers come. */
  async fill(rooms: number, viewers: number): Promise<void> {
    for (let i = 0; i < rooms; i++)
      await this.#openRoom(Math.floor(viewers / rooms), i < rooms * LASTING_SHARE);
  }

  /** Looks at what has happened since the last look. */
  judge(): void {
    this.#upstreamJudge.judge();
    this.#gapJudge.observe(this.#upstream.requests);
    judgeGaps(this.storePath, this.#truths, this.#gapJudge, this.#verdict, this.#judgedGaps);
    if (this.service.pid === undefined) throw new Error("the service ended by itself");
  }

  /** Has the service collect all garbage, for which it stands still. */
  async collectGarbage(): Promise<void> {
    this.service.signal("SIGUSR2");
    await pause(COLLECTION_MS);
    this.#upstreamJudge.thawed();
  }

  /** All is said and sent, the service stops, and its file is looked into. */
  async end(): Promise<void> {
    for (const { traffic } of this.#rooms) traffic.stop();
    await this.settle();
    const lost = this.#verdict.total("connections lost");
    if (lost > 0) this.#verdict.violate("delivery", `${lost} connections were lost`);
    this.#verdict.lives += 1; // what they lose from now on goes with the service
    this.service.signal("SIGTERM");
    const { code, signal } = await this.service.exited;
    if (this.service.bug) this.#verdict.violate("health", this.service.bug);
    if (code !== 0) this.#verdict.violate("stop", `the stop ended with ${code ?? signal}`);
    judgeStore(this.storePath, this.#truths, this.#gapJudge, this.#verdict, { isPruned: true });
    await this.#leave([...this.#viewers]);
  }

  /** Each viewer with this chance, for so long at most. */
  each(share: number, maxMs: number, act: (viewer: Viewer, ms: number) => void): void {
    for (const viewer of this.#viewers) if (this.random.chance(share)) act(viewer, this.random.below(maxMs));
  }

  /** Some leave, and as many others come. */
  async exchange(share: number): Promise<void> {
    const leaving = [...this.#viewers].filter((viewer) => !viewer.isWitness && this.random.chance(share));
    await this.#leave(leaving);
    for (const { room } of leaving) this.#arrive(room);
  }

  async churn(): Promise<void> {
    const { videoId } = this.anyRoom().truth;
    await comeAndGo({ service: this.service.url, videoId, viewers: 4, forMs: 4000 });
  }

  /** So many calls meet one of the failures, until everything is to be well again. */
  fail(on: FaultOrder["on"], times: number, failures: readonly Failure[]): void {
    this.#faults.push(this.#upstream.fault({ on, as: this.random.pick(failures), times }));
  }

  /** Before a third of the rooms: their tokens are refused, and there is no page for them. */
  async wall(): Promise<void> {
    this.fail(["popout", "watch", "next"], Number.POSITIVE_INFINITY, Object.values(PAGE_FAILURES));
    for (const { truth } of this.#rooms) if (this.random.chance(0.33)) truth.chat.expireTokens();
    await pause(3000 + this.random.below(6000));
    await this.settle();
  }

  /**
   * As the service sees one: connections break, none can be made for a while, and no token is known
   * afterwards.
   */
  async restartUpstream(): Promise<void> {
    for (const line of this.#lines) line.shut();
    await pause(2000 + this.random.below(6000));
    for (const { truth } of this.#rooms) truth.chat.expireTokens();
    await this.settle();
  }

  /** A chat ends: its viewers are sent all of it and the end, and go over to another. */
  async endRoom(): Promise<void> {
    const room = this.passingRoom();
    const { chat, videoId } = room.truth;
    const watching = this.#viewersOf(room);
    room.traffic.stop();
    chat.say(1); // whoever has it holds a good token: without one nobody is shown the last words
    await this.settle(watching);
    const shape = this.random.pick(END_SHAPES);
    chat.say(3);
    room.truth.mayEnd = true;
    chat.end(shape, { lastWords: shape !== "no-contents" && this.random.chance(0.5) });
    const isKnown = () => watching.every(({ judge }) => judge.hasEnded);
    await this.#until(isKnown, () => `the end of ${videoId}`);
    await this.leaveRoom(room);
  }

  /** All leave it for a new one. */
  async leaveRoom(room: Room): Promise<void> {
    const watching = this.#viewersOf(room);
    room.traffic.stop();
    await this.#leave(watching);
    this.#rooms.delete(room);
    await this.#openRoom(watching.length, false);
  }

  /** Its viewers are away until it is let go of, and come back with their cursors. */
  async desert(): Promise<void> {
    const room = this.anyRoom();
    const watching = this.#viewersOf(room);
    for (const { client } of watching) client.drop(Number.POSITIVE_INFINITY);
    await pause(GRACE_MS + 2000);
    this.#gapJudge.lost(room.truth.videoId);
    await this.settle(watching);
  }

  /** Nothing is wrong any more, and they have everything that was said up to now, in good time. */
  async settle(viewers: readonly Viewer[] = [...this.#viewers]): Promise<void> {
    for (const fault of this.#faults.splice(0)) fault.cancel();
    for (const line of this.#lines) await line.open();
    for (const { client } of viewers) client.comeBack();
    const said = new Map([...this.#rooms].map(({ truth }) => [truth, truth.chat.ledger.length]));
    const due = (truth: RoomTruth) => truth.cursorOf(said.get(truth) ?? 0) ?? Number.POSITIVE_INFINITY;
    const lagging = () => viewers.filter((v) => !v.client.isOpen || !v.judge.hasReached(due(v.room.truth)));
    const placeOf = ({ judge, room }: Viewer) => `${room.truth.videoId} at ${judge.cursor}`;
    await this.#until(
      () => lagging().length === 0,
      () => `viewers to have everything: ${lagging().map(placeOf).join()}`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leave([...this.#viewers]);
    this.#upstreamJudge.close();
    await this.#owned.disposeAsync();
  }

  get #truths(): RoomTruth[] {
    return [...this.#rooms].map(({ truth }) => truth);
  }

  #viewersOf(room: Room): Viewer[] {
    return [...this.#viewers].filter((viewer) => viewer.room === room);
  }

  async #openRoom(viewers: number, isLasting: boolean): Promise<void> {
    const number = this.#opened++;
    const isLossy = isLasting && number % 4 === 3;
    const scenario = isLossy ? LOSSY_CHAT : CHAT;
    const chat = this.#upstream.chat(`soak-${String(number).padStart(6, "0")}`, scenario);
    chat.say(30);
    const truth = new RoomTruth(chat, "live", { pageLength: scenario.page, isLossy });
    const room = { truth, traffic: chat.speak(RATES[number % RATES.length] ?? 1), isLasting };
    this.#rooms.add(room);
    this.#arrive(room, true);
    const isOpen = () => truth.base !== undefined;
    await this.#until(isOpen, () => `the first viewer of ${truth.videoId}`);
    for (let i = 1; i < viewers; i++) this.#arrive(room);
    this.#verdict.count("rooms opened");
  }

  #arrive(room: Room, isWitness = false): void {
    this.#named += 1;
    const kind = this.random.pick(KINDS);
    const asked = {
      videoId: room.truth.videoId,
      backfill: this.random.pick([0, 1, 20]),
      details: this.random.chance(0.15),
      ...(isWitness && { lastEventId: 0 }),
    };
    const judge = new ViewerJudge(`${this.#named} (${kind})`, room.truth, asked, this.#verdict);
    const client = new Client(kind, () => this.service.url, asked, judge, new Random(this.#named, "client"));
    this.#viewers.add({ client, judge, room, isWitness });
    this.#verdict.count(`viewers: ${kind}`);
  }

  async #leave(viewers: readonly Viewer[]): Promise<void> {
    for (const viewer of viewers) {
      this.#viewers.delete(viewer);
      this.#verdict.count("messages received", viewer.judge.messages);
    }
    await Promise.all(viewers.map(({ client }) => client.leave()));
  }

  /** Waits for something that must come about; that it does not is a violation. */
  async #until(isThere: () => boolean, what: () => string): Promise<void> {
    const from = performance.now();
    while (!isThere()) {
      if (performance.now() - from > SETTLE_MS)
        return this.#verdict.violate("delivery", `waited for ${what()} in vain`);
      await pause(50);
    }
  }
}
