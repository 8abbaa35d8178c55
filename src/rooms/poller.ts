/**
 * The one loop that polls a room's chat: poll, append, wait. It never publishes; what it appends reaches viewers
 * through the store. It ends when the chat is over, when failures accumulate, or when it is stopped.
 */
import type { Clock } from "../clock.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import { RelayError } from "../protocol/errors.ts";
import { isUnavailable, type Lease } from "../store/port.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import { UpstreamError } from "../upstream/errors.ts";
import type { CallOptions } from "../upstream/flights.ts";
import type { Batch, LiveChat, Page } from "../upstream/live-chat.ts";
import type { Position } from "../upstream/position.ts";
import type { Item } from "../upstream/readers/reader.ts";
import type { Appender } from "./appender.ts";
import { Lateness } from "./lateness.ts";
import { completeInOrder, mergeInOrder } from "./order.ts";
import { Silence } from "./silence.ts";

/** A live answer fuller than this means that the upstream's window is overflowing: poll sooner. */
const FULL_PAGE_ACTIONS = 75;

export interface PollerSettings {
  // [spec] Poll at the interval the upstream requests, clamped to 500 ms to 15 s.
  pollMinMs: number;
  pollMaxMs: number;
  /** The failure in a row that stops the room. */
  maxFailures: number;
  /** A room does not stop before its last good answer is this long ago, in milliseconds. */
  failingMs: number;
  /** How long a lively chat may stay silent before a fresh page is asked for, in milliseconds. */
  quietMs: number;
  /** How much later than its interval an answer may come before something may be missing in it, in milliseconds. */
  overdueMs: number;
}

export interface PollerStart {
  position: Position;
  /** Before the first poll, as `waitAfter` gives it for the answer that led to the position, in milliseconds. */
  waitMs: number;
  /** How long ago that answer came, in milliseconds. */
  ageMs: number;
}

export interface PollerParts {
  liveChat: LiveChat;
  appender: Appender;
  lease: Lease;
  settings: PollerSettings;
  clock: Clock;
  telemetry: Telemetry;
}

/** How long to wait before the next step, or that there is none. */
type Next = { delayMs: number } | "over";

export class Poller {
  readonly #videoId: string;
  readonly #parts: PollerParts;
  readonly #silence: Silence;
  readonly #lateness: Lateness;
  #position: Position;
  #intervalMs: number;
  /** What a fresh page showed, until the answer that follows it comes: the two are one list. */
  #page: readonly Item[] = [];
  /** Why the token is no longer good, where a page must give another. */
  #lostBecause: string | undefined;
  /** Whether anything good came since a token was last lost: only then is losing the next one no failure. */
  #hasProgressed = true;
  #failures = 0;
  /** When an answer last brought the reading on. */
  #progressedAt: number;

  constructor(videoId: string, { position, waitMs, ageMs }: PollerStart, parts: PollerParts) {
    const answeredAt = parts.clock.monotonic() - ageMs;
    this.#videoId = videoId;
    this.#parts = parts;
    this.#silence = new Silence(parts.settings.quietMs);
    this.#lateness = new Lateness(parts.settings.overdueMs, answeredAt);
    this.#position = position;
    this.#intervalMs = waitMs;
    this.#progressedAt = answeredAt;
  }

  /**
   * Polls until the room's end is in the store. `windDown` lets the step in hand finish and then stops; `stop`
   * cuts that short. Rejects with `StoreError` "fenced" when the room has another owner.
   */
  async run(windDown: AbortSignal, stop: AbortSignal): Promise<void> {
    const { clock, lease } = this.#parts;
    try {
      let next: Next = { delayMs: this.#intervalMs };
      while (next !== "over") {
        // [spec] Upstream returns no next continuation token | Chat over
        if (this.#position.continuation === null) {
          await this.#end(stop);
          return;
        }
        const dueAt: number = clock.monotonic() + next.delayMs;
        await clock.sleep(next.delayMs, windDown);
        const options = {
          lane: "poll",
          dueAt,
          intervalMs: this.#intervalMs,
          maxCooldownMs: Number.POSITIVE_INFINITY,
          beforeStart: () => lease.assertHeld(),
          signal: stop,
        } as const;
        next = await this.#step(options);
        this.#parts.telemetry.polled(clock.monotonic() - dueAt);
      }
    } catch (error) {
      if (!windDown.aborted && !stop.aborted) throw error;
      if (!stop.aborted) await this.#takePageAlone(stop);
    }
  }

  get #isReplay(): boolean {
    return this.#position.chatType === "liveChatReplayRenderer";
  }

  async #step(options: CallOptions): Promise<Next> {
    try {
      if (this.#lostBecause !== undefined) return await this.#reopen(options, this.#lostBecause);
      const refreshed = await this.#refresh(options);
      if (refreshed) return refreshed;
      return await this.#poll(options);
    } catch (error) {
      if (isUnavailable(error)) return { delayMs: this.#parts.settings.pollMinMs }; // the lease cannot be proved
      if (!(error instanceof UpstreamError)) throw error;
      switch (error.fault) {
        case "throttled":
          return { delayMs: 0 }; // the gate holds the next call until its cooldown is over
        case "expired":
        case "denied":
          return await this.#lose(error.message, options.signal);
        case "unusable":
          return await this.#fail("UPSTREAM_ERROR", error.message, options.signal);
      }
    }
  }

  async #poll(options: CallOptions): Promise<Next> {
    const answer = await this.#parts.liveChat.poll(this.#position, options);
    return answer.kind === "batch" ? this.#take(answer, options) : this.#fallSilent(options.signal);
  }

  /** Makes an answer durable, in one list with the page that it follows. */
  async #take(batch: Batch, options: CallOptions): Promise<Next> {
    const { clock, settings } = this.#parts;
    const now = clock.monotonic();
    const lateMs = this.#lateness.observe(now, this.#intervalMs);
    let { items, position }: Pick<Batch, "items" | "position"> = batch;
    if (this.#page.length > 0) items = mergeInOrder(this.#page, batch.items);
    else if (lateMs !== undefined && !this.#isReplay)
      ({ items, position } = await this.#complete(batch, lateMs, options));
    const added = await this.#append(items, position, options.signal);
    // Of a replay only what is new is progress: read again from its beginning, it would never end otherwise.
    if (!this.#isReplay || added > 0) this.#progress(now);
    if (!this.#isReplay) this.#silence.observe(added, now);
    this.#intervalMs = waitAfter(batch, settings);
    return { delayMs: this.#intervalMs };
  }

  /** The batch with what its page adds to it. */
  async #complete(batch: Batch, lateMs: number, options: CallOptions): Promise<Page> {
    const { clock, liveChat, telemetry } = this.#parts;
    const atOnce: CallOptions = { ...options, dueAt: clock.monotonic(), maxCooldownMs: 0 };
    const page = await optional(liveChat.backlog(this.#videoId, batch.position, atOnce));
    if (!page) return batch; // better some of it than none
    telemetry.roomCaughtUp(this.#videoId, lateMs);
    const items = completeInOrder(batch.items, page.items);
    // Of a poll that was left out the next answer brings the same state, which must then be new.
    const isLeftOut = ({ message }: Item) =>
      message.type === "poll" && !items.some((item) => item.message.id === message.id);
    return { items, position: page.items.some(isLeftOut) ? batch.position : page.position };
  }

  /**
   * Goes on from a fresh page where a chat has been silent for long and the page shows something new. It is optional:
   * where anything fails or nothing is new, the token at hand goes on and nothing is counted.
   */
  async #refresh(options: CallOptions): Promise<Next | undefined> {
    const { appender, clock, liveChat, telemetry } = this.#parts;
    if (!this.#silence.isDue(clock.monotonic())) return undefined;
    this.#silence.pageAsked(clock.monotonic());
    const page = await optional(liveChat.reopen(this.#videoId, this.#position, options));
    if (page?.position.chatType !== this.#position.chatType) return undefined;
    if (await appender.holdsAll(page.items, options.signal)) return undefined;
    telemetry.roomReopened(this.#videoId, "no new messages for long after there were some");
    this.#page = page.items;
    const answer = await optional(liveChat.poll(page.position, options));
    return answer?.kind === "batch" ? this.#take(answer, options) : undefined;
  }

  /** A page gives another token in place of the one that was lost; what it shows and the next answer are one list. */
  async #reopen(options: CallOptions, why: string): Promise<Next> {
    const { liveChat, telemetry } = this.#parts;
    let page: Page;
    try {
      page = await liveChat.reopen(this.#videoId, this.#position, options);
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      if (error.code === "NO_LIVE_CHAT") return this.#end(options.signal);
      return this.#fail(error.code, error.message, options.signal);
    }
    if (page.position.chatType !== this.#position.chatType) return this.#end(options.signal);
    this.#lostBecause = undefined;
    telemetry.roomReopened(this.#videoId, why);
    this.#page = mergeInOrder(this.#page, page.items);
    this.#position = page.position;
    return this.#poll(options);
  }

  /** What a page showed must not be lost where no answer follows it. */
  async #takePageAlone(signal: AbortSignal): Promise<void> {
    if (this.#page.length > 0) await this.#append(this.#page, this.#position, signal);
  }

  /** An answer without chat ends a replay; of a live chat a page decides. */
  async #fallSilent(signal: AbortSignal): Promise<Next> {
    return this.#isReplay ? this.#end(signal) : this.#lose("an answer without chat", signal);
  }

  /** The token is no longer good. Losing the next one before anything good came is a failure. */
  async #lose(why: string, signal: AbortSignal): Promise<Next> {
    this.#lostBecause = why;
    if (!this.#hasProgressed) return this.#fail("UPSTREAM_ERROR", why, signal);
    this.#hasProgressed = false;
    return { delayMs: 0 };
  }

  #progress(now: number): void {
    this.#failures = 0;
    this.#hasProgressed = true;
    this.#progressedAt = now;
  }

  async #fail(code: ErrorCode, why: string, signal: AbortSignal): Promise<Next> {
    const { appender, clock, settings, telemetry } = this.#parts;
    this.#failures += 1;
    telemetry.pollFailed(this.#videoId, this.#failures, why);
    const failingForMs = clock.monotonic() - this.#progressedAt;
    if (this.#failures >= settings.maxFailures && failingForMs >= settings.failingMs) {
      await this.#takePageAlone(signal);
      const message = `${why} (the chat could not be read ${this.#failures} times in a row)`;
      await appender.finish({ state: "failed", error: { code, message } }, signal);
      return "over";
    }
    const backoffMs = Math.min(settings.pollMaxMs, settings.pollMinMs * 2 ** this.#failures);
    return { delayMs: backoffMs * (0.5 + clock.random() / 2) };
  }

  async #end(signal: AbortSignal): Promise<"over"> {
    await this.#takePageAlone(signal);
    await this.#parts.appender.finish({ state: "ended", reason: "no more continuations" }, signal);
    return "over";
  }

  /** Resolves to how many of the items are new. */
  async #append(items: readonly Item[], position: Position, signal: AbortSignal): Promise<number> {
    const added = await this.#parts.appender.append(items, position, signal);
    this.#position = position;
    this.#page = [];
    return added;
  }
}

/** Undefined where the upstream does not give what is asked for. */
async function optional<T>(outcome: Promise<T>): Promise<T | undefined> {
  try {
    return await outcome;
  } catch (error) {
    if (error instanceof RelayError || error instanceof UpstreamError) return undefined;
    throw error;
  }
}

/** Milliseconds from an answer to the next poll. */
export function waitAfter(
  { timeoutMs, actionCount, position }: Pick<Batch, "timeoutMs" | "actionCount" | "position">,
  { pollMinMs, pollMaxMs }: Pick<PollerSettings, "pollMinMs" | "pollMaxMs">,
): number {
  const isReplay = position.chatType === "liveChatReplayRenderer";
  const asked = timeoutMs ?? (isReplay ? pollMinMs : DEFAULT_TIMEOUT_MS);
  const clamped = Math.min(pollMaxMs, Math.max(pollMinMs, asked));
  if (isReplay || actionCount <= FULL_PAGE_ACTIONS) return clamped;
  return Math.max(pollMinMs, (clamped * FULL_PAGE_ACTIONS) / actionCount);
}
