/**
 * The one loop that polls a room's chat: poll, append, wait. While the chat is off or hidden, it looks for it
 * at intervals instead. It never publishes: viewers get appended messages through the store. It ends when the
 * chat is over, when failures accumulate, or when it is stopped.
 */

import { answeredNow, type CallStart, type CallTimes, type Clock, pause, startedNow } from "../base/clock.ts";
import { withoutStop } from "../base/error-message.ts";
import { backoffMs, jitteredMs } from "../base/retry.ts";
import { type ChatView, isReplayChat } from "../protocol/chat.ts";
import { type Absence, mayReturn } from "../protocol/chat-standing.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Hold } from "../store/ownership.ts";
import { isFenced, isUnavailable } from "../store/store-error.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { MoveReason } from "../telemetry/upstream-events.ts";
import type { CallOptions } from "../upstream/egress/flights.ts";
import type { EgressPool } from "../upstream/egress/pool.ts";
import type { RoomEgress } from "../upstream/egress/room-egress.ts";
import type { PollAnswer } from "../upstream/live-chat.ts";
import type { Position } from "../upstream/position.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { AboutVideo } from "./about-video.ts";
import type { Appender } from "./batch/appender.ts";
import type { Progress } from "./batch/checkpoint.ts";
import type { Gap, ReadBatch } from "./gap.ts";
import { type HiddenSettings, notHiddenAfter, overIfLongHidden } from "./hidden-chat.ts";
import { type LookSettings, LookWaits } from "./look-waits.ts";
import { OptionalPages } from "./optional-pages.ts";
import { PollSchedule, type ScheduleSettings } from "./poll-schedule.ts";
import type { Shown } from "./recent-rate.ts";
import { type Awaited, ReadingTimeline } from "./timeline.ts";
import { TokenHealth } from "./token-health.ts";

export interface PollerSettings extends ScheduleSettings, LookSettings, HiddenSettings {
  /** The number of consecutive failures that stops the room. */
  maxFailures: number;
  /** A room does not stop before its last good answer is this old, in milliseconds. */
  failingMs: number;
  /** How long the token of a lively chat may bring nothing before it is suspected, in milliseconds. */
  suspectMs: number;
}

/** The answer from which polling continues. */
export interface PollerStart extends CallTimes, Pick<PollAnswer, "inTopBecause"> {
  position: Position;
  /** From the start of its call to the start of the first poll, in milliseconds; 0 if not known. */
  intervalMs: number;
  /** What the chat's opening has shown, if it has just been opened. */
  opening?: Shown;
  awaited?: Awaited | undefined;
  /** When the chat was last seen not to be hidden, as `notHiddenAfter` says; undefined if not known. */
  notHiddenAt?: number | undefined;
}

interface PollerParts {
  egress: RoomEgress;
  clock: Clock;
  telemetry: Telemetry;
  appender: Appender;
  about: AboutVideo;
  hold: Hold;
  egresses: Pick<EgressPool, "witness">;
  /** Milliseconds by which the room's late calls rank as more overdue. */
  priorityMs: (isQuiet: boolean) => number;
  /** Whether somebody besides a recording waits for the chat. */
  isWatched: () => Promise<boolean>;
  settings: PollerSettings;
}

/** Why a move to another egress costs a live chat its token. */
const MOVES: Readonly<Record<MoveReason, string>> = {
  throttled: "another egress is used: its own is throttled",
  unreachable: "another egress is used: its own cannot be reached",
  down: "another egress is used: its own is not in RELAY_EGRESS",
};

/** The delay before the next step, or "over" for none. */
type Next = { delayMs: number } | "over";

export class Poller {
  readonly #videoId: string;
  readonly #parts: PollerParts;
  readonly #tokenHealth: TokenHealth;
  readonly #timeline: ReadingTimeline;
  readonly #schedule: PollSchedule;
  readonly #optional: OptionalPages;
  #position: Position;
  /** The batches on their way into the store, and the position behind them; a stop tries once more. */
  #inHand: { batches: readonly ReadBatch[]; position: Position } | undefined;
  /** The view of the chat that is read. */
  view: ChatView;
  /** Whether that is Top chat, although all messages are wanted. */
  isInTop = false;
  /** When the call of the last answer that is stored began, in monotonic milliseconds. */
  readAt = Number.NEGATIVE_INFINITY;
  /** When the call began by which the chat was last read: a poll, a page, or before a restart. */
  #startedAt: number;
  /** Why the token is no longer valid, if a page must give another. */
  #tokenLostBecause: string | undefined;
  /** Set while the chat is off or hidden: then pages are asked for it, at intervals. */
  #awaited: (Awaited & { waits: LookWaits }) | undefined;
  /** When the chat was last seen not to be hidden, as `notHiddenAfter` says; undefined if not known. */
  #notHiddenAt: number | undefined;
  /** Wakes a poller that waits for its chat. */
  #wake = () => {};
  /** Whether an answer came since a token was last refused. Otherwise even fresh tokens are refused. */
  #hasProgressed = true;
  #failures = 0;
  /** When an answer last advanced the reading; while the chat is awaited, when the looks began to fail. */
  #progressedAt: number;

  constructor(videoId: string, start: PollerStart, parts: PollerParts) {
    const { clock, settings } = parts;
    this.#videoId = videoId;
    this.#parts = parts;
    this.#tokenHealth = new TokenHealth(settings.suspectMs, clock.monotonic());
    this.#position = start.position;
    this.view = start.position.view;
    this.#timeline = new ReadingTimeline(start, {
      ...parts,
      ...settings,
      isReplay: this.#isReplay,
    });
    this.#optional = new OptionalPages(videoId, parts);
    this.#schedule = new PollSchedule(videoId, this.#isReplay, start, parts);
    this.#startedAt = start.startedAt;
    this.#notHiddenAt = start.notHiddenAt;
    this.#progressedAt = start.answeredAt;
    this.#viewRead(start);
    if (start.awaited) this.#await(start.awaited);
  }

  /** Whether the room waits for its chat. */
  get isAwaited(): boolean {
    return this.#awaited !== undefined;
  }

  /** Somebody new waits for the room: a chat that is looked for seldom is looked for as usual again. */
  hurry(): void {
    this.#wake();
  }

  /** Number of full answers since reading began. */
  get fullAnswers(): number {
    return this.#schedule.fullAnswers;
  }

  /**
   * Polls until the room's end is stored. `windDown` lets the current step finish and then stops; `stop`
   * stops at once. Rejects with `StoreError` "fenced" if the room has another owner; `windDown` may say so.
   */
  async run(windDown: AbortSignal, stop: AbortSignal): Promise<void> {
    const { egress, clock, telemetry } = this.#parts;
    try {
      let next: Next = await this.#first();
      while (next !== "over") {
        // [spec] Upstream returns no next continuation token | Chat over
        if (this.#position.continuation === null && this.#tokenLostBecause === undefined) {
          // The last answer says that the chat is over, so no further gap is suspected before the end.
          await this.#end(undefined, stop);
          return;
        }
        await this.#rest(next.delayMs, windDown);
        const moved = await egress.ready(this.#tokenLostBecause !== undefined, windDown);
        if (moved) this.#onMoved(moved);
        const dueAt = clock.monotonic();
        next = await this.#step(this.#callOptions(dueAt, stop));
        telemetry.rooms.polled(clock.monotonic() - dueAt);
      }
    } catch (error) {
      if (isFenced(windDown.reason)) throw windDown.reason;
      if (!windDown.aborted && !stop.aborted) throw error;
      await this.#appendInHand(stop).catch((failure) => {
        if (!stop.aborted) throw failure;
      });
    } finally {
      egress.leave();
    }
  }

  /** A chat that is awaited is looked for at once, unless that has just been done. */
  async #first(): Promise<Next> {
    if (!this.#awaited) return this.#atInterval();
    const { isConfirmed, waits } = this.#awaited;
    return { delayMs: isConfirmed ? waits.next(await this.#parts.isWatched()) : 0 };
  }

  /**
   * Waits for the next step. While the chat is looked for seldom, a newcomer ends the wait, but not before
   * the interval between two looks (`lookMs`) is over: one here at once (`hurry`), one at another instance at
   * the next question whether somebody watches.
   */
  async #rest(delayMs: number, windDown: AbortSignal): Promise<void> {
    const { clock, isWatched, settings } = this.#parts;
    if (!this.#awaited) return clock.sleep(delayMs, windDown);
    const hurried = new AbortController();
    this.#wake = () => hurried.abort();
    const soonMs = Math.min(delayMs, settings.lookMs);
    await clock.sleep(soonMs, windDown);
    const ended = AbortSignal.any([windDown, hurried.signal]);
    for (let leftMs = delayMs - soonMs; leftMs > 0 && !ended.aborted; leftMs -= settings.lookMs) {
      if (await isWatched()) return;
      await pause(clock, Math.min(leftMs, settings.lookMs), ended);
    }
    windDown.throwIfAborted();
  }

  #callOptions(dueAt: number, signal: AbortSignal): CallOptions {
    const { egress, hold, priorityMs } = this.#parts;
    return {
      ...egress.queueing,
      dueAt: dueAt - egress.hurriedMs,
      priorityMs: priorityMs(this.#tokenHealth.isQuiet(dueAt)),
      beforeStart: () => hold.assertHeld(),
      signal,
    };
  }

  get #isReplay(): boolean {
    return isReplayChat(this.#position.chatType);
  }

  async #step(options: CallOptions): Promise<Next> {
    const needsPage = this.#tokenLostBecause !== undefined;
    if (this.#parts.egress.gate.cooldownLeftMs(needsPage) > 0) this.#timeline.on("throttled");
    try {
      if (this.#tokenLostBecause !== undefined) return await this.#reopen(options, this.#tokenLostBecause);
      await this.#refresh(options);
      return await this.#poll(options);
    } catch (error) {
      if (isUnavailable(error)) {
        this.#parts.telemetry.mark("poll: lease not proved");
        this.#parts.egress.heldBack();
        return { delayMs: this.#parts.settings.pollMinMs };
      }
      if (!(error instanceof UpstreamError || error instanceof RelayError)) throw error;
      return this.#failed(error, options.signal);
    }
  }

  async #poll(options: CallOptions): Promise<Next> {
    const { clock, egress } = this.#parts;
    const askedAt = clock.monotonic();
    const answer = await egress.liveChat.nextAnswer(this.#videoId, this.#position, options);
    if (answer.kind !== "batch") return this.#onNoChat(options.signal);
    if (egress.gate.wasHeldBetween(askedAt, answer.startedAt)) this.#timeline.on("throttled");
    return this.#storeAnswer(answer, options);
  }

  /** Stores an answer, with the pages that it follows. */
  async #storeAnswer(batch: PollAnswer, options: CallOptions): Promise<Next> {
    this.#parts.egress.succeeded();
    this.#startedAt = batch.startedAt;
    this.#notHiddenAt = this.#parts.egresses.witness.now;
    const now = batch.answeredAt;
    const pageItems = this.#timeline.onPages;
    const { intervalMs } = this.#schedule;
    const unreadMs = this.#timeline.unreadForPage(batch, intervalMs);
    const answer = unreadMs ? await this.#optional.completed(batch, unreadMs, options) : batch;
    const batches = this.#timeline.observe(answer, intervalMs);
    const added = await this.#append(batches, answer.position, options.signal);
    this.readAt = batch.startedAt;
    this.#timeline.keepBeyond(answer);
    this.#viewRead(batch);
    // In a replay only new messages are progress: else one that restarts from its beginning would never end.
    if (!this.#isReplay || added > 0) this.#advanced(now);
    if (!this.#isReplay) {
      this.#tokenHealth.observe(added, now);
      this.#timeline.added(added, now);
    }
    this.#schedule.observe(batch, pageItems);
    this.#parts.about.read(this.#position, options.signal);
    return this.#atInterval();
  }

  #viewRead({ position: { view }, inTopBecause }: Pick<PollAnswer, "position" | "inTopBecause">): void {
    const wasInTop = this.isInTop;
    this.view = view;
    this.isInTop = inTopBecause !== undefined;
    if (inTopBecause !== undefined && !wasInTop)
      this.#parts.telemetry.rooms.inTop(this.#videoId, inTopBecause);
  }

  /** One interval after the last good call's start; at most one interval from now, if the clock went back. */
  #atInterval(): Next {
    const leftMs = this.#startedAt + this.#schedule.startToStartMs - this.#parts.clock.monotonic();
    return { delayMs: Math.min(this.#schedule.startToStartMs, Math.max(0, leftMs)) };
  }

  /**
   * If the chat has been quiet for long, a fresh page that shows something new replaces the token; without
   * one, the old token continues.
   */
  async #refresh(options: CallOptions): Promise<void> {
    const { clock } = this.#parts;
    if (!this.#tokenHealth.isSuspect(clock.monotonic())) return;
    this.#tokenHealth.pageAsked(clock.monotonic());
    const unreadMs = clock.monotonic() - this.#startedAt;
    const page = await this.#optional.withNews(this.#position, unreadMs, options);
    if (!page) return;
    this.#timeline.keepPage(page, true);
    this.#position = page.position;
  }

  /** Drops the old egress's visitor data. A live chat also needs a token from a page; a replay does not. */
  #onMoved(reason: MoveReason): void {
    const { visitorData: _, ...credentials } = this.#position.credentials;
    this.#position = { ...this.#position, credentials };
    this.#parts.telemetry.mark(this.#isReplay ? "move: replay goes on" : "move: live chat needs a page");
    if (!this.#isReplay) this.#tokenLostBecause = MOVES[reason];
    this.#timeline.on(reason);
  }

  /** Gets another token from a page, whose items are stored with the next answer. */
  async #reopen(options: CallOptions, why: string): Promise<Next> {
    const { egress, telemetry } = this.#parts;
    const asked = startedNow(this.#parts.clock);
    const call = this.#awaited ? { ...options, lane: "look" as const } : options;
    const reopened = await egress.liveChat.reopen(this.#videoId, this.#position, call);
    egress.answered();
    if (reopened.is !== "there") return this.#absent(reopened, asked, options.signal);
    const { page } = reopened;
    await this.#parts.about.told(page.video);
    this.#notHiddenAt = this.#parts.egresses.witness.now;
    this.#tokenLostBecause = undefined;
    this.#awaited = undefined;
    telemetry.rooms.reopened(this.#videoId, why);
    this.#timeline.keepPage(page);
    this.#position = page.position;
    egress.asked();
    return this.#poll(options);
  }

  /**
   * A page says that there is no chat. One that may return is waited for. The store remembers it with the
   * time of the last good answer. A page that says "off" is a good answer, because nothing can be said then.
   */
  async #absent(said: Absence, asked: CallStart, signal: AbortSignal): Promise<Next> {
    const { about, clock, telemetry } = this.#parts;
    await about.told(said.video);
    this.#notHiddenAt = notHiddenAfter(said, this.#notHiddenAt, this.#parts);
    const absence = overIfLongHidden(said, this.#notHiddenAt, this.#parts);
    if (!mayReturn(absence)) return this.#end(this.#timeline.atEnd(this.#schedule.intervalMs), signal);
    await this.#appendPendingPages(signal);
    const before = this.#awaited;
    if (!before) telemetry.rooms.awaits(this.#videoId, absence.is, absence.why);
    const waits = this.#await({ absence, isConfirmed: true });
    let gap: Gap | undefined;
    if (absence.is === "off") {
      const times = answeredNow(asked, clock);
      gap = this.#timeline.foundOff(times, before?.isConfirmed === true && before.absence.is === "off");
      this.#startedAt = times.startedAt;
      this.#advanced(times.answeredAt);
    } else {
      this.#failures = 0; // messages may be missing, but the reading has not failed
      this.#timeline.on("hidden");
    }
    await this.#append([{ items: [], suspectedGap: gap }], this.#position, signal);
    return { delayMs: waits.next(await this.#parts.isWatched()) };
  }

  #await(awaited: Awaited): LookWaits {
    const { clock, settings } = this.#parts;
    const waits = this.#awaited?.waits ?? new LookWaits(settings, clock);
    this.#awaited = { ...awaited, waits };
    this.#tokenLostBecause = awaited.absence.why;
    return waits;
  }

  /**
   * At a stop: stores the batches in hand, or else the pages that no answer has followed. Pages in Top chat
   * are not stored alone, nor is what the page of the last answer shows beyond it: the next owner reads them
   * again, with the messages between them.
   */
  async #appendInHand(signal: AbortSignal): Promise<void> {
    const inHand = this.#inHand;
    if (inHand) await this.#append(inHand.batches, inHand.position, signal);
    else if (this.#timeline.hasWholePages) await this.#appendPendingPages(signal);
  }

  /** Stores the items of pages that no answer has followed. */
  async #appendPendingPages(signal: AbortSignal): Promise<void> {
    if (!this.#timeline.hasUnstored) return;
    this.#parts.telemetry.mark("pages: stored alone");
    // The other calls have brought nothing.
    this.#startedAt = this.#timeline.lastPageStartedAt ?? this.#startedAt;
    await this.#append(this.#timeline.pagesAlone(), this.#position, signal);
  }

  /** An answer without chat ends a replay. For a live chat a page decides. */
  async #onNoChat(signal: AbortSignal): Promise<Next> {
    if (this.#isReplay) return this.#end(undefined, signal);
    this.#parts.telemetry.mark("poll: answer without chat");
    throw new UpstreamError("expired", "an answer without chat");
  }

  /** A call failed, or no source gave credentials. */
  #failed(why: RelayError | UpstreamError, signal: AbortSignal): Next | Promise<Next> {
    const fault = why instanceof RelayError ? "unusable" : why.fault;
    this.#timeline.failed(fault, this.#schedule.intervalMs);
    switch (fault) {
      case "throttled":
        return { delayMs: 0 }; // the gate holds the next call until the end of its cooldown
      case "expired":
      case "denied":
        return this.#onTokenRefused(why, signal);
      case "unusable":
        if (this.#parts.egress.failed(why)) return { delayMs: 0 }; // the room waits at its egress
        return this.#countFailure(why, signal);
    }
  }

  /** The token is no longer valid. Losing the next one before any success counts as a failure. */
  async #onTokenRefused(why: RelayError | UpstreamError, signal: AbortSignal): Promise<Next> {
    this.#parts.egress.answered();
    this.#tokenLostBecause = why.message;
    if (!this.#hasProgressed) {
      this.#parts.telemetry.mark("poll: token lost twice");
      return this.#countFailure(why, signal);
    }
    this.#hasProgressed = false;
    return { delayMs: 0 };
  }

  /** An answer advanced the reading, or a page said that there is nothing to read. */
  #advanced(now: number): void {
    this.#failures = 0;
    this.#hasProgressed = true;
    this.#progressedAt = now;
  }

  async #countFailure(why: RelayError | UpstreamError, signal: AbortSignal): Promise<Next> {
    const { appender, clock, settings, telemetry } = this.#parts;
    // Between two looks for a chat that is awaited, nothing could fail.
    if (this.#awaited && this.#failures === 0) this.#progressedAt = clock.monotonic();
    this.#failures += 1;
    telemetry.rooms.pollFailed(this.#videoId, this.#failures, why.message);
    const failingForMs = clock.monotonic() - this.#progressedAt;
    if (this.#failures >= settings.maxFailures && failingForMs >= settings.failingMs) {
      telemetry.mark("poll: room given up");
      await this.#appendPendingPages(signal);
      const code = why instanceof RelayError ? why.code : "UPSTREAM_ERROR";
      const words = withoutStop(why.message); // the upstream's text may end with a full stop
      const message = `${words} (the chat could not be read ${this.#failures} times in a row)`;
      await appender.finish({ state: "failed", error: { code, message } }, signal);
      return "over";
    }
    const waits = { firstMs: settings.pollMinMs, maxMs: settings.pollMaxMs };
    return { delayMs: jitteredMs(backoffMs(waits, this.#failures - 1), clock) };
  }

  async #end(gap: Gap | undefined, signal: AbortSignal): Promise<"over"> {
    await this.#appendPendingPages(signal);
    await this.#parts.appender.end(gap, this.#progressAt(this.#position), signal);
    return "over";
  }

  /** Resolves to the number of new messages. */
  async #append(batches: readonly ReadBatch[], position: Position, signal: AbortSignal): Promise<number> {
    this.#inHand = { batches, position };
    const added = await this.#parts.appender.append(batches, this.#progressAt(position), signal);
    this.#inHand = undefined;
    this.#position = position;
    this.#timeline.pagesStored();
    return added;
  }

  #progressAt(position: Position): Progress {
    const { key: egress } = this.#parts.egress;
    const [startedAt, notHiddenAt] = [this.#startedAt, this.#notHiddenAt];
    return { position, startedAt, notHiddenAt, egress, absence: this.#awaited?.absence };
  }
}
