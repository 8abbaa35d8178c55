/**
 * The one loop that polls a room's chat: poll, append, wait. It never publishes; what it appends reaches viewers
 * through the store. It ends when the chat is over, when failures accumulate, or when it is stopped.
 */
import type { Clock } from "../clock.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import { UpstreamError } from "../upstream/errors.ts";
import type { CallOptions } from "../upstream/flights.ts";
import type { Batch, LiveChat, Page } from "../upstream/live-chat.ts";
import type { Position } from "../upstream/position.ts";
import type { Appender } from "./appender.ts";

/** So many empty polls in a row, for long enough, after messages came: a token can give nothing for ever. */
const QUIET_POLLS = 20;
/** A live answer fuller than this means that the upstream's window is overflowing: poll sooner. */
const FULL_PAGE_ACTIONS = 75;

export interface PollerSettings {
  // [spec] Poll at the interval the upstream requests, clamped to 500 ms to 15 s.
  pollMinMs: number;
  pollMaxMs: number;
  /** The failure in a row that stops the room. */
  maxFailures: number;
  /** It does not stop before its last good answer is this long ago, in milliseconds. */
  failingMs: number;
  /** How long a lively chat may stay silent before a fresh page is asked for, once. */
  quietMs: number;
  /** How much later than its interval an answer may come before something may be missing in it. */
  overdueMs: number;
}

/** Where a poller begins. */
export interface PollerStart {
  position: Position;
  /** Before the first poll, as `waitAfter` gives it for the answer that led to the position. */
  waitMs: number;
  /** How long ago that answer came. */
  ageMs: number;
}

export interface PollerParts {
  liveChat: LiveChat;
  appender: Appender;
  settings: PollerSettings;
  clock: Clock;
  telemetry: Telemetry;
}

/** A page costs a call: late for want of calls, a room must not ask for more of them each time. */
const CATCH_UP_EVERY_MS = 60_000;

/** How long to wait before the next step, or that there is none. */
type Next = { waitMs: number } | "over";

export class Poller {
  readonly #videoId: string;
  readonly #parts: PollerParts;
  #position: Position;
  #waitMs: number;
  /** Failures in a row. */
  #failures = 0;
  /** Whether the present token's line has brought an answer: only then is its expiry no failure. */
  #answered = true;
  #mustReopen: string | undefined;
  /** Empty polls in a row since messages last came, and when that was; undefined before any, and once it was acted on. */
  #quiet: { polls: number; since: number } | undefined;
  /** When the last answer came, that of a page included. */
  #answeredAt: number;
  #caughtUpAt = Number.NEGATIVE_INFINITY;

  constructor(videoId: string, { position, waitMs, ageMs }: PollerStart, parts: PollerParts) {
    this.#videoId = videoId;
    this.#position = position;
    this.#waitMs = waitMs;
    this.#answeredAt = parts.clock.monotonic() - ageMs;
    this.#parts = parts;
  }

  /**
   * Polls until the room's end is in the store. `windDown` lets the step in hand finish and then stops; `stop`
   * cuts that short. Rejects with `StoreError` "fenced" when the room has another owner.
   */
  async run(windDown: AbortSignal, stop: AbortSignal): Promise<void> {
    const { clock } = this.#parts;
    try {
      let next: Next = { waitMs: this.#waitMs };
      while (next !== "over") {
        // [spec] Upstream returns no next continuation token | Chat over
        if (this.#position.continuation === null) {
          await this.#end(stop);
          return;
        }
        const dueAt: number = clock.monotonic() + next.waitMs;
        await clock.sleep(next.waitMs, windDown);
        const options = {
          lane: "poll",
          dueAt,
          intervalMs: this.#waitMs,
          maxCooldownMs: Number.POSITIVE_INFINITY,
          signal: stop,
        } as const;
        next = await this.#step(options);
        this.#parts.telemetry.polled(clock.monotonic() - dueAt);
      }
    } catch (error) {
      if (!windDown.aborted && !stop.aborted) throw error;
    }
  }

  async #step(options: CallOptions): Promise<Next> {
    try {
      if (this.#mustReopen !== undefined) return await this.#reopen(options, this.#mustReopen);
      const answer = await this.#parts.liveChat.poll(this.#position, options);
      if (answer.kind === "batch") return await this.#take(answer, options);
      if (this.#position.chatType === "liveChatReplayRenderer") return await this.#end(options.signal);
      return await this.#lost("an answer without chat", options.signal);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      switch (error.fault) {
        case "throttled":
          return { waitMs: 0 }; // the gate holds the next call until its cooldown is over
        case "expired":
        case "denied":
          return await this.#lost(error.message, options.signal);
        case "unusable":
          return await this.#failed("UPSTREAM_ERROR", error.message, options.signal);
      }
    }
  }

  async #take(batch: Batch, options: CallOptions): Promise<Next> {
    this.#failures = 0;
    this.#answered = true;
    await this.#append(await this.#caughtUp(batch, options), options.signal);
    this.#waitMs = waitAfter(batch, this.#parts.settings);
    if (!this.#hasFallenSilent(batch)) return { waitMs: this.#waitMs };
    this.#mustReopen = "no messages for long after there were some";
    return { waitMs: 0 };
  }

  /**
   * The batch, with what its page adds to it where it comes so late (after a restart, a cooldown, a store that
   * failed) that the upstream, which holds a live chat's last ten seconds, may have left something out: the page
   * shows its last messages whatever their age.
   */
  async #caughtUp(batch: Batch, options: CallOptions): Promise<Page> {
    const { clock, liveChat, settings, telemetry } = this.#parts;
    const now = clock.monotonic();
    const lateMs = now - this.#answeredAt - this.#waitMs;
    this.#answeredAt = now;
    if (this.#position.chatType === "liveChatReplayRenderer") return batch;
    if (lateMs < settings.overdueMs || now - this.#caughtUpAt < CATCH_UP_EVERY_MS) return batch;
    this.#caughtUpAt = now;
    try {
      const pageOptions: CallOptions = { lane: "poll", dueAt: now, maxCooldownMs: 0, signal: options.signal };
      const page = await liveChat.backlog(this.#videoId, batch.position, pageOptions);
      telemetry.roomCaughtUp(this.#videoId, lateMs);
      return joined(page, batch);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      return batch; // better some of it than none: the batch is in hand
    }
  }

  /** True once for each time that a live chat stops bringing anything. */
  #hasFallenSilent({ actionCount }: Batch): boolean {
    const now = this.#parts.clock.monotonic();
    if (this.#position.chatType === "liveChatReplayRenderer") return false;
    if (actionCount > 0) this.#quiet = { polls: 0, since: now };
    if (!this.#quiet || actionCount > 0) return false;
    this.#quiet.polls += 1;
    if (this.#quiet.polls < QUIET_POLLS || now - this.#quiet.since < this.#parts.settings.quietMs)
      return false;
    this.#quiet = undefined;
    return true;
  }

  /** The token is no longer good: a new page gives another. Expiry again before any answer is a failure. */
  async #lost(why: string, signal: AbortSignal): Promise<Next> {
    this.#mustReopen = why;
    if (!this.#answered) return this.#failed("UPSTREAM_ERROR", why, signal);
    this.#answered = false;
    return { waitMs: 0 };
  }

  async #reopen(options: CallOptions, why: string): Promise<Next> {
    const { liveChat, telemetry } = this.#parts;
    try {
      const page = await liveChat.reopen(this.#videoId, this.#position, options);
      if (page.position.chatType !== this.#position.chatType) return await this.#end(options.signal);
      this.#answeredAt = this.#parts.clock.monotonic();
      await this.#append(page, options.signal);
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      if (error.code === "NO_LIVE_CHAT") return this.#end(options.signal);
      return this.#failed(error.code, error.message, options.signal);
    }
    this.#mustReopen = undefined;
    telemetry.roomReopened(this.#videoId, why);
    return { waitMs: 0 };
  }

  async #failed(code: ErrorCode, why: string, signal: AbortSignal): Promise<Next> {
    const { appender, clock, settings, telemetry } = this.#parts;
    this.#failures += 1;
    telemetry.pollFailed(this.#videoId, this.#failures, why);
    if (this.#failures >= settings.maxFailures) {
      const message = `The chat could not be read ${this.#failures} times in a row: ${why}`;
      await appender.finish({ state: "failed", error: { code, message } }, signal);
      return "over";
    }
    const backoffMs = Math.min(settings.pollMaxMs, settings.pollMinMs * 2 ** this.#failures);
    return { waitMs: backoffMs * (0.5 + clock.random() / 2) };
  }

  async #end(signal: AbortSignal): Promise<"over"> {
    await this.#parts.appender.finish({ state: "ended", reason: "no more continuations" }, signal);
    return "over";
  }

  async #append({ items, position }: Page, signal: AbortSignal): Promise<void> {
    await this.#parts.appender.append(items, position, signal);
    this.#position = position;
  }
}

/** Both reach up to now, so the one of them that reaches further back comes first: that is the order of saying. */
function joined(page: Page, batch: Batch): Page {
  const places = new Map(page.items.map(({ message }, place) => [message.id, place]));
  const shared = batch.items.findIndex(({ message }) => places.has(message.id));
  const beforeInBatch = shared === -1 ? batch.items.length : shared;
  const beforeInPage = places.get(batch.items[shared]?.message.id ?? "") ?? page.items.length;
  const [first, second] = beforeInPage >= beforeInBatch ? [page, batch] : [batch, page];
  return { items: [...first.items, ...second.items], position: page.position };
}

/** Milliseconds from an answer to the next poll. */
export function waitAfter(
  batch: Pick<Batch, "timeoutMs" | "actionCount" | "position">,
  { pollMinMs, pollMaxMs }: PollerSettings,
): number {
  const isReplay = batch.position.chatType === "liveChatReplayRenderer";
  const asked = batch.timeoutMs ?? (isReplay ? pollMinMs : DEFAULT_TIMEOUT_MS);
  const clamped = Math.min(pollMaxMs, Math.max(pollMinMs, asked));
  if (isReplay || batch.actionCount <= FULL_PAGE_ACTIONS) return clamped;
  return Math.max(pollMinMs, (clamped * FULL_PAGE_ACTIONS) / batch.actionCount);
}
