/**
 * A channel as the upstream keeps it: its broadcasts with their times and chats, and what its pages show of
 * them. The caller schedules, starts, moves, ends and removes broadcasts at any time.
 */
import type { Clock } from "../src/base/clock.ts";
import type { EndShape } from "./answers.ts";
import type { PageBroadcast } from "./pages.ts";
import type { Scenario } from "./scenario.ts";
import type { Chat } from "./simulated-chat.ts";

export interface ChannelScenario {
  title: string;
  /** The layout of the streams tab: until spring 2026, and since then. */
  layout: "videoRenderer" | "lockupViewModel";
  /** The language of the texts on its pages. */
  language: "en" | "de";
  /**
   * The broadcast that `/live` shows on its watch page; without one, `/live` shows the channel's home page.
   * `picked`: the only live one, or if none is live, the scheduled one that begins next, as in snapshots of
   * 2026. `scheduled`: the scheduled one even while another is live. `alone`: one only if no other is live or
   * scheduled.
   */
  livePage: "picked" | "scheduled" | "alone";
  /** Whether it exists: `gone` is HTTP 404, `terminated` a page with an alert and nothing else. */
  state: "open" | "gone" | "terminated";
}

const DEFAULT_CHANNEL = {
  layout: "videoRenderer",
  language: "en",
  livePage: "picked",
  state: "open",
} as const satisfies Partial<ChannelScenario>;

interface BroadcastOptions {
  title?: string;
  /** Wall time in milliseconds. Absent: it is live at once. */
  startsAt?: number;
  /** Only members see it and its chat once it is live. Its waiting room is open to all. */
  isMembersOnly?: boolean;
  /** The scenario of its chat, whose kind follows the broadcast. */
  chat?: Partial<Omit<Scenario, "kind">>;
}

/** The parts of the simulator that a channel needs. */
interface ChannelContext {
  clock: Clock;
  openChat(videoId: string, scenario: Partial<Scenario>): Chat;
}

/** A stream of a channel: scheduled, then live, then over. */
export class Broadcast {
  readonly videoId: string;
  /** May be changed at any time. */
  title: string;
  readonly isMembersOnly: boolean;
  readonly chat: Chat;
  readonly #clock: Clock;
  /** Wall times in milliseconds: the schedule's, then those of the start and the end. */
  startsAt: number;
  startedAt: number | undefined;
  endedAt: number | undefined;

  constructor(videoId: string, options: BroadcastOptions, { clock, openChat }: ChannelContext) {
    const { title = `Broadcast ${videoId}`, startsAt, isMembersOnly = false, chat } = options;
    this.videoId = videoId;
    this.title = title;
    this.isMembersOnly = isMembersOnly;
    this.#clock = clock;
    this.startsAt = startsAt ?? clock.now();
    this.chat = openChat(videoId, { ...chat, kind: "upcoming" });
    if (startsAt === undefined) this.start();
  }

  get state(): "upcoming" | "live" | "ended" {
    if (this.endedAt !== undefined) return "ended";
    return this.startedAt === undefined ? "upcoming" : "live";
  }

  start(): void {
    this.startedAt = this.#clock.now();
    this.chat.change({ kind: this.isMembersOnly ? "members-only" : "live" });
  }

  reschedule(startsAt: number): void {
    this.startsAt = startsAt;
  }

  end(shape: EndShape = "reload-only"): void {
    this.startedAt ??= this.#clock.now();
    this.endedAt = this.#clock.now();
    this.chat.end(shape);
  }
}

export class Channel {
  /** The handle, in lower case. */
  readonly handle: string;
  /** `UC` and 22 characters. */
  readonly channelId: string;
  readonly #context: ChannelContext;
  #scenario: ChannelScenario;
  #broadcasts: Broadcast[] = [];

  constructor(
    handle: string,
    channelId: string,
    scenario: Partial<ChannelScenario>,
    context: ChannelContext,
  ) {
    this.handle = handle;
    this.channelId = channelId;
    this.#context = context;
    this.#scenario = { ...DEFAULT_CHANNEL, title: `Channel of ${handle}`, ...scenario };
  }

  get scenario(): Readonly<ChannelScenario> {
    return this.#scenario;
  }

  change(scenario: Partial<ChannelScenario>): void {
    this.#scenario = { ...this.#scenario, ...scenario };
  }

  /** Adds a broadcast with a chat of its own: live at once, or scheduled. */
  broadcast(videoId: string, options: BroadcastOptions = {}): Broadcast {
    const added = new Broadcast(videoId, options, this.#context);
    this.#broadcasts.push(added);
    return added;
  }

  /** Takes a broadcast off the channel's pages, as when it is made private. Its chat stays as it is. */
  remove({ videoId }: Broadcast): void {
    this.#broadcasts = this.#broadcasts.filter((other) => other.videoId !== videoId);
  }

  /** The facts on a broadcast's watch page; undefined if the channel does not list it. */
  factsOf(videoId: string): PageBroadcast | undefined {
    const broadcast = this.#broadcasts.find((each) => each.videoId === videoId);
    if (!broadcast) return undefined;
    const { title, startsAt, startedAt = startsAt, endedAt } = broadcast;
    const { channelId, handle } = this;
    return { title, channelId, handle, channelTitle: this.#scenario.title, startsAt: startedAt, endedAt };
  }

  /**
   * In the order of the streams tab: the scheduled ones, the latest first, then the live and the past ones,
   * the newest first.
   */
  get listed(): readonly Broadcast[] {
    const scheduled = this.#of("upcoming").sort((a, b) => b.startsAt - a.startsAt);
    const newest = (a: Broadcast, b: Broadcast) => (b.startedAt ?? 0) - (a.startedAt ?? 0);
    return [...scheduled, ...this.#of("live").sort(newest), ...this.#of("ended").sort(newest)];
  }

  /** The broadcast that `/live` shows on its watch page; undefined if it shows the channel's home page. */
  get picked(): Broadcast | undefined {
    const live = this.#of("live").filter(({ isMembersOnly }) => !isMembersOnly);
    const scheduled = this.#of("upcoming").sort((a, b) => a.startsAt - b.startsAt);
    const [next] = scheduled;
    const only = live.length === 1 ? live[0] : undefined;
    return {
      picked: live.length > 1 ? undefined : (only ?? next),
      scheduled: next ?? only,
      alone: live.length + scheduled.length === 1 ? (only ?? next) : undefined,
    }[this.#scenario.livePage];
  }

  #of(state: Broadcast["state"]): Broadcast[] {
    return this.#broadcasts.filter((broadcast) => broadcast.state === state);
  }
}
