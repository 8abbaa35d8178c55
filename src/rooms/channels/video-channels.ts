/**
 * The channel that a video belongs to, for the right to watch the videos of a channel. The store knows it for
 * rooms that clients have asked for with such a right. For other videos, a look at the video's page shows it,
 * once in ten minutes, for all clients together.
 *
 * A refusal never follows from the store alone, but from a look: so it comes as late for a video that is
 * stored as for any other.
 */
import type { Clock } from "../../base/clock.ts";
import { unlessAborted } from "../../base/deadline.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import { CHATS, chatKey } from "../../protocol/chat-key.ts";
import { RelayError } from "../../protocol/errors.ts";
import type { ObservedStore } from "../../store/observed.ts";
import type { OpeningTurn } from "../../upstream/egress/pool.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { OpeningQueue, QueuedOpening } from "../opening-queue.ts";

/** How long a look counts; one that YouTube has failed only keeps the next one waiting. */
const LOOKED_MS = 600_000;
const FAILED_MS = 30_000;
/** More videos than an address of the service can look at in ten minutes. */
const MAX_LOOKS = 10_000;

interface ReadingParts {
  store: Pick<ObservedStore, "getChannels" | "setChannels">;
  openings: OpeningQueue<OpeningTurn>;
  clock: Clock;
}

/** The channels of videos, for an instance that reads chats itself. */
export function readVideoChannels(
  { store, openings, clock }: ReadingParts,
  stopped: AbortSignal,
): VideoChannels {
  const sources: VideoChannelSources = {
    stored: async (videoId) => {
      // As many reads whatever is stored.
      const known = await Promise.all(CHATS.map((chat) => store.getChannels(chatKey(videoId, chat))));
      return known.find((names) => names.length > 0) ?? [];
    },
    remember: async (videoId, names) => {
      await Promise.all(CHATS.map((chat) => store.setChannels(chatKey(videoId, chat), names)));
    },
    look: async (videoId, queued, signal) => {
      using opening = await queued.turn("unknown", signal); // whether it is stored or not
      const options = { lane: "opening", dueAt: clock.monotonic(), maxCooldownMs: 0, signal } as const;
      return await opening.egress.channelOf(videoId, options);
    },
  };
  return new VideoChannels(sources, openings, clock, stopped);
}

/** The names of the channel of a video; none if it is not known, or the video does not exist. */
interface VideoChannelSources {
  /** As the store knows them. */
  stored(videoId: string): Promise<readonly string[]>;
  /** As the video's page shows them; `queued`: the place of the client that asks. */
  look(videoId: string, queued: QueuedOpening<OpeningTurn>, signal: AbortSignal): Promise<readonly string[]>;
  /** Remembers them in the store. */
  remember(videoId: string, names: readonly string[]): Promise<void>;
}

/** Whether a look failed because of the video's page, and not because no look was made. */
function isOfVideo(error: unknown): boolean {
  return error instanceof UpstreamError || (error instanceof RelayError && error.code !== "CAPACITY");
}

interface Look {
  readonly names: Promise<readonly string[]>;
  /** On the monotonic clock: until when it counts; Infinity while it is under way. */
  until: number;
}

export class VideoChannels {
  readonly #sources: VideoChannelSources;
  readonly #clock: Clock;
  readonly #stopped: AbortSignal;
  /** By video, the oldest first. */
  readonly #looks = new Map<string, Look>();
  readonly #openings: OpeningQueue<OpeningTurn>;

  constructor(
    sources: VideoChannelSources,
    openings: OpeningQueue<OpeningTurn>,
    clock: Clock,
    stopped: AbortSignal,
  ) {
    this.#sources = sources;
    this.#openings = openings;
    this.#clock = clock;
    this.#stopped = stopped;
  }

  /**
   * Whether the video belongs to one of the channels. Rejects with `RelayError` CAPACITY, with
   * `UpstreamError` if its page cannot be read, with `StoreError`, and with the signal's reason.
   */
  async isOfOne(
    videoId: string,
    channels: readonly string[],
    address: () => string,
    signal: AbortSignal,
  ): Promise<boolean> {
    const isOne = (names: readonly string[]) => names.some((name) => channels.includes(name));
    const known = await this.#sources.stored(videoId);
    signal.throwIfAborted(); // a client that left while the store was slow takes no place
    if (isOne(known)) return true;
    const names = await unlessAborted(this.#look(videoId, address), signal);
    if (!isOne(names)) return false;
    // The room may not be there yet: then the next viewer's look is remembered.
    await this.#sources.remember(videoId, names);
    return true;
  }

  /**
   * The names of the video's channel; none if it is not known, or the video does not exist. Rejects as
   * `isOfOne` does.
   */
  async namesOf(videoId: string, address: () => string, signal: AbortSignal): Promise<readonly string[]> {
    const known = await this.#sources.stored(videoId);
    return known.length > 0 ? known : await unlessAborted(this.#look(videoId, address), signal);
  }

  #look(videoId: string, address: () => string): Promise<readonly string[]> {
    const now = this.#clock.monotonic();
    const known = this.#looks.get(videoId);
    if (known && known.until > now) return known.names;
    for (const [other, { until }] of this.#looks) {
      if (until > now && this.#looks.size < MAX_LOOKS) break;
      this.#looks.delete(other);
    }
    const look: Look = { names: this.#lookNow(videoId, address()), until: Number.POSITIVE_INFINITY };
    this.#looks.delete(videoId);
    this.#looks.set(videoId, look);
    look.names.then(
      () => this.#keep(look, LOOKED_MS),
      (error) => this.#keep(look, isOfVideo(error) ? FAILED_MS : 0),
    );
    return look.names;
  }

  #keep(look: Look, ms: number): void {
    look.until = this.#clock.monotonic() + ms;
  }

  async #lookNow(videoId: string, address: string): Promise<readonly string[]> {
    const displaced = new AbortController();
    using queued = this.#openings.join(address, () => displaced.abort(atCapacity("openings")));
    const signal = AbortSignal.any([this.#stopped, displaced.signal]);
    try {
      return await this.#sources.look(videoId, queued, signal);
    } catch (error) {
      if (this.#stopped.aborted) throw atCapacity("stopping");
      throw error;
    }
  }
}
