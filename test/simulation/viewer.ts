/**
 * One viewer: it comes, stalls, leaves, and returns with its last id or an invented one. Its subscription
 * judges what it is sent.
 */

import type { Random } from "../../simulator/random.ts";
import { ChatAbsent } from "../../src/protocol/chat-standing.ts";
import { RelayError } from "../../src/protocol/errors.ts";
import { FORMS } from "../../src/serving/form.ts";
import type { Format } from "../../src/serving/framing.ts";
import { UpstreamError } from "../../src/upstream/upstream-error.ts";
import type { Violate } from "../harness/chat-frames.ts";
import { EVERYTHING, FILTERS, type Filter } from "../harness/filters.ts";
import type { Frame, FrameReader } from "../harness/frames.ts";
import type { Journal } from "../harness/journal.ts";
import { type OriginService, requestStream } from "../harness/origin-api.ts";
import type { Promised } from "../harness/promises.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import { SimulatedSink } from "../harness/sink.ts";
import { ChatJudge } from "./chat-judge.ts";
import type { Host } from "./host.ts";
import type { RoomJudge } from "./room-judge.ts";
import { OneChat, type Subscription } from "./subscription.ts";

/** The wait of a browser. */
const RETRY_MS = 3000;

/** Judges a chat for a viewer, with that viewer's filter. */
type JudgeOf = (room: RoomJudge) => ChatJudge;

/** How a viewer's request for a stream reaches a process. */
export type Ask = (
  service: OriginService,
  request: { path: string; headers: Record<string, string> },
  address: string,
  open: () => SimulatedSink,
  gone: AbortSignal,
) => Promise<void>;

export interface ViewerParts {
  scheduler: Scheduler;
  random: Random;
  journal: Journal;
  frames: FrameReader;
  /** What it watches. */
  subscribe(judge: JudgeOf, violate: Violate): Subscription;
  /** A process that takes it, if there is one. */
  host(): Host | undefined;
  /** By default with neither a token nor a check of rights. */
  ask?: Ask;
  /** Draws its filter and its format; undefined in a run whose viewers get everything. */
  tastes: Random | undefined;
  /** Whether it may be refused these videos for want of capacity, by this process in these words. */
  mayRefuse(videoIds: readonly string[], host: Host | undefined, message: unknown): boolean;
  /** Called when there is something to judge. */
  onFrames(viewer: Viewer): void;
}

export class Viewer {
  readonly name: string;
  /** Comes, and no longer leaves. */
  isCalm = false;
  /** Why it is not connected. */
  closeReason = "";
  sink: SimulatedSink | undefined;
  /** The process to which it came last. */
  host: Host | undefined;
  readonly #parts: ViewerParts;
  readonly #isDetailed: boolean;
  readonly #format: Format;
  readonly #filter: Filter;
  readonly #subscription: Subscription;
  #taken: { frame: Frame; isHeld: boolean }[] = [];
  /** While it takes the bytes that were held for it. */
  #isReadingOn = false;
  #hasBegun = false;
  /** Whether its last refusal was that its chat is surely not there: clients do not come again after it. */
  #isRefusedForGood = false;

  constructor(name: string, parts: ViewerParts) {
    this.name = name;
    this.#parts = parts;
    const { random, tastes, scheduler, journal } = parts;
    this.#isDetailed = random.chance(0.2);
    this.#format = tastes?.chance(0.3) ? "ndjson" : "sse";
    this.#filter = tastes?.chance(0.7) ? tastes.pick(FILTERS) : EVERYTHING;
    const [filter, isDetailed] = [this.#filter, this.#isDetailed];
    const judging = { viewer: name, filter, isDetailed, scheduler, journal };
    const judge = (room: RoomJudge) =>
      new ChatJudge(room, { ...judging, mayRefuse: (message) => this.#mayRefuse([room], message) });
    this.#subscription = parts.subscribe(judge, (videoId, what) => this.#violate("stream", videoId, what));
  }

  /** The rooms of the chats that it may be sent. */
  get rooms(): readonly RoomJudge[] {
    return this.#subscription.rooms;
  }

  /**
   * The rooms in which it is now, as far as it knows: what it has not read of several chats may be the end of
   * one, or the turn to another.
   */
  get watching(): readonly RoomJudge[] {
    const mayHaveLeft = !(this.#subscription instanceof OneChat) && this.sink?.isBehind;
    return this.#isAway || !this.#hasBegun || mayHaveLeft ? [] : this.#subscription.watching;
  }

  get #isAway(): boolean {
    return this.sink === undefined || this.sink.closedBy !== undefined;
  }

  /** Watches again and again, for ever. */
  async live(): Promise<never> {
    const { scheduler, random } = this.#parts;
    await scheduler.sleep(random.next() * 30_000);
    for (;;) {
      await this.#watch();
      this.sink = undefined;
      const isOver = this.rooms.every(({ overSince }) => overSince < Number.POSITIVE_INFINITY);
      const { hasEnded } = this.#subscription;
      const isDone = isOver && (hasEnded || this.#isRefusedForGood);
      const isPatient = this.isCalm ? isDone : hasEnded || random.chance(0.15);
      await scheduler.sleep(isPatient ? random.next() * 120_000 : RETRY_MS * (0.5 + random.next()));
    }
  }

  #request(lastEventId: string | undefined) {
    const backfill = this.#parts.random.pick([null, 0, 1, 50, 500]);
    const query = new URLSearchParams({ types: this.#filter.types, details: `${this.#isDetailed}` });
    if (backfill !== null) query.set("backfill", `${backfill}`);
    const accept = this.#format === "ndjson" ? "application/x-ndjson" : "text/event-stream";
    const headers = { accept, ...(lastEventId !== undefined && { "last-event-id": lastEventId }) };
    return { path: `${this.#subscription.path}&${query}`, headers };
  }

  /** One connection, from its request to its end. */
  async #watch(): Promise<void> {
    const { journal, scheduler } = this.#parts;
    const { name } = this.#subscription;
    this.host = this.#parts.host();
    const service = this.host?.life;
    if (!service) {
      this.closeReason = "no service";
      return;
    }
    const sink = new SimulatedSink(
      FORMS[this.#format][this.#isDetailed ? "detailed" : "plain"].bare,
      (bytes) => this.#take(bytes),
    );
    const gone = new AbortController();
    const lastEventId = this.#lastEventId();
    this.#subscription.begin(lastEventId);
    this.#hasBegun = false;
    this.#isRefusedForGood = false;
    this.sink = sink;
    const { name: host } = this.host ?? {};
    journal.note(`viewer ${this.name} of ${name} comes${host && ` to ${host}`} with ${lastEventId}`);
    const request = this.#request(lastEventId);
    const open = () => {
      gone.signal.throwIfAborted();
      return sink;
    };
    const { ask = requestStream } = this.#parts;
    const entered = ask(service, request, this.name, open, gone.signal).then(
      () => "",
      (error: unknown) => this.#refusal(error, Number(lastEventId)),
    );
    const refused = await Promise.race([entered, sink.closed, this.#impatience(sink)]);
    if (refused) {
      this.closeReason = refused;
      journal.note(`viewer ${this.name} of ${name} is refused: ${refused}`);
      return;
    }
    if (sink.closedBy === "left") gone.abort(new Error("the viewer left"));
    if (!sink.closedBy) await this.#stay(sink);
    await sink.closed;
    this.closeReason = `connection closed by ${sink.closedBy}`;
    journal.count(`viewers ${sink.closedBy}`);
    journal.note(`viewer ${this.name} of ${name} at ${this.#subscription.lastEventId}: ${sink.closedBy}`);
    await scheduler.sleep(1);
    const isStopped = this.host?.life !== service;
    if (sink.closedBy === "end" && !isStopped && !this.#subscription.mayEnd)
      this.#violate("delivery", "", `of ${name} is sent nothing more, though chats go on`);
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
      if (this.#subscription.isBroken) return sink.leave();
      if (this.isCalm || sink.closedBy) continue;
      if (scheduler.monotonic() > leavesAt) return sink.leave();
      sink.stall();
      journal.count("viewers stalled");
      await Promise.race([sink.closed, scheduler.sleep(random.next() ** 2 * 80_000)]);
      this.#isReadingOn = true;
      sink.readOn();
      this.#isReadingOn = false;
    }
  }

  /** Usually its own id; sometimes none, or an invented one. */
  #lastEventId(): string | undefined {
    const { random, journal } = this.#parts;
    if (this.isCalm || random.chance(0.7)) return this.#subscription.lastEventId;
    if (random.chance(0.5)) return undefined;
    journal.count("viewers forged cursor");
    return this.#subscription.forgedId(random);
  }

  #refusal(error: unknown, lastEventId: number): string {
    const isKnown = [RelayError, ChatAbsent, UpstreamError].some((known) => error instanceof known);
    if (!isKnown && !(error instanceof Error && error.message === "the viewer left")) {
      this.#violate("health", "", `is refused with ${error instanceof Error ? error.stack : error}`);
    }
    const { message } = error as Error;
    const code = codeOf(error);
    if (code === "CAPACITY" && !this.#mayRefuse(this.rooms, message))
      this.#violate("neighbours", "", `is refused, with trouble of other chats alone: ${message}`);
    // Stored messages of a chat that is over are served, and one that may come back is waited for.
    const isSure = error instanceof ChatAbsent && error.absence.is !== "unknown";
    this.#isRefusedForGood = isSure;
    const stored = this.rooms.find((room) => room.isStored(lastEventId));
    if (isSure && stored)
      this.#violate("stream", stored.videoId, `is refused as if nothing were stored: ${message}`);
    this.#parts.journal.count(`refused ${code}`);
    return code;
  }

  #mayRefuse(rooms: readonly RoomJudge[], message: unknown): boolean {
    const videoIds = rooms.map(({ videoId }) => videoId);
    return this.#parts.mayRefuse(videoIds, this.host, message);
  }

  #take(bytes: Buffer): void {
    const frames = this.#parts.frames.read(bytes);
    if (frames.length === 0) return;
    this.#taken.push(...frames.map((frame) => ({ frame, isHeld: this.#isReadingOn })));
    this.#hasBegun = true;
    this.#parts.onFrames(this);
  }

  /** Judges the frames taken since the last call; by now the rooms' judges know all durable messages. */
  judge(): void {
    for (const { frame, isHeld } of this.#taken.splice(0)) this.#subscription.take(frame, isHeld);
  }

  get retriedInMs(): number {
    return this.#subscription.retriedInMs;
  }

  /** What it lacks, in calm; undefined if it has everything. */
  lag(): { room: RoomJudge; what: string } | undefined {
    const open = this.rooms.find(({ overSince }) => overSince === Number.POSITIVE_INFINITY);
    if (open && this.#isAway) return { room: open, what: `is not connected: ${this.closeReason}` };
    const over = this.watching.find(({ overSince }) => overSince < Number.POSITIVE_INFINITY);
    if (over) return { room: over, what: "is not sent the end of a chat that is over" };
    return this.#subscription.lag();
  }

  #violate(promise: Promised, videoId: string, what: string): void {
    this.#parts.journal.violate(promise, videoId, `viewer ${this.name} ${what}`);
  }
}

/** The code with which somebody is refused; "left" if that is the client itself. */
export function codeOf(error: unknown): string {
  if (error instanceof ChatAbsent) return "NO_LIVE_CHAT";
  if (error instanceof RelayError) return error.code;
  return error instanceof UpstreamError ? error.fault : "left";
}
