/**
 * A chat that is recorded in every seed, and is live only after a while. In runs whose troubles may affect
 * everybody, a crowd opens chats of its own shortly before, until the service takes no more: the recording
 * must have its place all the same. The chat is of a channel, whose users come for it by their right.
 */

import { Random } from "../../simulator/random.ts";
import type { Broadcast } from "../../simulator/simulated-channel.ts";
import { CapacityError } from "../../src/protocol/capacity.ts";
import type { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { Journal } from "../harness/journal.ts";
import { whenever } from "../harness/whenever.ts";
import { RoomJudge } from "./room-judge.ts";
import { HOLD, RECORDED } from "./settings.ts";
import type { World } from "./world.ts";

/**
 * Causes of CAPACITY that are nobody's place. Openings of recordings go before all others: that one waits for
 * too long means that the upstream lets none begin.
 */
const TEMPORARY: readonly string[] = ["elsewhere", "live", "unreachable", "stopping", "openings"];
export const RECORDED_CHANNEL = "@recorded";
/** The rooms that may be open besides those of the run: enough for its own viewers, and not for a crowd. */
export const ROOMS_BESIDE = 10;

/** The chat is live before this share of the time of trouble has passed. */
const LIVE_WITHIN = 0.5;
/** A recording looks for its chat once a minute: until it has, the crowd is there, and nobody else comes. */
const ALONE_MS = 70_000;
const CROWD = 16;
const CROWD_BEFORE_MS = 20_000;

export class RecordedChat {
  readonly room: RoomJudge;
  readonly #world: World;
  readonly #broadcast: Broadcast;
  #liveAt = Number.POSITIVE_INFINITY;

  constructor(world: World) {
    this.#world = world;
    const chat = { timeoutMs: 10_000, page: 20, tokens: "reusable", ...HOLD } as const;
    this.#broadcast = world.upstream.channel(RECORDED_CHANNEL).broadcast(RECORDED, { chat });
    const kind = new Random(world.seed, "before").pick(["none", "off", "private"] as const);
    this.#broadcast.chat.change({ kind });
    this.room = new RoomJudge(this.#broadcast.chat, world);
  }

  /** Whether its viewers may come. */
  get isOpen(): boolean {
    return this.#world.scheduler.monotonic() >= this.#liveAt + ALONE_MS;
  }

  /** There is no chat at first; then it is live. */
  async live(until: number): Promise<void> {
    const { seed, scheduler, journal, rooms, isNeighbourly } = this.#world;
    const random = new Random(seed, "recorded");
    const liveAt = CROWD_BEFORE_MS + random.next() * (LIVE_WITHIN * until - CROWD_BEFORE_MS);
    await scheduler.sleep(liveAt - CROWD_BEFORE_MS);
    if (!isNeighbourly) this.#crowd(Math.min(ALONE_MS, until - liveAt));
    await scheduler.sleep(CROWD_BEFORE_MS);
    const { chat } = this.#broadcast;
    rooms.push(this.room);
    this.#liveAt = liveAt;
    journal.note(`live ${RECORDED}`);
    chat.change({ kind: "live" });
    chat.say(random.below(20));
    chat.speak(random.pick([0.05, 0.1, 0.3]));
  }

  /** Each of the crowd opens a chat, at each instance, and stays for this time after `live`. */
  #crowd(forMs: number): void {
    const { upstream, instances, journal } = this.#world;
    journal.count("crowds");
    for (let number = 10; number < 10 + CROWD; number++) {
      const videoId = `crowd----${number}`;
      upstream.chat(videoId, { kinds: ["text"], tokens: "reusable", timeoutMs: 10_000, page: 1 }).say(1);
      for (const instance of instances)
        void this.#world.visit(videoId, `crowd ${number}`, CROWD_BEFORE_MS + forMs, instance);
    }
  }
}

/**
 * Hears of recordings that count as complete before their chats are over, and of those that are refused for
 * want of a place: with one recording, others have taken it. A retry
 * would hide it.
 */
export function judgeRecordings(
  { recordings }: Telemetry,
  journal: Journal,
  isOpen: (videoId: string) => boolean,
): void {
  whenever(recordings, "complete", (videoId) => {
    if (isOpen(videoId)) journal.violate("health", videoId, "its recording has ended before its chat");
  });
  whenever(recordings, "waits", (_recorded, error: unknown) => {
    const cause = error instanceof CapacityError ? error.capacityCause : undefined;
    if (cause && !TEMPORARY.includes(cause))
      journal.violate("neighbours", RECORDED, `its recording is displaced: ${error}`);
  });
}
