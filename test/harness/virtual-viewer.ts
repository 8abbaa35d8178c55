/**
 * A viewer of a virtual relay: its received frames, its cursor, its end, and the control of its connection.
 */
import { FAULT_CODES, noLiveChat, ofFault } from "../../src/http/fault-codes.ts";
import { filterAsked } from "../../src/http/filter-query.ts";
import type { FactName, Init } from "../../src/protocol/chat.ts";
import { ChatAbsent } from "../../src/protocol/chat-standing.ts";
import type { Message } from "../../src/protocol/message.ts";
import type { Rooms } from "../../src/rooms/rooms.ts";
import { FORMS } from "../../src/serving/form.ts";
import type { LogPosition } from "../../src/serving/log-position.ts";
import { UpstreamError } from "../../src/upstream/upstream-error.ts";
import type { FrameReader } from "./frames.ts";
import { SimulatedSink } from "./sink.ts";

export interface Visit {
  videoId: string;
  lastEventId?: number | undefined;
  /** A position in the chat's log, as `/v1/log` asks for it. */
  log?: LogPosition;
  backfill?: number;
  details?: boolean;
  /** As in the query of `/v1/stream`. */
  types?: string;
  until?: "now";
  facts?: readonly FactName[];
  chat?: "live" | "replay";
  /** As a recording that knows more than the store. */
  reopens?: boolean;
  /** Wall milliseconds. */
  from?: number;
  /** Openings take turns by address. */
  address?: string;
}

interface SentFrame {
  event: string;
  data: unknown;
}

export interface SentMessage {
  cursor: number;
  message: Omit<Message, "details"> & { details?: Message["details"] };
}

/** Advances virtual time until the condition holds. Rejects if it does not in time. */
type Until = (condition: () => boolean, what: string) => Promise<void>;

export class VirtualViewer {
  /** Resolves once its stream has begun. Rejects as `/v1/stream` answers. */
  readonly entered: Promise<void>;
  readonly sink: SimulatedSink;
  readonly #gone = new AbortController();
  readonly #until: Until;
  readonly #reader: FrameReader;
  readonly #received: Buffer[] = [];
  /** How many of them have been parsed. */
  #parsed = 0;
  readonly #frames: SentFrame[] = [];
  readonly #messages: SentMessage[] = [];

  constructor(rooms: Rooms, visit: Visit, reader: FrameReader, until: Until) {
    const { videoId, lastEventId, log, backfill, details = false, types = "", until: bound } = visit;
    const { chat, reopens, from, address = "viewer", facts } = visit;
    this.#until = until;
    this.#reader = reader;
    const form = FORMS.sse[details ? "detailed" : "plain"].bare;
    this.sink = new SimulatedSink(form, (bytes) => this.#received.push(bytes));
    const { signal } = this.#gone;
    const openSink = () => {
      signal.throwIfAborted();
      return this.sink;
    };
    const filter = filterAsked({ types });
    const asked = {
      videoId,
      chat,
      ...(reopens && { reopens }),
      lastEventId,
      ...(log !== undefined && { log }),
      backfill,
      filter,
      from,
      isBounded: bound === "now",
      wantsVideo: details,
      facts,
    };
    const request = { ...asked, address: () => address, openSink };
    this.entered = rooms.enter(request, signal).catch((error) => {
      if (error instanceof ChatAbsent) throw noLiveChat(error);
      throw error instanceof UpstreamError ? ofFault(error, FAULT_CODES["/v1/stream"]) : error;
    });
    this.entered.catch(() => {}); // callers that await `entered` see it
  }

  /** All frames so far, in order. The data of a cursor frame, whose event is `cursor`, is the cursor. */
  get frames(): readonly SentFrame[] {
    this.#read();
    return this.#frames;
  }

  /** Everything it was sent, as text. */
  get text(): string {
    return Buffer.concat(this.#received).toString();
  }

  get messages(): readonly SentMessage[] {
    this.#read();
    return this.#messages;
  }

  get init(): Init {
    const frame = this.frames.find(({ event }) => event === "init");
    if (!frame) throw new Error("no init frame yet");
    return frame.data as Init;
  }

  get ids(): string[] {
    return this.messages.map(({ message }) => message.id);
  }

  get cursors(): number[] {
    return this.messages.map(({ cursor }) => cursor);
  }

  /** The terminal frame; undefined if none has arrived. */
  get end(): SentFrame | undefined {
    const last = this.frames.at(-1);
    return last?.event === "end" || last?.event === "error" ? last : undefined;
  }

  /** Advances virtual time until the condition holds. Rejects if the connection ends first. */
  async until(condition: () => boolean, what = condition.toString()): Promise<void> {
    await this.#until(() => condition() || this.sink.closedBy !== undefined, what);
    if (!condition()) throw new Error(`the stream ended before: ${what}`);
  }

  async untilMessages(count: number): Promise<readonly SentMessage[]> {
    await this.until(() => this.messages.length >= count, `${count} messages`);
    return this.messages;
  }

  /** Waits for the end of the connection. Returns the terminal frame, if there was one. */
  async ended(): Promise<SentFrame | undefined> {
    await this.#until(() => this.sink.closedBy !== undefined, "the end of the stream");
    return this.end;
  }

  leave(): void {
    this.#gone.abort(new Error("the viewer left"));
    this.sink.leave();
  }

  #read(): void {
    for (; this.#parsed < this.#received.length; this.#parsed++) {
      const bytes = this.#received[this.#parsed] ?? Buffer.alloc(0);
      for (const { event, cursor, data } of this.#reader.read(bytes)) {
        const frame = { event, data: event === "cursor" ? cursor : JSON.parse(data) };
        this.#frames.push(frame);
        if (event === "message" && cursor !== undefined) this.#messages.push({ cursor, message: frame.data });
      }
    }
  }
}
