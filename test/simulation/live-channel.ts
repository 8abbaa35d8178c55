/**
 * A channel whose streams change during a run: announced, rescheduled, live, two at once, over; and its pages
 * fail. In calm, one new stream is left.
 */

import type { Failure, FaultOrder } from "../../simulator/faults.ts";
import type { InProcessSimulator } from "../../simulator/index.ts";
import { WALLS } from "../../simulator/pages.ts";
import { Random } from "../../simulator/random.ts";
import type { Broadcast, Channel } from "../../simulator/simulated-channel.ts";
import type { ChatView } from "../../src/protocol/chat.ts";
import type { Journal } from "../harness/journal.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import type { WatchedChannel } from "./channel-chats.ts";
import { RoomJudge } from "./room-judge.ts";
import { HOLD } from "./settings.ts";

/** The mean time between two changes. */
const CHANGE_MS = 25_000;
const MAX_LIVE = 2;
const END_SHAPES = ["reload-only", "continuations-absent", "no-contents"] as const;
/** Without `other-video`: which video is the channel's, only its own pages say. */
const PAGE_FAILURES: readonly Failure[] = [
  ...([{ status: 503 }, "silent", "reset", "truncated"] as const),
  ...WALLS.filter((wall) => wall !== "other-video"),
];

/** The parts of the world that a channel uses. */
export interface ChannelWorld {
  seed: number;
  view: ChatView;
  scheduler: Scheduler;
  journal: Journal;
  upstream: Pick<InProcessSimulator, "channel">;
  /** Those of its streams are added. */
  rooms: RoomJudge[];
  isCalm: boolean;
  order(name: string, order: FaultOrder): Promise<void>;
}

export class LiveChannel implements WatchedChannel {
  readonly handle = "@simulated";
  readonly rooms: RoomJudge[] = [];
  last: RoomJudge | undefined;
  readonly #world: ChannelWorld;
  readonly #random: Random;
  readonly #channel: Channel;
  readonly #streams = new Map<Broadcast, RoomJudge>();

  constructor(world: ChannelWorld) {
    this.#world = world;
    this.#random = new Random(world.seed, "streams");
    const layout = this.#random.pick(["videoRenderer", "lockupViewModel"] as const);
    const livePage = this.#random.pick(["picked", "scheduled", "alone"] as const);
    this.#channel = world.upstream.channel(this.handle, { layout, livePage });
    if (this.#random.chance(0.7)) this.#start();
  }

  /** Changes from time to time, until it is calm. */
  async live(): Promise<void> {
    const { scheduler, journal } = this.#world;
    while (!this.#world.isCalm) {
      await scheduler.sleep(2 * CHANGE_MS * this.#random.next());
      if (this.#world.isCalm) break;
      const [what, change] = this.#random.pick(Object.entries(this.#changes));
      journal.note(`channel ${what}`);
      journal.count(`channels ${what}`);
      change();
    }
    for (const stream of this.#of("upcoming", "live")) this.#end(stream);
    this.last = this.#start();
  }

  foreignId(random: Random): string {
    const { rooms } = this.#world;
    const { videoId, head = 1000 } = random.pick(rooms.filter((room) => !this.rooms.includes(room)));
    return `${videoId}.${head}`;
  }

  readonly #changes: Record<string, () => void> = {
    announced: () => this.#announce(),
    started: () => this.#start(),
    ended: () => this.#one("live", (stream) => this.#end(stream)),
    late: () => this.#one("upcoming", (stream) => stream.reschedule(this.#soon())),
    "page fails": () => this.#failPages(),
  };

  /** One more stream is live: a scheduled one, or one that nobody announced. */
  #start(): RoomJudge | undefined {
    if (this.#of("live").length >= MAX_LIVE) return undefined;
    const stream = this.#of("upcoming")[0] ?? this.#announce();
    stream.start();
    const room = this.#streams.get(stream);
    room?.chat.say(this.#random.below(30));
    room?.chat.speak(this.#random.pick([0.05, 0.1, 0.3, 0.8]));
    return room;
  }

  #announce(): Broadcast {
    const videoId = `channel-${String(this.rooms.length + 1).padStart(3, "0")}`;
    const chat = { timeoutMs: 10_000, page: 20, tokens: "reusable", ...HOLD } as const;
    const stream = this.#channel.broadcast(videoId, { startsAt: this.#soon(), chat });
    const room = new RoomJudge(stream.chat, this.#world);
    this.#streams.set(stream, room);
    this.rooms.push(room);
    this.#world.rooms.push(room);
    stream.chat.say(this.#random.below(10));
    return stream;
  }

  #end(stream: Broadcast): void {
    stream.end(this.#random.pick(END_SHAPES));
    const room = this.#streams.get(stream);
    if (room) room.overSince = Math.min(room.overSince, this.#world.scheduler.monotonic());
  }

  #failPages(): void {
    const as = this.#random.pick(PAGE_FAILURES);
    const on = this.#random.pick(["live", "streams", ["live", "streams"]] as const);
    void this.#world.order("channel page fails", { on, times: 1 + this.#random.below(3), as });
  }

  #one(state: Broadcast["state"], change: (stream: Broadcast) => void): void {
    const streams = this.#of(state);
    if (streams.length > 0) change(this.#random.pick(streams));
  }

  #of(...states: Broadcast["state"][]): Broadcast[] {
    return [...this.#streams.keys()].filter(({ state }) => states.includes(state));
  }

  /** Pages name times in whole seconds. */
  #soon(): number {
    const { scheduler } = this.#world;
    return Math.floor(scheduler.now() / 1000 + 20 + this.#random.next() * 200) * 1000;
  }
}
