/**
 * The channel that a video belongs to, for the right to watch the videos of a channel, and for clients that
 * resume a channel; and which names are of one channel. The store knows it for rooms that pages have shown to
 * be a channel's. For other videos, their pages show it; an answer counts for ten minutes, for all clients.
 *
 * A refusal never follows from the store alone, but from a page, and takes as long as that page took: so its
 * time shows neither whether the video is stored nor whether somebody else has asked for it.
 */

import type { Clock } from "../../base/clock.ts";
import { unlessAborted } from "../../base/deadline.ts";
import { dropOldest } from "../../base/maps.ts";
import { atCapacity } from "../../protocol/capacity.ts";
import { CHANNEL_ID } from "../../protocol/channel.ts";
import { chatKeys } from "../../protocol/chat-key.ts";
import { RelayError } from "../../protocol/errors.ts";
import type { ObservedStore } from "../../store/observed.ts";
import { readVideo } from "../../store/stored-video.ts";
import { UpstreamError } from "../../upstream/upstream-error.ts";
import type { OpeningQueue, QueuedOpening } from "../opening/opening-queue.ts";

/** How long an answer counts. */
const ANSWER_MS = 600_000;
/** How long no further question follows one that YouTube has failed to answer. */
const FAILED_MS = 30_000;
/** More videos than an address of the service can load the pages of in ten minutes. */
const MAX_ANSWERS = 10_000;
/** Names of channels to remember the ids of. */
const MAX_NAMES = 10_000;

/** The channels of videos, for an instance that reads chats itself. */
export function readVideoChannels(
  store: Pick<ObservedStore, "getChannels" | "getRoom" | "setChannels">,
  openings: OpeningQueue,
  clock: Clock,
  stopped: AbortSignal,
): VideoChannels {
  const sources: VideoChannelSources = {
    keyOf: (videoId) => videoId,
    stored: async (videoId) => {
      // The same number of reads whether or not it is stored.
      const known = chatKeys(videoId).map(async (key) => {
        const [room, names] = await Promise.all([store.getRoom(key), store.getChannels(key)]);
        const { id, handle } = readVideo(room?.video ?? null).channel ?? {};
        return [id, handle, ...names].filter((name) => name !== undefined);
      });
      return [...new Set((await Promise.all(known)).flat())];
    },
    remember: async (videoId, names) => {
      await Promise.all(chatKeys(videoId).map((key) => store.setChannels(key, names)));
    },
    ask: async ({ videoId }, queued, signal) => {
      using opening = await queued.turn("unknown", signal); // whether it is stored or not
      const options = { lane: "opening", dueAt: clock.monotonic(), maxCooldownMs: 0, signal } as const;
      return await opening.egress.channelOf(videoId, options);
    },
  };
  return new VideoChannels(sources, openings, clock, stopped);
}

/** The question for the channel of a video. */
export interface ChannelQuestion {
  videoId: string;
  /** If given, the question is only whether the video is of one of these; else it is for the names. */
  channels?: readonly string[] | undefined;
}

/** Where the names of a video's channel come from: none if they are not known, or there is no such video. */
export interface VideoChannelSources {
  /** The key of the question: questions of one key share an answer. */
  keyOf(videoId: string, channels: readonly string[] | undefined): string;
  /** As the store knows them. */
  stored(videoId: string): Promise<readonly string[]>;
  /** Reads the names from the video's page. `queued`: the place in the queue of all who ask. */
  ask(question: ChannelQuestion, queued: QueuedOpening, signal: AbortSignal): Promise<readonly string[]>;
  /** Remembers them in the store. */
  remember(videoId: string, names: readonly string[]): Promise<void>;
}

/** Whether a question failed because of the video's page, and not because it was never asked. */
function isOfVideo(error: unknown): boolean {
  return error instanceof UpstreamError || (error instanceof RelayError && error.code !== "CAPACITY");
}

interface Answer {
  readonly names: Promise<readonly string[]>;
  /** Its place in the queue, which it leaves at its turn. */
  readonly queued: QueuedOpening;
  /**
   * On the monotonic clock: when the question was asked, and until when the answer counts; Infinity until it
   * is there.
   */
  readonly askedAt: number;
  until: number;
  /** How long it took, in milliseconds; 0 until it is there. */
  tookMs: number;
}

export class VideoChannels {
  readonly #sources: VideoChannelSources;
  readonly #clock: Clock;
  readonly #stopped: AbortSignal;
  /** By key, the oldest first. */
  readonly #answers = new Map<string, Answer>();
  /** By name, the id of the channel that had the name on the page that was read last. */
  readonly #ids = new Map<string, string>();
  readonly #openings: OpeningQueue;

  constructor(sources: VideoChannelSources, openings: OpeningQueue, clock: Clock, stopped: AbortSignal) {
    this.#sources = sources;
    this.#openings = openings;
    this.#clock = clock;
    this.#stopped = stopped;
  }

  /** Whether the video belongs to one of the channels. Rejects as `namesOf` does. */
  async isVideoOf(
    videoId: string,
    channels: readonly string[],
    address: () => string,
    signal: AbortSignal,
  ): Promise<boolean> {
    return this.#anyAmong(await this.namesOf({ videoId, channels }, address, signal), channels);
  }

  /** Pages show that these are names of one channel. Without its id, they say nothing. */
  learn(names: readonly string[]): void {
    const id = names.find((name) => CHANNEL_ID.test(name));
    if (id === undefined) return;
    for (const name of names) {
      this.#ids.delete(name);
      this.#ids.set(name, id);
    }
    dropOldest(this.#ids, MAX_NAMES);
  }

  /** Whether a channel is one of these, under the same name or, as far as pages have shown, another. */
  isAmong(channel: string, channels: readonly string[]): boolean {
    const idOf = (name: string) => this.#ids.get(name) ?? name;
    return channels.some((name) => name === channel || idOf(name) === idOf(channel));
  }

  #anyAmong(names: readonly string[], channels: readonly string[]): boolean {
    return names.some((name) => this.isAmong(name, channels));
  }

  /**
   * The names of the video's channel; none if it is not known, or the video does not exist. Rejects with
   * `RelayError` CAPACITY (at an edge with the origin's), with `UpstreamError` if its page cannot be read,
   * with `StoreError`, and with the signal's reason. If it is of none of the question's channels, the answer
   * is as late as that of a page.
   */
  async namesOf(
    question: ChannelQuestion,
    address: () => string,
    signal: AbortSignal,
  ): Promise<readonly string[]> {
    const { videoId, channels } = question;
    const isEnough = (names: readonly string[]) =>
      channels === undefined ? names.length > 0 : this.#anyAmong(names, channels);
    const known = await this.#sources.stored(videoId);
    signal.throwIfAborted(); // a client that left while the store was slow takes no place
    if (isEnough(known)) return known;
    const askedAt = this.#clock.monotonic();
    const answer = this.#answer(question, address);
    const names = await unlessAborted(answer.names, signal).catch(async (error) => {
      if (isOfVideo(error)) await this.#asLate(answer, askedAt, signal);
      throw error;
    });
    if (!isEnough(names)) await this.#asLate(answer, askedAt, signal);
    // The room may not be there yet: then the answer to the next viewer is remembered.
    else if (channels) await this.#sources.remember(videoId, names);
    return names;
  }

  #answer(question: ChannelQuestion, address: () => string): Answer {
    const key = this.#sources.keyOf(question.videoId, question.channels);
    const now = this.#clock.monotonic();
    const known = this.#answers.get(key);
    if (known && known.until > now) {
      if (known.until === Number.POSITIVE_INFINITY) known.queued.add(address());
      return known;
    }
    for (const [other, { until }] of this.#answers) {
      if (until > now && this.#answers.size < MAX_ANSWERS) break;
      this.#answers.delete(other);
    }
    const queued = this.#openings.join(address());
    const names = this.#ask(question, queued);
    const answer: Answer = { names, queued, askedAt: now, until: Number.POSITIVE_INFINITY, tookMs: 0 };
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    names.then(
      (found) => {
        this.learn(found);
        this.#keepAnswer(answer, ANSWER_MS);
      },
      (error) => this.#keepAnswer(answer, isOfVideo(error) ? FAILED_MS : 0),
    );
    return answer;
  }

  #keepAnswer(answer: Answer, ms: number): void {
    const now = this.#clock.monotonic();
    answer.until = now + ms;
    answer.tookMs = now - answer.askedAt;
  }

  /** Waits until as much time has passed since `askedAt` as the answer took, unless the service stops. */
  async #asLate({ tookMs }: Answer, askedAt: number, signal: AbortSignal): Promise<void> {
    const leftMs = askedAt + tookMs - this.#clock.monotonic();
    if (leftMs <= 0) return;
    const ended = AbortSignal.any([signal, this.#stopped]);
    await this.#clock.sleep(leftMs, ended).catch(() => signal.throwIfAborted());
  }

  async #ask(question: ChannelQuestion, queued: QueuedOpening): Promise<readonly string[]> {
    using _ = queued;
    const signal = AbortSignal.any([this.#stopped, queued.displaced]);
    try {
      return await this.#sources.ask(question, queued, signal);
    } catch (error) {
      if (this.#stopped.aborted) throw atCapacity("stopping");
      throw error;
    }
  }
}
