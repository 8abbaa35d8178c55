/**
 * Watches one channel at an edge, through one stream of the origin, however many viewers wait. The origin
 * chooses the channel's streams, and notices their ends and failures itself.
 */
import { after, type Clock } from "../base/clock.ts";
import { Deadline, unlessAborted } from "../base/deadline.ts";
import { withoutStop } from "../base/full-stop.ts";
import { asString, dig, parseJson } from "../base/json.ts";
import type { ChannelState } from "../protocol/channel.ts";
import { RelayError } from "../protocol/errors.ts";
import { addBounded, Broadcasts, MAX_VIDEOS, type WatchedChannel } from "../rooms/channels/broadcasts.ts";
import { isUnavailable } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { errorIn, stateIn } from "./channel-lines.ts";
import type { LineStream } from "./line-stream.ts";
import type { Origin } from "./origin.ts";
import { ReopenWaits } from "./reopen-waits.ts";

/** The wait before a stream that could not be read is tried again. */
const RETRY_MS = 30_000;
/** How long a viewer waits at first for the origin to say whether a video is one of the channel's. */
const ASK_LIMIT_MS = 2000;
/** How long the origin may take for it: it may have to look at the channel's pages first. */
const ANSWER_LIMIT_MS = 180_000;
/** How long its answer is kept; without one it is asked again then. */
const ANSWER_KEPT_MS = 5000;

interface WatchParts {
  origin: Origin;
  clock: Clock;
  telemetry: Telemetry;
}

/** The question to the origin whether a video is one of the channel's. Clients that wait for it share it. */
class Question {
  readonly answer: Promise<boolean | undefined>;
  readonly #askers = new Set<AbortSignal>();
  readonly #unasked = new AbortController();

  /** `ask`: asks until its signal aborts, which it does when the last asker has left. */
  constructor(ask: (unasked: AbortSignal) => Promise<boolean | undefined>) {
    this.answer = ask(this.#unasked.signal);
  }

  /** Adds an asker, whose signal aborts when it leaves. */
  join(gone: AbortSignal): void {
    if (this.#askers.has(gone)) return;
    this.#askers.add(gone);
    const leave = () => {
      this.#askers.delete(gone);
      if (this.#askers.size === 0) this.#unasked.abort("nobody waits");
    };
    gone.addEventListener("abort", leave, { once: true });
  }
}

export class OriginChannelWatch implements WatchedChannel {
  readonly channel: string;
  readonly broadcasts = new Broadcasts();
  readonly #parts: WatchParts;
  readonly #closed: AbortSignal;
  /** The latest state that the origin has sent. */
  #latest: ChannelState | undefined;
  readonly #videos = new Set<string>();
  readonly #questions = new Map<string, Question>();
  readonly #unwatched = new AbortController();
  #watchers = 0;

  constructor(channel: string, parts: WatchParts, closed: AbortSignal) {
    this.channel = channel;
    this.#parts = parts;
    this.#closed = AbortSignal.any([closed, this.#unwatched.signal]);
    void this.#watch(this.#closed);
  }

  onUnwatched: (() => void) | undefined;

  get isWatched(): boolean {
    return this.#watchers > 0;
  }

  get isIdle(): boolean {
    return !this.isWatched;
  }

  get isKnown(): boolean {
    return this.#latest?.channelId !== undefined;
  }

  /** Adds a watcher. */
  join(): this {
    this.#watchers += 1;
    return this;
  }

  [Symbol.dispose](): void {
    this.#watchers -= 1;
    if (this.isWatched) return;
    this.#unwatched.abort("nobody waits");
    this.onUnwatched?.();
  }

  /** The viewers of a video share one question. The origin may answer it after its next look only. */
  async has(videoId: string, _since: number, gone: AbortSignal): Promise<boolean | undefined> {
    if (this.#videos.has(videoId)) return true;
    if (gone.aborted) return undefined;
    const begin = () => new Question((unasked) => this.#ask(videoId, unasked));
    const question = this.#questions.getOrInsertComputed(videoId, begin);
    question.join(gone);
    using limit = new Deadline(this.#parts.clock, ASK_LIMIT_MS);
    return await unlessAborted(question.answer, limit.signal).catch(() => undefined);
  }

  async #ask(videoId: string, unasked: AbortSignal): Promise<boolean | undefined> {
    const isOwn = await this.#answer(videoId, unasked);
    if (isOwn) addBounded(this.#videos, videoId, MAX_VIDEOS);
    if (isOwn !== undefined) this.broadcasts.announce();
    after(this.#parts.clock, ANSWER_KEPT_MS, this.#closed, () => {
      this.#questions.delete(videoId);
      if (isOwn === undefined) this.broadcasts.announce();
    });
    return isOwn;
  }

  /** The origin sends the rest of a video that is the channel's to a viewer that resumes behind it. */
  async #answer(videoId: string, unasked: AbortSignal): Promise<boolean | undefined> {
    const { origin, clock } = this.#parts;
    try {
      const range = await origin.range(videoId);
      if (!range) return false;
      using limit = new Deadline(clock, ANSWER_LIMIT_MS);
      const over = AbortSignal.any([limit.signal, unasked, this.#closed]);
      using lines = await origin.channel(this.channel, `${videoId}.${range.head}`, over);
      for await (const batch of lines) {
        const init = batch.find((line) => line.startsWith('{"event":"init"'));
        if (init !== undefined) return asString(dig(parseJson(init), "videoId")) === videoId;
      }
    } catch (error) {
      this.#refusalIn(error);
    }
    return undefined; // asked again, if somebody still waits
  }

  ended(): void {}

  /** The origin says when a stream fails there; for a failure of this edge alone, waits and tries again. */
  failed(videoId: string, error: Error): void {
    const latest = this.#latest;
    if (this.broadcasts.state?.videoId !== videoId) return;
    this.#wait(error);
    after(this.#parts.clock, RETRY_MS, this.#closed, () => {
      if (this.broadcasts.state?.videoId === undefined && latest && this.#latest === latest)
        this.#show(latest);
    });
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { origin, clock } = this.#parts;
    const waits = new ReopenWaits(clock);
    while (!signal.aborted && !this.broadcasts.absent) {
      try {
        using lines = await origin.channel(this.channel, undefined, signal);
        waits.opened();
        await this.#read(lines);
      } catch (error) {
        if (!signal.aborted) this.#failed(error);
        waits.failed(error);
      }
      await waits.next(signal);
    }
  }

  async #read(lines: LineStream): Promise<void> {
    for await (const batch of lines) {
      for (const line of batch) {
        if (line.startsWith('{"event":"channel"')) this.#saw(line);
        if (line.startsWith('{"event":"error"')) throw errorIn(line);
      }
    }
  }

  #saw(line: string): void {
    this.#latest = stateIn(line, this.channel);
    const { videoId } = this.#latest;
    if (videoId !== undefined) addBounded(this.#videos, videoId, MAX_VIDEOS);
    this.#show(this.#latest);
  }

  #show(state: ChannelState): void {
    this.broadcasts.show(state);
    this.broadcasts.announce();
  }

  #wait(error: Error): void {
    const { videoId: _, startsAt: __, ...names } = this.broadcasts.state ?? { channel: this.channel };
    this.#show({ ...names, state: "waiting", reason: withoutStop(error.message) });
  }

  /** While the origin is away, the state of a channel stays as it is, and its rooms continue. */
  #failed(error: unknown): void {
    const refusal = this.#refusalIn(error);
    const { state: current } = this.broadcasts;
    if (refusal === error && refusal.code === "NO_LIVE_CHAT" && current?.videoId === undefined) {
      this.broadcasts.absent = refusal;
      this.broadcasts.announce();
    } else if (!current) this.#wait(refusal);
  }

  /** Why the origin did not answer. Logs a bug of ours. */
  #refusalIn(error: unknown): RelayError {
    if (error instanceof RelayError) return error;
    if (isUnavailable(error)) return error.refusal;
    this.#parts.telemetry.channels.broken(this.channel, error);
    return new RelayError("INTERNAL", "The service failed to read the stream of the channel.");
  }
}
