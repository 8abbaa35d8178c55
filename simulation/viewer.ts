/**
 * One viewer and its judge. It comes, stalls, leaves, and returns with its cursor or an invented one. The
 * messages that it receives must be its room's log from the beginning of its connection, without a gap.
 */

import { EVERYTHING, FILTERS, type Filter, passes } from "../harness/filters.ts";
import type { Frame, FrameReader } from "../harness/frames.ts";
import type { Journal } from "../harness/journal.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import { Sequence } from "../harness/sequence.ts";
import { SimulatedSink } from "../harness/sink.ts";
import { RelayError } from "../src/protocol/errors.ts";
import { parseTypes } from "../src/serving/filter.ts";
import { FORMS, type Format } from "../src/serving/form.ts";
import { parseObject } from "../src/simulator/json.ts";
import type { Random } from "../src/simulator/random.ts";
import { UpstreamError } from "../src/upstream/errors.ts";
import type { Instance } from "./instance.ts";
import type { RoomJudge } from "./room-judge.ts";

/** The wait of a browser. */
const RETRY_MS = 3000;

export interface ViewerParts {
  room: RoomJudge;
  scheduler: Scheduler;
  random: Random;
  journal: Journal;
  frames: FrameReader;
  /** An instance that takes viewers of the room, if there is one. */
  instance(): Instance | undefined;
  /** Draws its filter and its format; undefined in a run whose viewers get everything. */
  tastes: Random | undefined;
  /** Whether everything that rooms share works. */
  isSharedWell: boolean;
  /** Called when there is something to judge. */
  onFrames(viewer: Viewer): void;
}

export class Viewer {
  readonly name: string;
  readonly room: RoomJudge;
  /** Comes, and no longer leaves. */
  isCalm = false;
  /** Why it is not connected. */
  closeReason = "";
  sink: SimulatedSink | undefined;
  /** Its latest instance. */
  instance: Instance | undefined;
  readonly #parts: ViewerParts;
  readonly #isDetailed: boolean;
  readonly #format: Format;
  readonly #filter: Filter;
  #taken: Frame[] = [];
  #asked: number | undefined;
  #headWhenAsked = 0;
  #hasBegun = false;
  readonly #sequence: Sequence;

  constructor(name: string, parts: ViewerParts) {
    this.name = name;
    this.room = parts.room;
    this.#parts = parts;
    const { random, tastes } = parts;
    this.#isDetailed = random.chance(0.2);
    this.#format = tastes?.chance(0.3) ? "ndjson" : "sse";
    this.#filter = tastes?.chance(0.7) ? tastes.pick(FILTERS) : EVERYTHING;
    this.#sequence = new Sequence((cursor) => passes(this.#filter, this.#typeAt(cursor)));
  }

  /** The last cursor that it received; undefined before the first connection. */
  get cursor(): number | undefined {
    return this.#sequence.cursor;
  }

  /**
   * Whether it has everything, up to the final message and beyond. With a filter, the next keepalive brings
   * it the cursors of the last messages.
   */
  get isUpToDate(): boolean {
    const { head = Number.NaN, finalCursor = 0 } = this.room;
    return !this.#sequence.lacks(head) && (this.cursor ?? Number.NaN) >= finalCursor;
  }

  /** Whether it watches its room now. */
  get isWatching(): boolean {
    return this.#hasBegun && this.sink !== undefined && this.sink.closedBy === undefined;
  }

  /** Watches again and again, for ever. */
  async live(): Promise<never> {
    const { scheduler, random } = this.#parts;
    await scheduler.sleep(random.next() * 30_000);
    for (;;) {
      await this.#watch();
      this.sink = undefined;
      const isOver = this.room.overSince < Number.POSITIVE_INFINITY;
      const { hasEnded } = this.#sequence;
      const isPatient = this.isCalm ? hasEnded && isOver : hasEnded || random.chance(0.15);
      await scheduler.sleep(isPatient ? random.next() * 120_000 : RETRY_MS * (0.5 + random.next()));
    }
  }

  /** One connection, from its request to its end. */
  async #watch(): Promise<void> {
    const { random, journal, scheduler } = this.#parts;
    const { videoId } = this.room;
    this.instance = this.#parts.instance();
    const service = this.instance?.life;
    if (!service) {
      this.closeReason = "no service";
      return;
    }
    const sink = new SimulatedSink(
      FORMS[this.#format][this.#isDetailed ? "detailed" : "plain"].bare,
      (bytes) => this.#take(bytes),
    );
    const gone = new AbortController();
    this.#asked = this.#lastEventId();
    this.#headWhenAsked = this.room.head ?? 0;
    this.#hasBegun = false;
    this.sink = sink;
    journal.note(`viewer ${this.name} of ${videoId} comes with ${this.#asked}`);
    const request = {
      videoId,
      lastEventId: this.#asked,
      backfill: random.pick([null, 0, 1, 50, 500]) ?? undefined,
      filter: parseTypes(this.#filter.types),
      address: () => this.name,
      open: () => {
        gone.signal.throwIfAborted();
        return sink;
      },
    };
    const entered = service.rooms.enter(request, gone.signal).then(
      () => "",
      (error: unknown) => this.#refusal(error),
    );
    const refused = await Promise.race([entered, sink.closed, this.#impatience(sink)]);
    if (refused) {
      this.closeReason = refused;
      journal.note(`viewer ${this.name} of ${videoId} is refused: ${refused}`);
      return;
    }
    if (sink.closedBy === "left") gone.abort(new Error("the viewer left"));
    if (!sink.closedBy) await this.#stay(sink);
    await sink.closed;
    this.closeReason = `connection closed by ${sink.closedBy}`;
    journal.count(`viewers ${sink.closedBy}`);
    journal.note(`viewer ${this.name} of ${videoId} at ${this.cursor}: ${sink.closedBy}`);
    await scheduler.sleep(1);
  }

  /** Resolves for a viewer that does not wait for its room to open; for others it never settles. */
  async #impatience(sink: SimulatedSink): Promise<undefined> {
    const { random, scheduler } = this.#parts;
    const isImpatient = !this.isCalm && random.chance(0.1);
    await scheduler.sleep(isImpatient ? random.next() * 1000 : 120_000);
    if (!this.#hasBegun) sink.leave();
    return undefined;
  }

  /** Reads on, stalls from time to time, and leaves eventually. */
  async #stay(sink: SimulatedSink): Promise<void> {
    const { random, scheduler, journal } = this.#parts;
    const leavesAt = scheduler.monotonic() + (random.chance(0.3) ? 5000 : 240_000) * random.next();
    while (!sink.closedBy) {
      await Promise.race([sink.closed, scheduler.sleep(2000 + random.next() * 60_000)]);
      if (this.isCalm || sink.closedBy) continue;
      if (scheduler.monotonic() > leavesAt) return sink.leave();
      sink.stall();
      journal.count("viewers stalled");
      await Promise.race([sink.closed, scheduler.sleep(random.next() ** 2 * 80_000)]);
      sink.readOn();
    }
  }

  /** Usually its own cursor; sometimes none, or an invented one. */
  #lastEventId(): number | undefined {
    const { random, journal } = this.#parts;
    if (this.isCalm || random.chance(0.7)) return this.cursor;
    if (random.chance(0.5)) return undefined;
    journal.count("viewers forged cursor");
    const { base = 1000, rows } = this.room;
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

  #refusal(error: unknown): string {
    const isKnown = error instanceof RelayError || error instanceof UpstreamError;
    if (!isKnown && !(error instanceof Error && error.message === "the viewer left")) {
      this.#violate(`is refused with ${error instanceof Error ? error.stack : error}`);
    }
    const code =
      error instanceof RelayError ? error.code : error instanceof UpstreamError ? error.fault : "left";
    if (code === "CAPACITY" && this.#parts.isSharedWell) this.#violate("is refused for want of calls");
    this.#parts.journal.count(`refused ${code}`);
    return code;
  }

  #take(bytes: Buffer): void {
    const frames = this.#parts.frames.read(bytes);
    if (frames.length === 0) return;
    this.#taken.push(...frames);
    this.#hasBegun = true;
    this.#parts.onFrames(this);
  }

  /** Judges the frames taken since the last call; by now the room's judge knows all durable messages. */
  judge(): void {
    for (const frame of this.#taken.splice(0)) {
      if (frame.event === "init") this.#begin(Number(parseObject(frame.data)?.cursor));
      else if (frame.event === "message") this.#message(frame);
      else if (frame.event === "cursor") this.#violate(this.#sequence.moved(frame.cursor ?? Number.NaN));
      else this.#terminal(frame);
    }
  }

  #begin(start: number): void {
    const { base = Number.NaN, head = Number.NaN } = this.room;
    const expected = this.#asked === 0 ? base : this.#asked;
    const isOurs = expected !== undefined && expected >= base && expected <= this.#headWhenAsked;
    this.#violate(this.#sequence.begin(start, isOurs ? expected : undefined));
    if (start < base || start > head || Number.isNaN(start))
      this.#violate(`begins after ${start}, in a room from ${base} to ${head}`);
  }

  #message({ cursor = Number.NaN, data }: Frame): void {
    const row = this.room.at(cursor);
    this.#violate(this.#sequence.next(cursor));
    if (!row) this.#violate(`is sent ${cursor}, which is not durable`);
    else if (!passes(this.#filter, this.#typeAt(cursor)))
      this.#violate(`is sent ${cursor} of type ${this.#typeAt(cursor)}, wants ${this.#filter.types}`);
    const { body = "", details = "" } = row ?? {};
    const text = this.#isDetailed ? `${body.slice(0, -1)},"details":${details}}` : body;
    if (/[\p{Cc}\u2028\u2029]/u.test(data)) this.#violate(`is sent ${cursor} with a raw control character`);
    // equal except for the escapes
    if (data !== text && JSON.stringify(JSON.parse(data)) !== text)
      this.#violate(`is sent other words under ${cursor} than are stored: ${data.slice(0, 200)}`);
  }

  #typeAt(cursor: number): string {
    return String(parseObject(this.room.at(cursor)?.body ?? "")?.type);
  }

  #terminal({ event, data }: Frame): void {
    const { journal, scheduler } = this.#parts;
    this.#violate(this.#sequence.end(event));
    journal.count(`frames ${event}`);
    const { head, overSince } = this.room;
    // A failed room may have been opened again since, and may hold more than its last life's viewers
    // received.
    const isWhole = event === "error" ? (this.cursor ?? 0) <= (head ?? 0) : this.cursor === head;
    if (head !== undefined && !isWhole) this.#violate(`is sent ${event} at ${this.cursor} of ${head}`);
    if (event === "end" && scheduler.monotonic() < overSince) {
      journal.count("false ends");
      this.room.overSince = scheduler.monotonic();
      this.#violate(`is sent an end of a chat that is open: ${data}`);
    }
  }

  #violate(what: string | undefined): void {
    if (what) this.#parts.journal.violate(this.room.videoId, `viewer ${this.name} ${what}`);
  }
}
