/**
 * The cursors of a room's log at this moment, and what its video is, as the log has it. Viewers share a read
 * in flight. Each read also drops from the tail the messages that the log has deleted.
 */
import { unlessEmpty } from "../base/json.ts";
import { InFlight } from "../base/shared-work.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import type { VideoFacts } from "../protocol/video-facts.ts";
import { readVideo } from "../store/stored-video.ts";
import type { LogPosition } from "./log-position.ts";
import { isAhead } from "./resume-or-backfill.ts";
import type { RoomLog, RoomRange } from "./room-log.ts";
import type { Tail } from "./tail.ts";

export class RoomCursors {
  readonly #key: ChatKey;
  readonly #log: RoomLog;
  readonly #tail: Tail;
  readonly #reading = new InFlight<RoomRange>();
  /** What the video is, as the last read has found it; undefined if nothing is known. */
  #video: VideoFacts | undefined;
  #storedVideo: string | null = null;

  constructor(key: ChatKey, log: RoomLog, tail: Tail) {
    this.#key = key;
    this.#log = log;
    this.#tail = tail;
  }

  get video(): VideoFacts | undefined {
    return this.#log.video ?? this.#video;
  }

  /**
   * The cursors, also of a room that the log does not have. The tail drops the messages below the floor.
   * Shared while a read is in progress, because viewers arrive in waves. Rejects as the log does.
   */
  read(): Promise<RoomRange> {
    return this.#reading.join(this.#read);
  }

  /**
   * As `read`, for a viewer with a position: reads again if the position is ahead of a read that was in
   * progress when it came.
   */
  readFor(position: LogPosition | undefined): Promise<RoomRange> {
    const reading = this.#reading.get();
    if (position === undefined || !reading) return this.read();
    return reading.then((range) => (isAhead(position, [range]) ? this.read() : range));
  }

  /** Not a method, because each viewer's call would need a function to bind it. */
  readonly #read = async (): Promise<RoomRange> => {
    const tail = this.#tail;
    const record = await this.#log.getRoom(this.#key);
    this.#found(record?.video ?? null);
    if (record) tail.deletedUpTo(record.floor);
    return record ?? { base: tail.head, floor: tail.head, head: tail.head };
  };

  #found(video: string | null): void {
    if (video === this.#storedVideo) return;
    this.#storedVideo = video;
    this.#video = unlessEmpty(readVideo(video));
  }
}
