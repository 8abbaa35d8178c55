/**
 * The viewers of a run. Those of busy rooms come back to any instance. Those of quiet rooms come back to one,
 * as behind a load balancer that goes by the video. Visitors watch a room for some seconds and leave for
 * good, so that rooms are released, opened again, and requested where there is no chat. Some viewers watch
 * several chats on one connection, and some the channel, whose streams follow each other.
 */
import { setTimeout as delay } from "node:timers/promises";
import { Random } from "../../../simulator/random.ts";
import { Client } from "../../harness/clients/client.ts";
import type { ClientOptions, Observer } from "../../harness/clients/observer.ts";
import type { Cluster } from "./cluster.ts";
import type { Instance } from "./instance.ts";
import { CHANNEL, type Room, Rooms, videoIdOf } from "./rooms.ts";
import { ChannelLog, MergedLog } from "./several-logs.ts";
import { holds, isReleased } from "./tables.ts";
import { ViewerLog, VisitorLog } from "./viewer-log.ts";

/** How many of ten quiet rooms are at home on each instance. */
const HOMES = [7, 2, 1];
/** Enough rooms that most are released before their next visit. */
const VISITED_ROOMS = 40;
const VISIT_MS = { least: 200, most: 6000 };
const JUNK_SHARE = 0.15;
/** The number of viewers of several chats, and of those of the channel, as a share of the viewers of one. */
const MERGED_SHARE = 0.1;
const CHANNEL_SHARE = 0.1;
/** The time between two streams of the channel. */
const STREAM_MS = { least: 6000, most: 16_000 };
const STREAM_SETTLES_MS = 45_000;
/** Time limit for an answer of the database. */
const RELEASED_MS = 10_000;
/** Time limit for a failover during a stream. */
const STREAM_KEPT_MS = 3 * STREAM_SETTLES_MS;
/** The maximum number of their chats. */
const MERGED_ROOMS = 4;
/** How long a client stays away if a chat of its connection does not continue. */
const TROUBLE_MS = 1000;
/** The share of visits during which the chat ends. */
const END_SHARE = 0.06;

export interface Viewer {
  room: Room;
  log: ViewerLog;
  client: Client;
  /** The instance of its connections, unless that is down; undefined: any. */
  home: Instance | undefined;
  /** The instance of its newest connection. */
  at: Instance;
}

export class Audience implements AsyncDisposable {
  readonly rooms: Rooms;
  readonly staying: Viewer[] = [];
  readonly atChannel: { log: ChannelLog; client: Client }[] = [];
  readonly visitors: VisitorLog[] = [];
  readonly #cluster: Cluster;
  readonly #random: Random;
  readonly #seed: number;
  readonly #over = new AbortController();
  #visits = Promise.resolve();
  /** Whether the channel's stream must go on, and whether it is over while its viewers may lack its end. */
  #isStreamKept = false;
  #isStreamEnding = false;

  constructor(cluster: Cluster, seed: number, viewers: number) {
    this.#cluster = cluster;
    this.#seed = seed;
    this.#random = new Random(seed, "audience");
    this.rooms = new Rooms(cluster.upstream, cluster.setup, new Random(seed, "talk"));
    const crowded = this.rooms.of("busy", "lossy");
    for (let n = 0; n < viewers; n++) this.#stay(crowded.filter((_, at) => at === n % crowded.length));
    const homes = HOMES.flatMap((share, n) => Array<Instance | undefined>(share).fill(cluster.instances[n]));
    for (const [n, room] of this.rooms.of("quiet").entries()) this.#stay([room], homes[n % homes.length]);
    const pick = () => this.#random.pick(crowded);
    for (let left = viewers * MERGED_SHARE; left > 0; left--)
      this.#stay([...new Set(Array.from({ length: MERGED_ROOMS }, pick))]);
    for (let left = viewers * CHANNEL_SHARE; left > 0; left--) this.#stayAtChannel();
  }

  /** The clients that stay. */
  get clients(): Client[] {
    return [...this.staying, ...this.atChannel].map(({ client }) => client);
  }

  /** The chats with viewers that stay, unless the chat is over: an instance must be reading each. */
  get watched(): Set<string> {
    const rooms = this.staying.filter(({ log }) => !log.hasEnded).map(({ room }) => room);
    if (this.atChannel.length > 0 && !this.rooms.stream.isOver) rooms.push(this.rooms.stream);
    return new Set(rooms.map(({ videoId }) => videoId));
  }

  /** The logs of the viewers of the channel: of its stream, unless that is over, and all others. */
  get channelLogs(): { last: ViewerLog[]; others: ViewerLog[] } {
    const { videoId, isOver } = this.rooms.stream;
    const last = isOver ? [] : this.atChannel.map(({ log }) => log.of(videoId));
    const others = this.atChannel.flatMap(({ log }) => [log.own, ...log.logs]);
    return { last, others: others.filter((log) => !last.includes(log)) };
  }

  /** The home instance of most quiet rooms. */
  get mainHome(): Instance | undefined {
    return this.#cluster.instances[0];
  }

  residents(home: Instance | undefined): Viewer[] {
    return this.staying.filter((viewer) => viewer.home === home);
  }

  /** Lets visitors come and go until `close`. */
  open(): void {
    this.rooms.talk();
    this.#visits = Promise.all([this.#visit(), this.#streamOn()]).then(() => {});
  }

  /** Sends visitors to this many new rooms at once. */
  rush(count: number): void {
    const visits = Array.from({ length: count }, () => this.#lookIn(this.rooms.open("visited")));
    this.#visits = Promise.all([this.#visits, ...visits]).then(() => {});
  }

  /**
   * Replaces the database while a stream of the channel goes on, and lasts until that is stored again: nobody
   * could read again what a lost database held of a chat that is over.
   */
  async duringStream(replace: () => Promise<void>): Promise<void> {
    const cluster = this.#cluster;
    this.#isStreamKept = true;
    await cluster.until(() => !this.#isStreamEnding, STREAM_SETTLES_MS);
    await replace();
    const { videoId, chat } = this.rooms.stream;
    const last = chat.ledger.at(-1)?.id ?? "";
    const isStored = () => holds(cluster.postgres.url, videoId, last);
    if (this.atChannel.length > 0 && !(await cluster.until(isStored, STREAM_SETTLES_MS)))
      cluster.verdict.violate("reading", `${videoId}: nobody read it after another database came`);
    this.#isStreamKept = false;
  }

  /** Stops all messages; only the lasting viewers stay. */
  async close(): Promise<void> {
    this.#over.abort();
    await this.#visits;
    this.rooms.hush();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
    await Promise.all(this.clients.map((client) => client.leave()));
  }

  /** A viewer of some of these rooms on one connection: one in the list for each room. */
  #stay(rooms: readonly Room[], home?: Instance): void {
    const { instances } = this.#cluster;
    const random = new Random(this.#seed, `viewer ${this.staying.length}`);
    const instanceNow = () => (home?.isUp ? home : random.pick(instances));
    const watching = rooms.map((room) => ({
      room,
      log: new ViewerLog(room.videoId),
      home,
      at: instanceNow(),
    }));
    const base = () => {
      const at = instanceNow();
      for (const viewer of watching) viewer.at = at;
      return at.service.url;
    };
    const logs = watching.map(({ log }) => log);
    const [log, ...others] = logs;
    if (!log) return;
    const start = home ? { lastEventId: 0 } : { backfill: 0 };
    const videoIds = logs.map(({ videoId }) => videoId);
    const come = (asked: ClientOptions, observer: Observer): Client =>
      new Client("http", base, { ...asked, ...start }, observer, random);
    const client: Client =
      others.length > 0
        ? come({ videoIds }, new MergedLog(logs, () => client.drop(TROUBLE_MS)))
        : come({ videoId: log.videoId }, log);
    this.staying.push(...watching.map((viewer) => Object.assign(viewer, { client })));
  }

  #stayAtChannel(): void {
    const random = new Random(this.#seed, `viewer ${this.atChannel.length} of the channel`);
    const base = () => random.pick(this.#cluster.instances).service.url;
    const isStream = (videoId: string) => this.rooms.of("stream").some((room) => room.videoId === videoId);
    const log = new ChannelLog(CHANNEL, isStream, () => client.drop(TROUBLE_MS));
    const client = new Client("http", base, { channel: CHANNEL, backfill: 500 }, log, random);
    this.atChannel.push({ log, client });
  }

  /** The channel's streams follow each other, each once the viewers have all of the one before. */
  async #streamOn(): Promise<void> {
    const { signal } = this.#over;
    const cluster = this.#cluster;
    const random = new Random(this.#seed, "streams");
    while (!signal.aborted) {
      this.rooms.beginStream();
      const forMs = STREAM_MS.least + random.next() * (STREAM_MS.most - STREAM_MS.least);
      await delay(forMs, undefined, { signal }).catch(() => {});
      await cluster.until(() => !this.#isStreamKept, STREAM_KEPT_MS);
      if (signal.aborted) return;
      this.#isStreamEnding = true;
      const { videoId, chat } = this.rooms.endStream();
      const said = new Map([[videoId, chat.ledger.map(({ id }) => id)]]);
      // A viewer that could not enter during the whole stream has no place in it.
      const isServed = (log: ViewerLog) => log.isComplete(said) || !log.wasOpened;
      const isWhole = () => this.atChannel.every(({ log }) => isServed(log.of(videoId)));
      if (await cluster.until(isWhole, STREAM_SETTLES_MS)) cluster.verdict.count("streams of the channel");
      else if (await cluster.until(() => isReleased(cluster.postgres.url, videoId), RELEASED_MS))
        cluster.verdict.count(
          "streams of the channel that nobody read for the grace time, so that they ended",
        );
      else
        cluster.verdict.violate(
          "delivery",
          `${videoId}: not all viewers of its channel got its last message`,
        );
      this.#isStreamEnding = false;
    }
  }

  async #visit(): Promise<void> {
    const { signal } = this.#over;
    const present = new Set<Promise<void>>();
    while (!signal.aborted) {
      const visit = this.#lookIn(this.#drawn()).finally(() => present.delete(visit));
      present.add(visit);
      const pauseMs = this.#cluster.setup.visitMs * 2 * this.#random.next();
      await delay(pauseMs, undefined, { signal }).catch(() => {});
    }
    await Promise.all(present);
  }

  /** One visitor comes, and leaves for good. */
  async #lookIn(room: Room | undefined): Promise<void> {
    const n = this.visitors.length;
    const random = new Random(this.#seed, `visitor ${n}`);
    const videoId = room?.videoId ?? videoIdOf("junk", n);
    const log = new VisitorLog(videoId, () => room?.isOver ?? false);
    const { url } = random.pick(this.#cluster.instances).service;
    this.visitors.push(log);
    const client = new Client("http", () => url, { videoId }, log, random);
    const stayMs = VISIT_MS.least + random.next() * (VISIT_MS.most - VISIT_MS.least);
    await delay(stayMs, undefined, { signal: this.#over.signal }).catch(() => {});
    if (room && random.chance(END_SHARE)) this.rooms.end(room);
    await client.leave();
  }

  /** The room of a visit, which its first visitor opens; undefined if there is none. */
  #drawn(): Room | undefined {
    if (this.#random.chance(JUNK_SHARE)) return undefined;
    const rooms = this.rooms.of("visited");
    return rooms[this.#random.below(VISITED_ROOMS)] ?? this.rooms.open("visited");
  }
}
