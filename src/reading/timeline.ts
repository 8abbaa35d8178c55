/**
 * Tracks the times in which a chat was not read, and the gaps that may result (`gap.ts` lists them): within
 * an opening, around fresh pages, before a late answer, before a page that says that the chat is off, and at
 * the chat's end. Holds the fresh pages that replace a token until the answer that follows them.
 */
import type { CallTimes, Clock } from "../base/clock.ts";
import type { AwaitedAbsence } from "../protocol/chat-standing.ts";
import type { Marker } from "../telemetry/marks.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Page, PollAnswer } from "../upstream/live-chat.ts";
import { mergeInOrder } from "../upstream/order.ts";
import type { Item } from "../upstream/readers/reader.ts";
import type { Fault } from "../upstream/upstream-error.ts";
import {
  areOneList,
  type CompleteAnswer,
  cutBehindTopChat,
  type FreshPage,
  lastOf,
  type Read,
  readsOf,
  showsNoChat,
  toBatches,
  withAnswer,
  withPage,
} from "./fresh-pages.ts";
import { areJoined, type Gap, type ReadBatch } from "./gap.ts";
import { openingTimes, RecentRate, type Shown } from "./recent-rate.ts";
import { UnreadTime, unreadBetween } from "./unread-time.ts";

/** A chat that is off or hidden. `isConfirmed`: whether a page has said so, and not only the checkpoint. */
export interface Awaited {
  absence: AwaitedAbsence;
  isConfirmed: boolean;
}

interface TimelineParts {
  windowMs: number;
  isReplay: boolean;
  clock: Clock;
  telemetry: Telemetry;
}

/** The events of a reading, each with the reason of a gap that follows. The last event counts. */
const REASON_AFTER = {
  /** An answer came. Without a further event, this service has held up the reading. */
  answered: "down",
  /** The room's egress is no longer configured. */
  down: "down",
  /** The upstream makes the room's egress wait. */
  throttled: "throttled",
  /** A call failed, or the room's egress cannot be reached. */
  unreachable: "unreachable",
  tokenRefused: "unreachable",
  /** The token brought nothing for long. */
  tokenMute: "unreachable",
  /** A page said that the chat is off. */
  off: "unreachable",
  /** A page said that the chat is hidden. */
  hidden: "hidden",
} as const satisfies Record<string, Gap["reason"]>;

/**
 * The batches of an opening: of the page from which a room's reading begins, and of the answer to the page's
 * token. If the two are not one list, a gap may be between them, also in a new room: then only the upstream
 * can have held up the reading.
 *
 * `gapBefore`: the gap that may be before the page; undefined if the room is new. A stored room always has
 * one, however short it is: the old token is not used, so only a message that the room already has proves
 * that the page joins it.
 */
export function openingBatches(
  page: Page,
  answer: PollAnswer,
  gapBefore: Gap | undefined,
  { windowMs, isReplay, telemetry }: Omit<TimelineParts, "clock">,
): readonly ReadBatch[] {
  const [first, rest] = readsOf(answer, windowMs);
  const gapBetween = ({ wallAt: sinceMs }: CallTimes, { wallAt: untilMs }: CallTimes): Gap | undefined =>
    isReplay ? undefined : { sinceMs, untilMs, reason: "unreachable" };
  const gap = areOneList(page, first, windowMs) ? undefined : gapBetween(page, first);
  const pages = [{ ...page, gap: isReplay ? undefined : gapBefore }];
  const batches = cutBehindTopChat(withAnswer(pages, first, gap, telemetry.mark));
  return rest ? [...batches, { items: rest.items, suspectedGap: gapBetween(first, rest) }] : batches;
}

export class ReadingTimeline {
  readonly #windowMs: number;
  readonly #isReplay: boolean;
  readonly #unreadTime: UnreadTime;
  readonly #rate: RecentRate;
  readonly #mark: Marker;
  readonly #clock: Clock;
  /** The fresh pages, until the answer to the last one's token comes, or they are stored without one. */
  #pages: readonly FreshPage[] = [];
  /** What the page of the last answer has shown beyond it. The next answer brings the messages between. */
  #beyond: FreshPage | undefined;
  /** Wall time of the last answer that brought something new, in milliseconds since 1970. */
  #newsAt: number;
  /** The reason for a gap, if the next answer is late. */
  #reason: Gap["reason"] = REASON_AFTER.answered;

  /**
   * `last`: the times of the answer from which reading continues; `opening`: set if that has just opened the
   * chat; `awaited`: set if the chat was off or hidden.
   */
  constructor(
    last: CallTimes & { opening?: Shown } & { awaited?: Awaited | undefined },
    { windowMs, isReplay, clock, telemetry }: TimelineParts,
  ) {
    this.#windowMs = windowMs;
    this.#mark = telemetry.mark;
    this.#isReplay = isReplay;
    this.#clock = clock;
    this.#unreadTime = new UnreadTime(windowMs, clock, last);
    this.#rate = new RecentRate(clock.monotonic(), last.opening && openingTimes(last.opening, last));
    this.#newsAt = last.wallAt;
    if (last.awaited?.absence.is === "hidden") this.on("hidden");
    else if (last.awaited?.isConfirmed) this.on("off");
  }

  /** Whether there are pages that no answer has followed yet. */
  get hasPages(): boolean {
    return this.#pages.length > 0;
  }

  /** Whether there are such pages, and none is in Top chat of a room that reads all messages. */
  get hasWholePages(): boolean {
    return this.hasPages && !this.onPages.some(({ isInTop }) => isInTop);
  }

  /** Whether there are messages that are not stored yet, if no answer follows. */
  get hasUnstored(): boolean {
    return this.hasPages || this.#beyond !== undefined;
  }

  /** When the last of these pages that shows a message was asked for; undefined if none does. */
  get lastPageStartedAt(): number | undefined {
    return lastOf(this.#pages)?.startedAt;
  }

  get onPages(): readonly Item[] {
    return this.#pages.flatMap(({ items }) => items);
  }

  /**
   * A fresh page was loaded. `replacesMuteToken`: the token before it brought nothing for long, so the rate
   * is unknown, and messages may be missing since the last ones.
   */
  keepPage(page: Page, replacesMuteToken = false): void {
    if (replacesMuteToken) this.on("tokenMute");
    const gap = this.#gapBeforePage(page, replacesMuteToken);
    this.#pages = withPage(this.#pages, { ...page, gap }, this.#mark);
  }

  /**
   * The unread time before an answer that a page may complete, in milliseconds: if messages may be missing in
   * it, no page covers it, and the answer is one read (`readsOf`). Undefined otherwise, and within a minute
   * after such a page. `intervalMs`: the interval of the polls if calls are fast.
   */
  unreadForPage(answer: PollAnswer, intervalMs: number): number | undefined {
    const [first, rest] = readsOf(answer, this.#windowMs);
    if (this.#isReplay || this.hasPages || rest) return undefined;
    const late = this.#unreadTime.lateBy(first, intervalMs);
    return late && this.#unreadTime.permitPage() ? late.ms : undefined;
  }

  /**
   * Returns the batches of this answer, preceded by the pages that are not stored yet. `intervalMs`: as in
   * `unreadForPage`.
   */
  observe(answer: CompleteAnswer, intervalMs: number): readonly ReadBatch[] {
    const [first, rest] = readsOf(answer, this.#windowMs);
    const gap = this.#gapBeforeAnswer(first, intervalMs);
    this.#unreadTime.answered(answer);
    const batches = cutBehindTopChat(this.#batchesWith(first, gap));
    const gapBeforeRest = rest && this.#gapBetween(first.wallAt, rest.wallAt);
    this.on("answered");
    return rest ? [...batches, { items: rest.items, suspectedGap: gapBeforeRest }] : batches;
  }

  /** The batches of the pages and of this answer. Without pages, a gap can only be behind `#beyond`. */
  #batchesWith(answer: Read, gap: Gap | undefined): readonly ReadBatch[] {
    const beyond = this.#beyond;
    if (!beyond || this.hasPages) return withAnswer(this.#allPages, answer, gap, this.#mark);
    if (!gap || areJoined(beyond.items, answer.items))
      return [{ items: mergeInOrder(beyond.items, answer.items), above: answer.above }];
    return [{ items: beyond.items }, ...withAnswer([], answer, gap, this.#mark)];
  }

  /** The pages, and before them what the last answer's page shows beyond it. */
  get #allPages(): readonly FreshPage[] {
    if (!this.#beyond) return this.#pages;
    return this.#pages.reduce<readonly FreshPage[]>(
      (before, page) => withPage(before, page, this.#mark),
      [this.#beyond],
    );
  }

  /** The answer is stored, without what its page shows beyond it. */
  keepBeyond({ beyond = [], ...times }: CompleteAnswer): void {
    this.#beyond =
      beyond.length > 0 ? { ...times, items: beyond, above: undefined, gap: undefined } : undefined;
  }

  /**
   * The batches of the pages, if no answer follows them. They count as whole, also in Top chat: else many
   * chats would end with a gap, because their last token is refused before a page says that they are over.
   */
  pagesAlone(): readonly ReadBatch[] {
    return toBatches(this.#allPages);
  }

  /**
   * The pages are stored, with or without an answer after them. Without one, later answers are measured from
   * the last page.
   */
  pagesStored(): void {
    const { startedAt } = this.#unreadTime.last;
    if (this.#lastRead.startedAt > startedAt) this.#unreadTime.answered(this.#lastRead);
    this.#pages = [];
    this.#beyond = undefined;
  }

  /** Something has happened that decides the reason of a gap that follows. */
  on(event: keyof typeof REASON_AFTER): void {
    this.#reason = REASON_AFTER[event];
  }

  /** A call failed. A refused token is the reason for a gap only if the chat was read in time until now. */
  failed(fault: Fault, intervalMs: number): void {
    if (fault === "throttled") this.on("throttled");
    else if (fault === "unusable") this.on("unreachable");
    else if (!this.#unreadTime.isLate(intervalMs)) this.on("tokenRefused");
  }

  /**
   * A page said that the chat is off. Returns the gap that may be before it: messages of the time before the
   * first such page may be missing. Between it and the next one (`wasOff`), nobody can say anything. The
   * page with which the chat is back is measured from the last of them, as a fresh page.
   */
  foundOff(times: CallTimes, wasOff: boolean): Gap | undefined {
    const gap = this.#gapBeforePage({ ...times, items: [] });
    this.#unreadTime.answered(times);
    this.on("off");
    return wasOff ? undefined : gap;
  }

  /** The gap before the end of a chat that is found over now; undefined if it was read in time until now. */
  atEnd(intervalMs: number): Gap | undefined {
    const last = this.#lastRead;
    const isLate = this.#unreadTime.isLate(intervalMs, last);
    return isLate ? this.#gapBetween(last.wallAt, this.#clock.now()) : undefined;
  }

  /** An answer brought `count` new messages. */
  added(count: number, now: number): void {
    if (count > 0) this.#newsAt = this.#unreadTime.last.wallAt;
    this.#rate.observe(count, now);
  }

  /** The last fresh page with messages; without one, the time of the last good answer. */
  get #lastRead(): Read {
    return lastOf(this.#pages) ?? { ...this.#unreadTime.last, items: [] };
  }

  /**
   * The gap that may be before an answer. If it answers the token of the last answer, messages may be missing
   * only if it is late; if it answers that of a page, only if the two are not one list. An answer behind a
   * page without a chat message is judged as a page, because that page joins it to nothing.
   */
  #gapBeforeAnswer(answer: Read, intervalMs: number): Gap | undefined {
    const page = this.#pages.at(-1);
    if (page && showsNoChat(page)) return this.#gapBeforePage(answer);
    if (page && areOneList(page, answer, this.#windowMs)) return undefined;
    if (page) return this.#gapBetween(page.wallAt, answer.wallAt);
    const late = this.#unreadTime.lateBy(answer, intervalMs);
    return late && this.#gapBetween(late.sinceMs, answer.wallAt);
  }

  /**
   * The gap that may be before a page. No token joins it to the last read, so messages may be missing if it
   * is late and shares none with that, and however short the time was, if at least one was expected: by the
   * chat's rate, or by the rate of the page's own messages. An overlap with a page before drops it
   * (`withPage`).
   */
  #gapBeforePage(page: Read, replacesMuteToken = false): Gap | undefined {
    const last = this.#lastRead;
    const expected = this.#rate.expectedIn(unreadBetween(last, page), page.answeredAt, page.items);
    const isComplete = areOneList(last, page, this.#windowMs) && expected < 1;
    if (isComplete && !replacesMuteToken) return undefined;
    const sinceMs = replacesMuteToken && !this.hasPages ? this.#newsAt : last.wallAt;
    return this.#gapBetween(sinceMs, page.wallAt);
  }

  /** Replays have no gaps: their reading continues at their position. */
  #gapBetween(sinceMs: number, untilMs: number): Gap | undefined {
    return this.#isReplay ? undefined : { sinceMs, untilMs, reason: this.#reason };
  }
}
