/**
 * The viewers of a run: those of each room, a reader of logs in each way, users with tokens, and in some runs
 * viewers of several chats, and of a channel.
 */

import { Random } from "../../simulator/random.ts";
import { FrameReader } from "../harness/frames.ts";
import { ChannelChats } from "./channel-chats.ts";
import type { Edge } from "./edges.ts";
import type { FinishedStream } from "./finished-stream.ts";
import { asUser } from "./guests.ts";
import type { Host } from "./host.ts";
import { type ChannelWorld, LiveChannel } from "./live-channel.ts";
import { LogReader, type LogReaderParts, WAYS, type Watcher } from "./log-reader.ts";
import { MergedChats } from "./merged-chats.ts";
import { RECORDED_CHANNEL, type RecordedChat } from "./recorded-chat.ts";
import { Newcomer, OneChat, StoredReplay } from "./subscription.ts";
import { Viewer, type ViewerParts } from "./viewer.ts";

const VIEWERS_PER_ROOM = 2;
const MERGED_VIEWERS = 3;
const CHANNEL_VIEWERS = 3;
/** Viewers of any room, for each edge; like all others they come to any process. */
const VIEWERS_PER_EDGE = 2;
/** The most chats of one connection. */
const MAX_MERGED = 6;

/** The parts of the world that the audience uses. */
interface AudienceWorld extends ChannelWorld {
  instances: readonly Host[];
  edges: readonly Edge[];
  /** Whether each trouble affects only one party. */
  isNeighbourly: boolean;
  /** Whether a viewer of these videos may be refused for want of capacity, by this process in these words. */
  mayRefuse(videoIds: readonly string[], host: Host | undefined, message: unknown): boolean;
  recorded: RecordedChat;
  finished: readonly FinishedStream[];
}

export class Audience {
  readonly viewers: Watcher[] = [];
  /** Undefined in a run without one. */
  readonly channel: LiveChannel | undefined;
  readonly #world: AudienceWorld;
  readonly #onFrames: (viewer: Watcher) => void;
  readonly #frames = new FrameReader();
  readonly #hasTastes: boolean;

  /** `onFrames`: called when there is something to judge. */
  constructor(world: AudienceWorld, onFrames: (viewer: Watcher) => void) {
    this.#world = world;
    this.#onFrames = onFrames;
    this.#hasTastes = this.#draws("tastes", 0.5, "runs with filters");
    for (const room of world.rooms) {
      for (let left = VIEWERS_PER_ROOM; left > 0; left--)
        this.#add((judge) => new OneChat(judge(room)), room.home);
    }
    if (this.#draws("merged chats", 0.4, "runs with viewers of several chats")) this.#addMerged();
    if (this.#draws("channel", 0.4, "runs with a channel")) this.channel = this.#addChannel();
    this.#addForEdges();
    this.#addReaders();
    this.#addUsers();
    for (const [number, stream] of world.finished.entries()) this.#addOfBothChats(stream, number);
  }

  /** From a sequence of its own, so that the rest of a seed stays the same. */
  #draws(what: string, share: number, counted: string): boolean {
    const { seed, journal } = this.#world;
    const isDrawn = new Random(seed, what).chance(share);
    if (isDrawn) journal.count(counted);
    return isDrawn;
  }

  #addMerged(): void {
    const random = new Random(this.#world.seed, "chats of a connection");
    const rooms = this.#world.rooms.filter(({ home }) => home === undefined);
    for (let left = MERGED_VIEWERS; left > 0; left--) {
      const count = 2 + random.below(MAX_MERGED - 1);
      const chosen = new Set(Array.from({ length: count }, () => random.pick(rooms)));
      this.#add((judge, violate) => new MergedChats([...chosen].map(judge), violate));
    }
  }

  #addChannel(): LiveChannel {
    const channel = new LiveChannel(this.#world);
    const { isNeighbourly } = this.#world;
    for (let left = CHANNEL_VIEWERS; left > 0; left--)
      this.#add((judge, violate) => new ChannelChats(channel, judge, violate, isNeighbourly));
    return channel;
  }

  #addForEdges(): void {
    const { seed, edges, rooms } = this.#world;
    const random = new Random(seed, "viewers of edges");
    const open = rooms.filter(({ home }) => home === undefined);
    for (let left = VIEWERS_PER_EDGE * edges.length; left > 0; left--) {
      const room = random.pick(open);
      this.#add((judge) => new OneChat(judge(room)));
    }
  }

  /** From sequences of their own, as every seed has them in addition to the others. */
  #addReaders(): void {
    const { seed, rooms } = this.#world;
    const chosen = new Random(seed, "rooms of readers");
    for (const way of WAYS) this.#addReader(`log ${way}`, { room: chosen.pick(rooms), way });
  }

  #addReader(name: string, read: Pick<LogReaderParts, "room" | "way" | "named">): void {
    const { seed, scheduler, journal } = this.#world;
    const random = new Random(seed, name);
    this.viewers.push(
      new LogReader(name, {
        ...{ scheduler, random, journal },
        ...read,
        mayRefuse: (...refusal) => this.#world.mayRefuse(...refusal),
        host: () => this.#hostFor(read.room.home, random),
        onFrames: this.#onFrames,
      }),
    );
  }

  /** Those who return with their cursors, newcomers, readers of the stored replay, and of each log. */
  #addOfBothChats({ live, replay }: FinishedStream, number: number): void {
    const ways = new Random(this.#world.seed, `ways of finished stream ${number}`);
    for (let left = VIEWERS_PER_ROOM; left > 0; left--) this.#add((judge) => new OneChat(judge(live)));
    this.#add((judge) => new Newcomer(judge(live)));
    this.#add((judge) => new StoredReplay(judge(replay)));
    this.#addReader(`log of finished stream ${number}`, { room: live, way: ways.pick(WAYS) });
    const way = ways.pick(WAYS);
    this.#addReader(`log of replay ${number}`, { room: replay, way, named: "replay" });
  }

  /** A user with the right to a video, and one with the right to a channel, whose chat is recorded. */
  #addUsers(): void {
    const { seed, rooms, instances, recorded, scheduler, journal } = this.#world;
    const random = new Random(seed, "users");
    const room = random.pick(rooms);
    for (const [name, watched, right] of [
      ["user of a video", room, `watch:${room.videoId}`],
      ["user of a channel", recorded.room, `watch:${RECORDED_CHANNEL}`],
    ] as const) {
      const ask = asUser({ name, right, random, scheduler, journal, isCalm: () => this.#world.isCalm });
      const mayCome = () => watched !== recorded.room || recorded.isOpen;
      const host = () => (mayCome() ? this.#hostFor(watched.home, random, instances) : undefined);
      this.#add((judge) => new OneChat(judge(watched)), watched.home, { ask, host });
    }
  }

  /** `home`: the name of the only instance to which it comes. */
  #add(subscribe: ViewerParts["subscribe"], home?: string, more: Partial<ViewerParts> = {}): void {
    const { seed, scheduler, journal } = this.#world;
    const index = this.viewers.length;
    const random = new Random(seed, `viewer ${index}`);
    const tastes = this.#hasTastes ? new Random(seed, `tastes of viewer ${index}`) : undefined;
    const parts: ViewerParts = {
      ...{ scheduler, random, journal, tastes, subscribe },
      mayRefuse: (...refusal) => this.#world.mayRefuse(...refusal),
      frames: this.#frames,
      host: () => this.#hostFor(home, random),
      onFrames: this.#onFrames,
      ...more,
    };
    this.viewers.push(new Viewer(String(index), parts));
  }

  /** A process that takes viewers, if there is one. */
  #hostFor(
    home: string | undefined,
    random: Random,
    hosts: readonly Host[] = [...this.#world.instances, ...this.#world.edges],
  ): Host | undefined {
    const open = hosts.filter(({ life, name }) => life && (home ?? name) === name);
    return open.length > 1 ? random.pick(open) : open[0];
  }
}
