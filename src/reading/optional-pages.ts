/**
 * The calls of a live chat that polling can do without: the page that completes a late answer, and the page
 * for a chat that has been quiet for long. If such a call fails, is throttled or takes too long, reading goes
 * on as if it had not been made, and nothing counts as a failure.
 */
import type { Clock } from "../base/clock.ts";
import { Deadline } from "../base/deadline.ts";
import { retry } from "../base/retry.ts";
import { RelayError } from "../protocol/errors.ts";
import { isUnavailable } from "../store/store-error.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { CallOptions } from "../upstream/egress/flights.ts";
import type { RoomEgress } from "../upstream/egress/room-egress.ts";
import type { LiveChat, Page, PollAnswer } from "../upstream/live-chat.ts";
import { completeInOrder } from "../upstream/order.ts";
import type { Position } from "../upstream/position.ts";
import type { Item } from "../upstream/readers/reader.ts";
import { UpstreamError } from "../upstream/upstream-error.ts";
import type { Appender } from "./batch/appender.ts";
import { type CompleteAnswer, pageWithAnswer } from "./fresh-pages.ts";
import { filledAfterMs } from "./interval-rules.ts";
import type { ScheduleSettings } from "./poll-schedule.ts";

/** A call that takes longer would cost more messages than it brings: the upstream keeps ten seconds. */
const OPTIONAL_MS = 5000;
/** The page of a quiet chat gets at least this time, however long ago the last poll was. */
const LEAST_MS = 1000;
const LEASE_RETRY = { firstMs: 200, maxMs: 1000 };

interface OptionalPagesParts {
  egress: RoomEgress;
  settings: ScheduleSettings;
  clock: Clock;
  telemetry: Telemetry;
  appender: Pick<Appender, "holdsAll">;
}

export class OptionalPages {
  readonly #videoId: string;
  readonly #parts: OptionalPagesParts;

  constructor(videoId: string, parts: OptionalPagesParts) {
    this.#videoId = videoId;
    this.#parts = parts;
  }

  /** A late batch, completed from its page. If several rooms need a page, the liveliest is due first. */
  async completed(batch: PollAnswer, unreadMs: number, options: CallOptions): Promise<CompleteAnswer> {
    const { clock, egress, settings, telemetry } = this.#parts;
    const dueAt = clock.monotonic() + Math.min(0, filledAfterMs(batch) - unreadMs);
    const page = await this.#attempt({ ...options, dueAt }, (own) =>
      egress.liveChat.backlog(this.#videoId, batch.position, own),
    );
    const shown = page && (await this.#allOf(page, options));
    telemetry.mark(shown ? "late: completed from its page" : "late: page not given");
    if (!shown) return batch; // the answer without the page is better than nothing
    telemetry.rooms.caughtUp(this.#videoId, unreadMs);
    // The answer has all messages of one window, which ends at some moment of the call. `heldSince`
    // is in that window, whichever moment it is. It is by the upstream's clock, like the times of messages.
    const tookMs = batch.answeredAt - batch.startedAt;
    const heldSince = new Date(batch.sentAt - (settings.windowMs + tookMs) / 2).toISOString();
    const { items, beyond } = completeInOrder(batch.items, shown, heldSince);
    return { ...batch, items, beyond, above: page.above, position: page.position };
  }

  /**
   * The items of a page, with those of the view that it leaves out; undefined if they do not come: an
   * overlap with Top chat alone would hide a gap. Polls go before such a call.
   */
  async #allOf(
    { items, all }: Awaited<ReturnType<LiveChat["backlog"]>>,
    options: CallOptions,
  ): Promise<readonly Item[] | undefined> {
    if (!all) return items;
    const { clock, egress } = this.#parts;
    const behind = { ...options, lane: "recovery", dueAt: clock.monotonic() } as const;
    const answer = await this.#attempt(behind, (own) => egress.liveChat.poll(all, own));
    return answer?.kind === "batch" ? pageWithAnswer(items, answer.items) : undefined;
  }

  /**
   * A fresh page of a quiet chat; undefined if none came, or if it shows nothing that the room does not hold.
   * `unreadMs`: the time since the last poll. The next one waits for the page at most until the upstream
   * drops messages, or for `LEAST_MS` if that is longer.
   */
  async withNews(position: Position, unreadMs: number, options: CallOptions): Promise<Page | undefined> {
    const { appender, egress, settings, telemetry } = this.#parts;
    const limitMs = Math.max(LEAST_MS, settings.windowMs - unreadMs);
    const reopen = (own: CallOptions) => egress.liveChat.reopen(this.#videoId, position, own);
    const standing = await this.#attempt(options, reopen, limitMs);
    if (standing?.is !== "there") {
      telemetry.mark("quiet: page not given");
      return undefined;
    }
    const { page } = standing;
    if (await appender.holdsAll(page.items, options.signal)) {
      telemetry.mark("quiet: nothing new");
      return undefined;
    }
    telemetry.rooms.reopened(this.#videoId, "no new messages for long after there were some");
    return page;
  }

  /**
   * The result of the call; undefined if the upstream fails, throttles, or takes too long, or if the lease
   * cannot be proved meanwhile. Rejects with the signal's reason, and with any other error of the call.
   */
  async #attempt<T>(
    options: CallOptions,
    call: (options: CallOptions) => Promise<T>,
    limitMs = OPTIONAL_MS,
  ): Promise<T | undefined> {
    using limit = new Deadline(this.#parts.clock, Math.min(OPTIONAL_MS, limitMs));
    const signal = AbortSignal.any([options.signal, limit.signal]);
    try {
      const own = { ...options, maxCooldownMs: 0, signal };
      // A lease that cannot be proved now will soon be proved or lost.
      return await retry(LEASE_RETRY, this.#parts.clock, signal, isUnavailable, () => call(own));
    } catch (error) {
      options.signal.throwIfAborted();
      if (limit.signal.aborted || error instanceof RelayError || error instanceof UpstreamError)
        return undefined;
      throw error;
    }
  }
}
