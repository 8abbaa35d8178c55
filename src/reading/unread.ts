/**
 * The times in which nobody read a chat, and what may be missing for them: before an answer that comes late, and before
 * the fresh pages that stand for a lost token, until the answer that follows them comes.
 */
import type { CallTimes, Clock } from "../clock.ts";
import type { Marker } from "../telemetry/marks.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Batch, Page } from "../upstream/live-chat.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { Lateness, type UnreadSpan, unreadBetween } from "./lateness.ts";
import type { Gap, ReadBatch } from "./log/gap.ts";
import { type FreshPage, lastOf, toBatches, withAnswer, withPage } from "./log/pages.ts";
import { RecentRate } from "./recent-rate.ts";

/** What an answer comes with. */
interface Read {
  /** The time before it, where messages may have been missed in it and no page tells of them. */
  late: UnreadSpan | undefined;
  /** Its items, or what they were completed to, with what may be missing before them. */
  batches(items: readonly Item[]): readonly ReadBatch[];
}

interface UnreadParts {
  windowMs: number;
  isReplay: boolean;
  clock: Clock;
  telemetry: Telemetry;
}

export class Unread {
  /** Why nobody reads just now, if the next answer comes late. */
  reason: Gap["reason"] = "down";
  readonly #windowMs: number;
  readonly #isReplay: boolean;
  readonly #lateness: Lateness;
  readonly #rate: RecentRate;
  readonly #mark: Marker;
  /** What fresh pages showed, until the answer that follows them comes: it and the last page are one list. */
  #pages: readonly FreshPage[] = [];

  /** `last`: the times of the answer that the reading goes on from; `isFresh`: whether it was read just now. */
  constructor(last: CallTimes, isFresh: boolean, { windowMs, isReplay, clock, telemetry }: UnreadParts) {
    this.#windowMs = windowMs;
    this.#mark = telemetry.mark;
    this.#isReplay = isReplay;
    this.#lateness = new Lateness(windowMs, clock, last);
    this.#rate = new RecentRate(isFresh, clock.monotonic());
  }

  /** The last of the pages that no answer has followed yet, and all that they show. */
  get lastPage(): FreshPage | undefined {
    return this.#pages.at(-1);
  }

  get onPages(): readonly Item[] {
    return this.#pages.flatMap(({ items }) => items);
  }

  /** A fresh page was loaded. `wasMute`: whether its old token brought nothing for long, so that nothing tells of the rate. */
  keepPage(page: Page, wasMute = false): void {
    const { gap, unreadMs } = this.#before(page);
    const fresh = { ...page, gap, unreadMs: wasMute ? Number.POSITIVE_INFINITY : unreadMs };
    this.#pages = withPage(this.#pages, fresh, this.#mark);
  }

  /** An answer came. `intervalMs`: how long after the last one it was to come. */
  observe(answer: Batch, intervalMs: number): Read {
    const pages = this.#pages;
    const before = this.#before(answer);
    const late = this.#lateness.observe(answer, intervalMs);
    if (pages.length > 0) {
      const batches = (items: readonly Item[]) => withAnswer(pages, items, before, this.#mayMiss, this.#mark);
      return { late: undefined, batches };
    }
    const after = late && this.#gapSince(late.sinceMs);
    return { late, batches: (items) => [{ items, after }] };
  }

  /** What the pages showed, where no answer follows them. */
  pagesAlone(): readonly ReadBatch[] {
    return toBatches(this.#pages, this.#mayMiss);
  }

  /** The pages, and the answer behind them, are stored. */
  stored(): void {
    this.#pages = [];
  }

  /** An answer brought so many new messages. */
  added(count: number, now: number): void {
    this.#rate.observe(count, now);
  }

  /** Whether a page may be asked for because an answer is late; a permit is used up. */
  mayAskForPage(): boolean {
    return !this.#isReplay && this.#lateness.mayAskForPage();
  }

  /** Whether messages may be missing before a page that stands for a lost token: less than one is none. */
  #mayMiss = ({ items, unreadMs, answeredAt }: FreshPage): boolean =>
    unreadMs > this.#windowMs || this.#rate.expectedIn(unreadMs, answeredAt, items) >= 1;

  /** The time between the last good answer, or fresh page that shows messages, and a later answer or page. */
  #before(times: CallTimes) {
    const last = lastOf(this.#pages) ?? this.#lateness.last;
    const unreadMs = unreadBetween(last, times);
    return { gap: this.#gapSince(last.wallAt), isShort: unreadMs <= this.#windowMs, unreadMs };
  }

  /** A replay has no gaps: it is read on from its place. */
  #gapSince(sinceMs: number): Gap | undefined {
    return this.#isReplay ? undefined : { sinceMs, reason: this.reason };
  }
}
