/** The states of a channel for everybody that waits for it: the latest one, then each change. */
import { unlessAborted } from "../../deadline.ts";
import type { ChannelState } from "../../protocol/channel.ts";
import type { RelayError } from "../../protocol/errors.ts";

/** The maximum number of videos that are remembered as the channel's. A page shows 30. */
export const MAX_VIDEOS = 500;

/** A channel as its viewers see it. Disposing removes one watcher. */
export interface WatchedChannel extends Disposable {
  /**
   * Whether the states come from another instance. Then this instance can hear that a stream has ended before
   * it has received all messages of the chat.
   */
  readonly isRemote?: boolean;
  /** Its name, as `parseChannel` returns it. */
  readonly channel: string;
  /** The latest state; undefined until the first look. */
  readonly state: ChannelState | undefined;
  /**
   * The channel's state as soon as it is known, then each change; a slow reader gets the latest only. Rejects
   * with `RelayError` NO_LIVE_CHAT if there is no such channel, and with the signal's reason.
   */
  states(signal: AbortSignal): AsyncGenerator<ChannelState, never, void>;
  /**
   * Whether the video is one of the channel's, finished streams included. Undefined if this cannot be known
   * yet; then `states` yields again, for another try. `since`: when the client that names the video
   * connected, on the monotonic clock; the video may have begun shortly before. `gone`: aborts when the
   * client leaves.
   */
  has(videoId: string, since: number, gone: AbortSignal): boolean | undefined | Promise<boolean | undefined>;
  /** A watcher has read a stream's chat to its end. */
  ended(videoId: string): void;
  /** The room of a stream failed, or the stream has no chat. Not for errors of one viewer alone. */
  failed(videoId: string, error: Error): void;
}

export class ChannelStates {
  current: ChannelState | undefined;
  /** Set if there is no such channel. */
  absent: RelayError | undefined;
  #changes = 0;
  /** Those that wait for the next change. One promise for all would keep those that leave until it comes. */
  readonly #waiting = new Set<() => void>();

  /** How many changes there have been. */
  get changes(): number {
    return this.#changes;
  }

  /** Resolves once there have been more changes than that. Rejects with the signal's reason. */
  async changedSince(changes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#changes > changes) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.add(resolve);
    try {
      await unlessAborted(promise, signal);
    } finally {
      this.#waiting.delete(resolve);
    }
  }

  /** Call it after each change. */
  announce(): void {
    this.#changes += 1;
    for (const resolve of this.#waiting) resolve();
  }

  /** As `WatchedChannel.states`. */
  async *over(signal: AbortSignal): AsyncGenerator<ChannelState, never, void> {
    for (let shown: ChannelState | undefined; ; ) {
      if (this.absent) throw this.absent;
      if (this.current && this.current !== shown) {
        shown = this.current;
        yield shown;
      } else await this.changedSince(this.#changes, signal);
    }
  }
}

/** Adds to a set, which then forgets its oldest value if it is too large. */
export function addBounded(set: Set<string>, added: string, maxSize: number): void {
  set.add(added);
  const [oldest] = set;
  if (oldest !== undefined && set.size > maxSize) set.delete(oldest);
}
