/**
 * Tracks the times in which a chat was not read, and the gaps that may result: before a late answer, and
 * before the fresh pages that replace a lost token, until the answer that follows them.
 */
import type { CallTimes, Clock } from "../base/clock.ts";
import type { Marker } from "../telemetry/marks.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Page, PollAnswer } from "../upstream/live-chat.ts";
import type { Item } from "../upstream/readers/reader.ts";
import {
  type FreshPage,
  following,
  lastOf,
  type Read,
  type SpanBefore,
  toBatches,
  withPage,
} from "./fresh-pages.ts";
import type { Gap, ReadBatch } from "./gap.ts";
import { LateAnswers, type UnreadSpan, unreadBetween } from "./late-answers.ts";
import { RecentRate } from "./recent-rate.ts";

/** An answer, prepared for the append. */
interface ObservedAnswer {
  /** The unread time before it, if messages may be missing and no page covers it. */
  late: UnreadSpan | undefined;
  /** The batches of its items, or of those of a page that completes it if it is late. */
  batches(read: Pick<ReadBatch, "items" | "above">): readonly ReadBatch[];
}

interface UnreadParts {
  windowMs: number;
  isReplay: boolean;
  clock: Clock;
  telemetry: Telemetry;
}

export class ReadingTimeline {
  readonly #windowMs: number;
  readonly #isReplay: boolean;
  readonly #lateAnswers: LateAnswers;
  readonly #rate: RecentRate;
  readonly #mark: Marker;
  readonly #clock: Clock;
  /**
   * The fresh pages, until the answer that follows them comes. The answer and the last page form one list.
   */
  #pages: readonly FreshPage[] = [];
  /** The reason for a gap, if the next answer is late. */
  #reason: Gap["reason"] = "down";

  /** `last`: the times of the answer from which reading continues; `isFresh`: whether it was just read. */
  constructor(last: CallTimes, isFresh: boolean, { windowMs, isReplay, clock, telemetry }: UnreadParts) {
    this.#windowMs = windowMs;
    this.#mark = telemetry.mark;
    this.#isReplay = isReplay;
    this.#clock = clock;
    this.#lateAnswers = new LateAnswers(windowMs, clock, last);
    this.#rate = new RecentRate(isFresh, clock.monotonic());
  }

  /** Whether there are pages that no answer has followed yet. */
  get hasPages(): boolean {
    return this.#pages.length > 0;
  }

  /** When the last of these pages that shows a message was asked for; undefined if none does. */
  get lastPageStartedAt(): number | undefined {
    return lastOf(this.#pages)?.startedAt;
  }

  get onPages(): readonly Item[] {
    return this.#pages.flatMap(({ items }) => items);
  }

  /** A fresh page was loaded. `wasMute`: its old token brought nothing for long, so the rate is unknown. */
  keepPage(page: Page, wasMute = false): void {
    const { gap } = this.#before(page, wasMute);
    this.#pages = withPage(this.#pages, { ...page, gap }, this.#mark);
  }

  /** An answer came. `intervalMs`: the interval of the polls if calls are fast. */
  observe(answer: PollAnswer, intervalMs: number): ObservedAnswer {
    const gapBetween = (sinceMs: number, untilMs: number) => this.#gapBetween(sinceMs, untilMs);
    const { first, isParted, batches } = following(
      answer,
      this.#pages,
      this.#windowMs,
      gapBetween,
      this.#mark,
    );
    const behindPages = this.hasPages ? this.#before(first) : undefined;
    const late = this.#lateAnswers.lateBy(first, intervalMs);
    this.#lateAnswers.answered(answer);
    const gapBefore = late && this.#gapBetween(late.sinceMs, first.wallAt);
    const before = behindPages ?? { gap: gapBefore, isShort: !late };
    return {
      late: behindPages || isParted ? undefined : late,
      batches: (read) => batches(before, read),
    };
  }

  /** The batches of the pages, if no answer follows them. */
  pagesAlone(): readonly ReadBatch[] {
    return toBatches(this.#pages);
  }

  /** The pages, and the answer after them, are stored. */
  stored(): void {
    this.#pages = [];
  }

  /** Something holds up the reading; a gap that follows has this reason. The last call counts. */
  heldUp(reason: Gap["reason"]): void {
    this.#reason = reason;
  }

  /** The token was refused. That is the reason for a gap only if the chat was read in time until now. */
  tokenLost(intervalMs: number): void {
    if (!this.#lateAnswers.isLate(intervalMs)) this.heldUp("unreachable");
  }

  /**
   * A page said that the chat is off: nothing is said then. Returns the gap that may be before; none if the
   * last look said the same (`wasOff`).
   */
  silent(look: CallTimes, wasOff: boolean): Gap | undefined {
    const { gap } = this.#before({ ...look, items: [] });
    this.#lateAnswers.answered(look);
    return wasOff ? undefined : gap;
  }

  /** The gap before the end of a chat that is found over now; undefined if it was read in time until now. */
  atEnd(intervalMs: number): Gap | undefined {
    const isLate = this.#pages.length === 0 && this.#lateAnswers.isLate(intervalMs);
    return isLate ? this.#gapBetween(this.#lateAnswers.last.wallAt, this.#clock.now()) : undefined;
  }

  /** An answer advanced the reading: unless something holds it up again, only this service can. */
  progressed(): void {
    this.heldUp("down");
  }

  /** An answer brought `count` new messages. */
  added(count: number, now: number): void {
    this.#rate.observe(count, now);
  }

  /** Whether a page may be loaded because an answer is late; uses up a permit. */
  mayAskForPage(): boolean {
    return !this.#isReplay && this.#lateAnswers.mayAskForPage();
  }

  /**
   * The time from the last good answer, or last fresh page with messages, to a later answer or page. Messages
   * may be missing in it if it is longer than the window, or if at least one was expected by the chat's rate.
   * Later pages say nothing about that rate.
   */
  #before(read: Read, wasMute = false): SpanBefore {
    const last = lastOf(this.#pages) ?? this.#lateAnswers.last;
    const unreadMs = wasMute ? Number.POSITIVE_INFINITY : unreadBetween(last, read);
    const isShort = unreadMs <= this.#windowMs;
    const mayMiss = !isShort || this.#rate.expectedIn(unreadMs, read.answeredAt, read.items) >= 1;
    return { gap: mayMiss ? this.#gapBetween(last.wallAt, read.wallAt) : undefined, isShort };
  }

  /** Replays have no gaps: their reading continues at their position. */
  #gapBetween(sinceMs: number, untilMs: number): Gap | undefined {
    return this.#isReplay ? undefined : { sinceMs, untilMs, reason: this.#reason };
  }
}
