/**
 * Watches one channel at an edge, by one stream of the origin however many wait. The origin chooses the
 * channel's streams, and notices their ends and failures itself.
 */
import { after, type Clock } from "../clock.ts";
import { Deadline } from "../deadline.ts";
import { asObject, asString, dig, parseJson } from "../json.ts";
import type { ChannelState } from "../protocol/channel.ts";
import { RelayError } from "../protocol/errors.ts";
import { ChannelStates, type WatchedChannel } from "../rooms/channels/states.ts";
import { isUnavailable } from "../store/port.ts";
import type { LineStream } from "./line-stream.ts";
import type { Origin } from "./origin.ts";

/** The waits before the stream is opened again. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 5000;
/** The wait before a stream that could not be read is tried again. */
const RETRY_MS = 30_000;
/** How long the origin may take to say whether a video is one of the channel's. */
const ASK_LIMIT_MS = 2000;

export class OriginChannelWatch implements WatchedChannel {
  readonly isRemote = true;
  readonly #channel: string;
  readonly #parts: { origin: Origin; clock: Clock };
  readonly #closed: AbortSignal;
  readonly #left: () => void;
  readonly #states = new ChannelStates();
  /** The latest state that the origin has sent. */
  #told: ChannelState | undefined;
  readonly #videos = new Set<string>();
  readonly #unwatched = new AbortController();
  #watchers = 0;

  /** `left`: called when the last watcher has left; the watch is of no use then. */
  constructor(
    channel: string,
    parts: { origin: Origin; clock: Clock },
    closed: AbortSignal,
    left: () => void,
  ) {
    this.#channel = channel;
    this.#parts = parts;
    this.#closed = AbortSignal.any([closed, this.#unwatched.signal]);
    this.#left = left;
    void this.#watch(this.#closed);
  }

  /** Adds a watcher. */
  join(): this {
    this.#watchers += 1;
    return this;
  }

  [Symbol.dispose](): void {
    this.#watchers -= 1;
    if (this.#watchers > 0) return;
    this.#unwatched.abort("nobody waits");
    this.#left();
  }

  states(signal: AbortSignal): AsyncGenerator<ChannelState, never, void> {
    return this.#states.over(signal);
  }

  /** Asks the origin, which sends the rest of such a video to a viewer that resumes behind it. */
  async has(videoId: string): Promise<boolean | undefined> {
    if (this.#videos.has(videoId)) return true;
    const { origin, clock } = this.#parts;
    try {
      const range = await origin.range(videoId);
      if (!range) return false;
      using limit = new Deadline(clock, ASK_LIMIT_MS);
      using lines = await origin.channel(this.#channel, `${videoId}.${range.head}`, limit.signal);
      for (let batch: string[] | undefined = []; batch; batch = await lines.next()) {
        const init = batch.find((line) => line.startsWith('{"event":"init"'));
        if (init !== undefined) return asString(dig(parseJson(init), "videoId")) === videoId;
      }
      return false;
    } catch {
      return undefined;
    }
  }

  ended(): void {}

  /** The origin says when a stream fails there; for a failure of this edge alone, waits and tries again. */
  failed(videoId: string, error: Error): void {
    const { current } = this.#states;
    if (current?.videoId !== videoId) return;
    this.#wait(error);
    after(this.#parts.clock, RETRY_MS, this.#closed, () => {
      if (this.#states.current?.videoId === undefined && this.#told === current) this.#show(current);
    });
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { origin, clock } = this.#parts;
    for (let waitMs = FIRST_WAIT_MS; !signal.aborted && !this.#states.absent; ) {
      try {
        using lines = await origin.channel(this.#channel, undefined, signal);
        waitMs = FIRST_WAIT_MS;
        await this.#read(lines);
      } catch (error) {
        if (!signal.aborted) this.#failed(error);
        waitMs = Math.min(MAX_WAIT_MS, 2 * waitMs);
      }
      await clock.sleep(waitMs * clock.random(), signal).catch(() => {});
    }
  }

  async #read(lines: LineStream): Promise<void> {
    for (let batch: string[] | undefined = []; batch; batch = await lines.next()) {
      for (const line of batch) {
        if (line.startsWith('{"event":"channel"')) this.#saw(line);
        if (line.startsWith('{"event":"error"')) throw errorIn(line);
      }
    }
  }

  #saw(line: string): void {
    const { event: _, ...state } = asObject(parseJson(line)) ?? {};
    const [videoId] = [asString(state.videoId)];
    if (videoId !== undefined) this.#videos.add(videoId);
    this.#told = { ...(state as Omit<ChannelState, "channel">), channel: this.#channel };
    this.#show(this.#told);
  }

  #show(state: ChannelState): void {
    this.#states.current = state;
    this.#states.announce();
  }

  #wait(error: Error): void {
    const { videoId: _, startsAt: __, ...names } = this.#states.current ?? { channel: this.#channel };
    this.#show({ ...names, state: "waiting", reason: error.message.replace(/\.$/, "") });
  }

  /** The state of a channel stays as it is while the origin is away: its rooms go on. */
  #failed(error: unknown): void {
    const isAbsent = error instanceof RelayError && error.code === "NO_LIVE_CHAT";
    if (isAbsent && this.#states.current?.videoId === undefined) {
      this.#states.absent = error;
      this.#states.announce();
    } else if (!this.#states.current) this.#wait(isUnavailable(error) ? error.refusal : toError(error));
  }
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

/** The error of a stream that the origin has ended. */
function errorIn(line: string): Error {
  const error = parseJson(line);
  const message = asString(dig(error, "message")) ?? "The origin ended the stream of the channel.";
  return dig(error, "code") === "NO_LIVE_CHAT" ? new RelayError("NO_LIVE_CHAT", message) : new Error(message);
}
