/**
 * Judges what one viewer is sent of a video, over all its connections: from the beginning of each, the log of
 * one chat, without a gap. A cursor of the live chat or of the replay leads to that chat alone.
 */

import { isDeepStrictEqual } from "node:util";
import { parseObject } from "../../simulator/plain-json.ts";
import type { Random } from "../../simulator/random.ts";
import { type ChatType, isReplayChat } from "../../src/protocol/chat.ts";
import type { ChatFrames } from "../harness/chat-frames.ts";
import { type Filter, passes } from "../harness/filters.ts";
import type { Journal } from "../harness/journal.ts";
import type { Promised } from "../harness/promises.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import { Sequence } from "../harness/sequence.ts";
import type { RoomJudge } from "./room-judge.ts";

interface ChatJudgeParts {
  /** Its name in violations. */
  viewer: string;
  filter: Filter;
  isDetailed: boolean;
  /** Whether it may be refused the chat for want of capacity, in these words. */
  mayRefuse(message: unknown): boolean;
  scheduler: Scheduler;
  journal: Journal;
}

export class ChatJudge implements ChatFrames {
  /** The chats that it may be sent: of a video whose stream ends in the run, the live chat and the replay. */
  readonly rooms: readonly RoomJudge[];
  /** The chat of its last connection. */
  room: RoomJudge;
  readonly #parts: ChatJudgeParts;
  readonly #sequence: Sequence;
  #asked: number | undefined;
  readonly #headsWhenAsked = new Map<RoomJudge, number>();

  constructor(room: RoomJudge, parts: ChatJudgeParts) {
    this.rooms = room.replay ? [room, room.replay] : [room];
    this.room = room;
    this.#parts = parts;
    this.#sequence = new Sequence((cursor) => passes(parts.filter, this.#typeAt(cursor)));
  }

  get videoId(): string {
    return this.room.videoId;
  }

  get cursor(): number | undefined {
    return this.#sequence.cursor;
  }

  get hasEnded(): boolean {
    return this.#sequence.hasEnded;
  }

  /**
   * Whether it has everything, up to the final message and beyond. With a filter, the next keepalive brings
   * it the cursors of the last messages. In a room without messages, it has everything once it has begun.
   */
  get isUpToDate(): boolean {
    const { head = this.cursor ?? Number.NaN, finalCursor = 0 } = this.room;
    return !this.#sequence.lacks(head) && (this.cursor ?? Number.NaN) >= finalCursor;
  }

  get lacksOld(): boolean {
    const head = this.#headsWhenAsked.get(this.room) ?? 0;
    return this.#isHonoured && this.#sequence.lacks(head);
  }

  /** A cursor that this viewer was never sent, or hardly ever. */
  forged(random: Random): number {
    const { base = 1000, rows } = this.rooms.length > 1 ? random.pick(this.rooms) : this.room;
    return random.pick([
      0,
      1,
      base - 1,
      base,
      base + random.below(rows.length + 1),
      base + rows.length + 1,
      2 ** 52,
    ]);
  }

  asks(cursor: number | undefined): void {
    this.#asked = cursor;
    for (const room of this.rooms) this.#headsWhenAsked.set(room, room.head ?? 0);
  }

  /** Whether the cursor that the viewer asked for is one of its chat, so that it begins there. */
  get #isHonoured(): boolean {
    const { base = Number.NaN } = this.room;
    return this.#holds(this.room, this.#asked === 0 ? base : this.#asked);
  }

  /** Whether the chat had the cursor when the viewer asked, and still has it. */
  #holds(room: RoomJudge, cursor = Number.NaN): boolean {
    const { base = Number.NaN } = room;
    return cursor >= base && cursor <= (this.#headsWhenAsked.get(room) ?? 0);
  }

  /** A connection begins after the cursor. `chatType`: where an answer does not say it, its cursors do. */
  begin({ cursor: start, chatType }: { cursor: number; chatType?: ChatType | undefined }): void {
    const [first = this.room] = this.rooms;
    const isOfChat = (room: RoomJudge) =>
      chatType ? room.isReplay === isReplayChat(chatType) : room.isStored(start);
    // A cache may still have the log of a store that is lost.
    const isOfLost = (room: RoomJudge) => !chatType && room.at(start + 1) !== undefined;
    const found = this.rooms.find(isOfChat) ?? this.rooms.find(isOfLost);
    if (chatType && !found) this.#violate(`is sent a ${chatType}`);
    this.room = found ?? first;
    const other = this.rooms.find((room) => room !== this.room && this.#holds(room, this.#asked));
    if (other) this.#violate(`asked for what follows ${this.#asked}, it is sent the other chat`);
    const { base = Number.NaN, head = Number.NaN } = this.room;
    const asked = this.#asked === 0 ? base : this.#asked;
    this.#violate(this.#sequence.begin(start, this.#isHonoured ? asked : undefined));
    if (!this.room.holds(start)) this.#violate(`begins after ${start}, in a room from ${base} to ${head}`);
  }

  message(cursor: number, data: string): void {
    const { filter, isDetailed } = this.#parts;
    const row = this.room.at(cursor);
    this.#violate(this.#sequence.next(cursor));
    if (!row) this.#violate(`is sent ${cursor}, which is not durable`, "log");
    else if (!passes(filter, this.#typeAt(cursor)))
      this.#violate(`is sent ${cursor} of type ${this.#typeAt(cursor)}, wants ${filter.types}`);
    const { body = "", details = "", storedAt = 0 } = row ?? {};
    const rest = details === "{}" ? "}" : `,${details.slice(1)}`;
    const detailed = `{"storedAt":"${new Date(storedAt).toISOString()}"${rest}`;
    const text = isDetailed ? `${body.slice(0, -1)},"details":${detailed}}` : body;
    if (/[\p{Cc}\u2028\u2029]/u.test(data)) this.#violate(`is sent ${cursor} with a raw control character`);
    // equal except for the escapes
    if (data !== text && !isDeepStrictEqual(JSON.parse(data), parseObject(text)))
      this.#violate(`is sent other words under ${cursor} than are stored: ${data.slice(0, 200)}`);
  }

  moved(cursor: number): void {
    this.#violate(this.#sequence.moved(cursor));
  }

  /** `isLast`: whether nothing of the chat may follow on its connection. */
  failed(data: string, isLast = false): void {
    const { journal, mayRefuse } = this.#parts;
    if (isLast) this.#violate(this.#sequence.end("error"));
    journal.count("frames error");
    // A failed room may have been opened again since, and may hold more than its last life's viewers
    // received.
    const { head = Number.POSITIVE_INFINITY } = this.room;
    if ((this.cursor ?? 0) > head) this.#violate(`is sent error at ${this.cursor} of ${head}`);
    const { code, message } = parseObject(data) ?? {};
    if (code === "CAPACITY" && !mayRefuse(message)) this.#violate(`is sent ${data}`, "neighbours");
  }

  end(data: string): void {
    const { journal, scheduler } = this.#parts;
    this.#violate(this.#sequence.end("end"));
    journal.count("frames end");
    const { head, overSince, isReplay } = this.room;
    const lacking = isReplay && this.cursor === head && this.room.lacking;
    if (lacking) this.#violate(`is sent end of a replay without ${lacking}`);
    if (!this.room.endsAt(this.cursor)) this.#violate(`is sent end at ${this.cursor} of ${head}`);
    if (scheduler.monotonic() < overSince) {
      journal.count("false ends");
      this.room.overSince = scheduler.monotonic();
      this.#violate(`is sent an end of a chat that is open: ${data}`);
    }
  }

  /** The end of a connection for the messages that were stored when the viewer came. */
  endPart(): void {
    this.#violate(this.#sequence.end("end"));
    const stored = this.#headsWhenAsked.get(this.room) ?? 0;
    // A room can be opened, and its first message not be stored: then its part has a beginning alone.
    if (stored > 0 && this.#sequence.lacks(stored))
      this.#violate(`is sent a part up to ${this.cursor}, of ${stored} stored`);
  }

  #typeAt(cursor: number): string {
    return String(parseObject(this.room.at(cursor)?.body ?? "")?.type);
  }

  #violate(what: string | undefined, promise: Promised = "stream"): void {
    const { journal, viewer } = this.#parts;
    if (what) journal.violate(promise, this.room.videoId, `viewer ${viewer} ${what}`);
  }
}
