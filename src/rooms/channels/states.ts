/** The states of a channel for everybody that waits for it: the latest one, then each change. */
import { unlessAborted } from "../../deadline.ts";
import type { ChannelState } from "../../protocol/channel.ts";
import type { RelayError } from "../../protocol/errors.ts";

/** A channel as its viewers see it. Disposing removes one watcher. */
export interface WatchedChannel extends Disposable {
  /**
   * Whether the states come from another instance. Then this instance can hear that a stream has ended before
   * it has received all messages of the chat.
   */
  readonly isRemote?: boolean;
  /**
   * The channel's state as soon as it is known, then each change; a slow reader gets the latest only. Rejects
   * with `RelayError` NO_LIVE_CHAT if there is no such channel, and with the signal's reason.
   */
  states(signal: AbortSignal): AsyncGenerator<ChannelState, never, void>;
  /**
   * Whether the video is known as one of the channel's, finished streams included. Undefined if that cannot
   * be known yet; once it can, `states` yields again.
   */
  has(videoId: string): boolean | undefined | Promise<boolean | undefined>;
  /** A watcher has read a stream's chat to its end. */
  ended(videoId: string): void;
  /** The room of a stream failed, or the stream has no chat. Not for errors of one viewer alone. */
  failed(videoId: string, error: Error): void;
}

export class ChannelStates {
  current: ChannelState | undefined;
  /** Set if there is no such channel. */
  absent: RelayError | undefined;
  #changed = Promise.withResolvers<void>();

  /** Resolves at the next change. */
  get changed(): Promise<void> {
    return this.#changed.promise;
  }

  /** Call it after each change. */
  announce(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** As `WatchedChannel.states`. */
  async *over(signal: AbortSignal): AsyncGenerator<ChannelState, never, void> {
    for (let shown: ChannelState | undefined; ; ) {
      const { changed } = this;
      if (this.absent) throw this.absent;
      if (this.current && this.current !== shown) {
        shown = this.current;
        yield shown;
      } else await unlessAborted(changed, signal);
    }
  }
}
