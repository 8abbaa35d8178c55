/**
 * The log of one room of an origin: new messages come from one stream, which resumes after the last cursor
 * whenever it breaks; older ones come from the origin's pages. It keeps none of them.
 */
import { type Clock, nap } from "../base/clock.ts";
import { FACT_NAMES, type FactName, type RoomEnd } from "../protocol/chat.ts";
import { type ChatKey, chatOf } from "../protocol/chat-key.ts";
import { ChatAbsent } from "../protocol/chat-standing.ts";
import { ERRORS, RelayError } from "../protocol/errors.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import type { CursorRange } from "../serving/resume-or-backfill.ts";
import type { RoomLog } from "../serving/room-log.ts";
import type { Fact, TypedPart } from "../store/port.ts";
import { isUnavailable } from "../store/store-error.ts";
import type { StoredMessage } from "../store/stored-message.ts";
import type { OriginEvents } from "../telemetry/origin-events.ts";
import type { Origin } from "./origin.ts";
import type { OriginStream } from "./origin-stream.ts";
import { ReopenWaits } from "./reopen-waits.ts";
import { SaidFact } from "./said-fact.ts";

/** The minimum time between two questions what the video is, and the wait for an answer. */
const VIDEO_MS = 2000;

/** Where a log is followed from: the messages up to where the stream begins, and the stream. */
interface FollowedStart {
  recent: StoredMessage[];
  stream: OriginStream;
}

export class OriginRoomLog implements RoomLog {
  readonly isElsewhere = true;
  readonly #origin: Origin;
  readonly #clock: Clock;
  readonly #events: OriginEvents;
  readonly #opening: FollowedStart | undefined;
  /**
   * The video, as the latest stream's `init` or else the origin's answer describes it; undefined if neither
   * has.
   */
  video: VideoFacts | undefined;
  /** When it may be asked for, and the latest question. A stream that has just begun was one. */
  #videoDueAt: number;
  #videoAsked: Promise<void> = Promise.resolve();
  readonly #facts: Readonly<Record<FactName, SaidFact>>;

  /** Without an opening, the log can be read, but not followed. */
  constructor(origin: Origin, clock: Clock, events: OriginEvents, opening?: FollowedStart) {
    this.#origin = origin;
    this.#clock = clock;
    this.#events = events;
    this.#opening = opening;
    const facts = FACT_NAMES.map((name) => [name, new SaidFact(clock)]);
    this.#facts = Object.fromEntries(facts);
    this.video = opening?.stream.video;
    this.#videoDueAt = opening ? clock.monotonic() + VIDEO_MS : 0;
  }

  read(key: ChatKey, after: number, limit: number): Promise<StoredMessage[]> {
    const { videoId } = chatOf(key);
    return this.#page(videoId, this.#origin.messagesAfter(videoId, after, limit));
  }

  readTypes(key: ChatKey, part: TypedPart): Promise<StoredMessage[]> {
    const { videoId } = chatOf(key);
    return this.#page(videoId, this.#origin.messagesOf(videoId, part));
  }

  cursorAt(key: ChatKey, time: number): Promise<number | undefined> {
    return this.#origin.cursorAt(key, time);
  }

  /** The origin may learn what the video is only after the stream has begun. Resolves soon if it is away. */
  async learnVideo(key: ChatKey, signal: AbortSignal): Promise<void> {
    if (this.video) return;
    const clock = this.#clock;
    if (clock.monotonic() >= this.#videoDueAt) {
      this.#videoDueAt = clock.monotonic() + VIDEO_MS;
      this.#videoAsked = this.#origin.video(key, signal).then(
        (video) => {
          this.video ??= video;
        },
        () => {},
      );
    }
    await nap(clock, VIDEO_MS, this.#videoAsked, signal);
  }

  /** What the stream says; a log that is not followed asks once. */
  async *fact(
    key: ChatKey,
    name: FactName,
    signal: AbortSignal,
  ): AsyncGenerator<Fact | undefined, void, void> {
    if (this.#opening) yield* this.#facts[name].follow(signal);
    else yield await this.#origin.fact(key, name, signal);
  }

  getRoom(key: ChatKey): Promise<CursorRange | undefined> {
    return this.#origin.range(key);
  }

  /** An origin that refuses a page of a room that it had has lost the room, as with a store in memory. */
  async #page<T>(videoId: string, page: Promise<T>): Promise<T> {
    try {
      return await page;
    } catch (error) {
      if (error instanceof RelayError) this.#events.roomLost(videoId, error.message);
      throw error;
    }
  }

  /** Call it once. Returns without an end if the origin does not honour the cursor any more. */
  async *follow(
    key: ChatKey,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<StoredMessage[] | RoomEnd, void, void> {
    const { videoId } = chatOf(key);
    if (!this.#opening) throw new Error(`room ${videoId} is not followed`);
    const { recent, stream: first } = this.#opening;
    let cursor = recent.at(-1)?.cursor ?? after;
    let stream: OriginStream | undefined = first;
    signal.addEventListener("abort", () => stream?.[Symbol.dispose](), { once: true });
    if (recent.length > 0) yield recent;
    while (stream) {
      for await (const next of this.#batches(videoId, stream, signal)) {
        if (Array.isArray(next)) cursor = next.at(-1)?.cursor ?? cursor;
        yield next;
        if (signal.aborted || !Array.isArray(next)) return;
      }
      stream = await this.#resume(videoId, cursor, signal);
      this.video = stream?.video ?? this.video;
    }
  }

  /**
   * The messages and the end that a stream brings until it breaks; its facts are noted. Then it is closed:
   * the origin counts it as a viewer.
   */
  async *#batches(
    videoId: string,
    stream: OriginStream,
    signal: AbortSignal,
  ): AsyncGenerator<StoredMessage[] | RoomEnd, void, void> {
    using open = stream;
    try {
      for await (const next of open.batches()) {
        if ("name" in next) this.#facts[next.name].say(next);
        else yield next;
      }
      this.#events.streamBroke(videoId, "the origin ended it");
    } catch (error) {
      if (signal.aborted) return;
      if (!isUnavailable(error)) throw error;
      this.#events.streamBroke(videoId, error.message);
    } finally {
      for (const name of FACT_NAMES) this.#facts[name].over();
    }
  }

  /** A stream after the cursor, after any number of tries; undefined if the origin does not honour it. */
  async #resume(videoId: string, cursor: number, signal: AbortSignal): Promise<OriginStream | undefined> {
    const [origin, events] = [this.#origin, this.#events];
    for (const waits = new ReopenWaits(this.#clock); ; ) {
      await waits.next(signal);
      if (signal.aborted) return undefined;
      try {
        const stream = await origin.stream(videoId, { lastEventId: cursor }, signal);
        if (stream.cursor === cursor) return stream;
        stream[Symbol.dispose]();
        events.roomLost(videoId, `it does not continue after cursor ${cursor}`);
        return undefined;
      } catch (error) {
        if (signal.aborted) return undefined;
        if (isUnavailable(error)) continue;
        if (!(error instanceof RelayError || error instanceof ChatAbsent)) throw error;
        if (error instanceof ChatAbsent || ERRORS[error.code].retry === "never") {
          events.roomLost(videoId, error.message);
          return undefined;
        }
        waits.failed(error);
      }
    }
  }
}
