/**
 * A channel as everybody that waits for it sees it: its latest state, and the list of its broadcasts. A
 * viewer is a place in this list, with a cursor: it is sent each broadcast up to the cursor at which the
 * channel turned to another one, however slowly it reads, and then goes on to the next.
 */
import type { Clock } from "../../base/clock.ts";
import { Deadline, unlessAborted } from "../../base/deadline.ts";
import type { ChannelState } from "../../protocol/channel.ts";
import type { RelayError } from "../../protocol/errors.ts";

/** How long a client waits for the first look at a channel before it gets a state without one. */
const FIRST_LOOK_MS = 2000;

/**
 * A broadcast of the channel, as its viewers are sent it; one whose chat is reopened comes again. Each entry
 * of the list points to the next, so that one that all viewers have left is freed.
 */
export interface Broadcast {
  /** Undefined only in the list's first entry, where the channel has not had a broadcast yet. */
  readonly videoId: string | undefined;
  /** Whether its chat goes on after the end of its room. */
  readonly isReopened?: boolean;
  /**
   * Set by the first viewer that learns that the channel has turned to another one, or by `resumed`: the
   * cursor up to which viewers are sent the chat. Without it, they are sent the chat to its end.
   */
  to?: Promise<number>;
  next?: Broadcast;
}

/** A channel as its viewers see it. Disposing removes one watcher. */
export interface WatchedChannel extends Disposable {
  /** Its name, as `parseChannel` returns it. */
  readonly channel: string;
  /** This name, and the others that the channel's pages have shown for it. */
  readonly names: readonly string[];
  readonly broadcasts: Broadcasts;
  /** Whether the channel shows the video as its own now. For any other video, ask `VideoChannels`. */
  shows(videoId: string): boolean;
  /** A watcher has read a broadcast's chat to the end of its room. */
  ended(videoId: string): void;
  /** The room of a broadcast failed, or it has no chat. Not for errors of one viewer alone. */
  failed(videoId: string, error: Error): void;
}

export class Broadcasts {
  #state: ChannelState | undefined;
  #newest: Broadcast = { videoId: undefined };
  #refusal: RelayError | undefined;
  #live: readonly string[] = [];
  #changes = 0;
  /** One promise for all that wait would keep those that leave until the next change. */
  readonly #listeners = new Set<() => void>();

  /** The latest state; undefined until the first look. */
  get state(): ChannelState | undefined {
    return this.#state;
  }

  /**
   * The videos that are live and can be read, in the order of their ids; at an edge only if there are
   * several.
   */
  get live(): readonly string[] {
    return this.#live;
  }

  /** Why nobody can watch it: there is no such channel, or its first look was refused. */
  get refusal(): RelayError | undefined {
    return this.#refusal;
  }

  get newest(): Broadcast {
    return this.#newest;
  }

  /** The video that is live or scheduled, and not only waited for. */
  get videoId(): string | undefined {
    return this.#state?.state === "waiting" ? undefined : this.#state?.videoId;
  }

  /**
   * Sets the state, whose video is the newest broadcast from now on, and announces it. `isReopened`: whether
   * the video's chat goes on after its end.
   */
  show(state: ChannelState, isReopened = false, live = this.#live): void {
    this.#state = state;
    this.#live = live;
    const { videoId } = this;
    if (videoId !== undefined && (videoId !== this.#newest.videoId || isReopened)) {
      const added: Broadcast = { videoId, isReopened };
      this.#newest.next = added;
      this.#newest = added;
    }
    this.#announce();
  }

  /** Sets `refusal`, and announces it. */
  refuse(refusal: RelayError): void {
    this.#refusal = refusal;
    this.#announce();
  }

  /** Whether the state names the video of a broadcast that is the newest. */
  isOn({ videoId, next }: Broadcast): boolean {
    return !next && videoId !== undefined && this.videoId === videoId;
  }

  /** Whether the channel has turned to another broadcast. */
  hasTurnedFrom(broadcast: Broadcast): boolean {
    return broadcast.to !== undefined || (this.videoId !== undefined && !this.isOn(broadcast));
  }

  /**
   * Where a client continues that comes back with a cursor of one of the channel's videos: in the current
   * broadcast if it is of that video, else in an entry before it. While the channel has another broadcast,
   * that entry ends with the stored messages; while it has none, its chat may go on.
   */
  resumed(videoId: string): Broadcast {
    if (this.videoId === videoId) return this.#newest;
    const earlier: Broadcast = { videoId, next: this.#newest };
    if (this.hasTurnedFrom(earlier)) earlier.to = Promise.resolve(Number.POSITIVE_INFINITY);
    return earlier;
  }

  /** How many changes there have been. */
  get changes(): number {
    return this.#changes;
  }

  /** Calls the listener at each change, until it is disposed of. */
  onChange(listener: () => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /**
   * Resolves once there have been more changes than that. Rejects with `refusal`, and with the signal's
   * reason.
   */
  async changedSince(changes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#changes === changes) {
      const { promise, resolve } = Promise.withResolvers<void>();
      using _ = this.onChange(resolve);
      await unlessAborted(promise, signal);
    }
    if (this.refusal) throw this.refusal;
  }

  #announce(): void {
    this.#changes += 1;
    for (const listener of [...this.#listeners]) listener();
  }

  /** Resolves to the channel's state once it is known. Rejects as `changedSince` does. */
  async known(signal: AbortSignal): Promise<ChannelState> {
    for (;;) {
      if (this.refusal) throw this.refusal;
      if (this.#state) return this.#state;
      await this.changedSince(this.#changes, signal);
    }
  }

  /** Resolves after the first look, or after two seconds. Rejects as `changedSince` does. */
  async firstLook(clock: Clock, signal: AbortSignal): Promise<void> {
    using limit = new Deadline(clock, FIRST_LOOK_MS);
    try {
      await this.known(AbortSignal.any([signal, limit.signal]));
    } catch (error) {
      if (signal.aborted || !limit.signal.aborted) throw error;
    }
  }
}

/** The state while the channel's broadcast, if it has one, cannot be served: a wait for this reason. */
export function waitingOf(
  { videoId: _, startsAt: __, ...names }: ChannelState,
  reason: string,
): ChannelState {
  return { ...names, state: "waiting", reason };
}
