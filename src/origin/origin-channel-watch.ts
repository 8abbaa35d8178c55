/**
 * Watches one channel at an edge, through one stream of the origin, however many viewers wait. The origin
 * chooses the channel's broadcasts, and notices their ends and failures itself. But it does not say that a
 * chat goes on after its end: that shows by the end here, and by the broadcast, which comes back.
 */
import { after, type Clock } from "../base/clock.ts";
import { withoutStop } from "../base/error-message.ts";
import type { ChannelState } from "../protocol/channel.ts";
import { RelayError } from "../protocol/errors.ts";
import { Broadcasts, type WatchedChannel, waitingOf } from "../rooms/channels/broadcasts.ts";
import type { Watchers } from "../rooms/channels/watchers.ts";
import { isUnavailable } from "../store/store-error.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { errorIn, liveIn, stateIn } from "./channel-lines.ts";
import type { LineStream } from "./line-stream.ts";
import type { Origin } from "./origin.ts";
import { ReopenWaits } from "./reopen-waits.ts";

/** The wait before a broadcast that could not be read is tried again. */
const RETRY_MS = 30_000;

/** The same for all watches of an edge. */
interface WatchParts {
  origin: Origin;
  clock: Clock;
  telemetry: Telemetry;
}

export class OriginChannelWatch implements WatchedChannel {
  readonly channel: string;
  readonly broadcasts = new Broadcasts();
  readonly watchers: Watchers;
  readonly #parts: WatchParts;
  readonly #wasKnown: boolean;
  /** The latest state that the origin has sent. */
  #latest: ChannelState | undefined;
  /** The newest broadcast, once a watcher has read its chat to its end. */
  #ended: string | undefined;
  /** The newest broadcast, if its chat has come back since. */
  #returned: string | undefined;

  /** `wasKnown`: whether the origin has shown the channel before. */
  constructor(channel: string, parts: WatchParts, watchers: Watchers, wasKnown = false) {
    this.channel = channel;
    this.watchers = watchers;
    this.#wasKnown = wasKnown;
    this.#parts = parts;
  }

  get isIdle(): boolean {
    return this.watchers.count === 0;
  }

  get isKnown(): boolean {
    return this.#latest?.channelId !== undefined;
  }

  /** Adds a watcher. */
  join(): this {
    if (this.watchers.add()) void this.#watch(this.watchers.signal);
    return this;
  }

  [Symbol.dispose](): void {
    this.watchers.remove();
  }

  get names(): readonly string[] {
    const { channelId } = this.#latest ?? {};
    return channelId === undefined ? [this.channel] : [this.channel, channelId];
  }

  /** Whether the origin's latest state names this video. */
  shows(videoId: string): boolean {
    return this.#latest?.videoId === videoId;
  }

  ended(videoId: string): void {
    const { state, newest } = this.broadcasts;
    const isShown = state !== undefined && this.broadcasts.videoId === videoId;
    if (isShown && videoId === this.#returned) this.#announce(state, true);
    else if (videoId === newest.videoId) this.#ended = videoId;
  }

  /** The origin says when a broadcast fails there; for one of this edge alone, waits and tries again. */
  failed(videoId: string, error: Error): void {
    const latest = this.#latest;
    if (this.broadcasts.state?.videoId !== videoId) return;
    this.#wait(error);
    after(this.#parts.clock, RETRY_MS, this.watchers.signal, () => {
      if (this.broadcasts.state?.videoId === undefined && latest && this.#latest === latest)
        this.#announce(latest, false);
    });
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { origin, clock } = this.#parts;
    const waits = new ReopenWaits(clock);
    while (!signal.aborted && !this.broadcasts.refusal) {
      try {
        using lines = await origin.channel(this.channel, signal);
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
    this.#show(this.#latest, liveIn(line));
  }

  #show(state: ChannelState, live?: readonly string[]): void {
    const { newest, videoId: shown } = this.broadcasts;
    const isBack = shown === undefined && state.state !== "waiting" && state.videoId === newest.videoId;
    const isReopened = isBack && state.videoId === this.#ended;
    if (isBack) this.#returned = state.videoId;
    this.#announce(state, isReopened, live);
  }

  /** `isReopened`: the chat of the newest broadcast goes on after its end. */
  #announce(state: ChannelState, isReopened: boolean, live?: readonly string[]): void {
    if (isReopened) {
      this.#ended = undefined;
      this.#returned = undefined;
    }
    this.broadcasts.show(state, isReopened, live);
  }

  #wait(error: Error): void {
    const { state = { channel: this.channel, state: "waiting" } } = this.broadcasts;
    this.#show(waitingOf(state, withoutStop(error.message)));
  }

  /** While the origin is away, the state of a channel stays as it is, and its rooms continue. */
  #failed(error: unknown): void {
    const refusal = this.#refusalIn(error);
    const { state: current } = this.broadcasts;
    const isAbsent = refusal === error && refusal.code === "NO_LIVE_CHAT";
    if (isAbsent && !this.isKnown && !this.#wasKnown) this.broadcasts.refuse(refusal);
    else if (!current || (isAbsent && current.videoId === undefined)) this.#wait(refusal);
  }

  /** Why the origin did not answer. Logs a bug of ours. */
  #refusalIn(error: unknown): RelayError {
    if (error instanceof RelayError) return error;
    if (isUnavailable(error)) return error.refusal;
    this.#parts.telemetry.channels.broken(this.channel, error);
    return new RelayError("INTERNAL", "The service failed to read the stream of the channel.");
  }
}
