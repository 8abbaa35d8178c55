/**
 * The one loop that polls a room's chat: poll, append, wait. It never publishes; what it appends reaches viewers
 * through the store. It ends when the chat is over, when failures accumulate, or when it is stopped.
 */
import type { Clock } from "../clock.ts";
import type { ErrorCode } from "../protocol/errors.ts";
import { RelayError } from "../protocol/errors.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import { DEFAULT_TIMEOUT_MS } from "../upstream/answer.ts";
import type { Turn } from "../upstream/egress/gate.ts";
import { UpstreamError } from "../upstream/errors.ts";
import type { ChatBatch, LiveChat, Reading } from "../upstream/live-chat.ts";
import type { Appender } from "./appender.ts";
import type { Checkpoint } from "./checkpoint.ts";

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
  checkpoint: Checkpoint;
  /** Before the first poll, as `waitAfter` gives it for the answer that led to the checkpoint. */
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
  #checkpoint: Checkpoint;
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

  constructor(videoId: string, { checkpoint, waitMs, ageMs }: PollerStart, parts: PollerParts) {
    this.#videoId = videoId;
    this.#checkpoint = checkpoint;
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
        const { continuation } = this.#checkpoint;
        // [spec] Upstream returns no next continuation token | Chat over
        if (continuation === null) {
          await this.#end(stop);
          return;
        }
        const dueAt: number = clock.monotonic() + next.waitMs;
        await clock.sleep(next.waitMs, windDown);
        const turn = {
          lane: "poll",
          dueAt,
          everyMs: this.#waitMs,
          patienceMs: Number.POSITIVE_INFINITY,
          signal: stop,
        } as const;
        next = await this.#step(turn, continuation);
        this.#parts.telemetry.polled(clock.monotonic() - dueAt);
      }
    } catch (error) {
      if (!windDown.aborted && !stop.aborted) throw error;
    }
  }

  async #step(turn: Turn, continuation: string): Promise<Next> {
    try {
      if (this.#mustReopen !== undefined) return await this.#reopen(turn, this.#mustReopen);
      const { pair, credentials, chatType, panels } = this.#checkpoint;
      const answer = await this.#parts.liveChat.poll({ pair, credentials, continuation }, turn, panels);
      if (answer.kind === "batch") return await this.#take(answer, turn);
      if (chatType === "liveChatReplayRenderer") return await this.#end(turn.signal);
      return await this.#lost("an answer without chat", turn.signal);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      switch (error.fault) {
        case "throttled":
          return { waitMs: 0 }; // the gate holds the next call until its cooldown is over
        case "expired":
        case "denied":
          return await this.#lost(error.message, turn.signal);
        case "unusable":
          return await this.#failed("UPSTREAM_ERROR", error.message, turn.signal);
      }
    }
  }

  async #take(batch: ChatBatch, turn: Turn): Promise<Next> {
    this.#failures = 0;
    this.#answered = true;
    const reading = await this.#caughtUp(batch, turn);
    await this.#append({ continuation: batch.continuation ?? null }, reading, turn.signal);
    this.#waitMs = waitAfter(batch, this.#checkpoint, this.#parts.settings);
    if (!this.#hasFallenSilent(batch)) return { waitMs: this.#waitMs };
    this.#mustReopen = "no messages for long after there were some";
    return { waitMs: 0 };
  }

  /**
   * The batch, with what its page adds to it where it comes so late (after a restart, a cooldown, a store that
   * failed) that the upstream, which holds a live chat's last ten seconds, may have left something out: the page
   * shows its last messages whatever their age.
   */
  async #caughtUp(batch: ChatBatch, turn: Turn): Promise<Reading> {
    const { clock, liveChat, settings, telemetry } = this.#parts;
    const now = clock.monotonic();
    const lateMs = now - this.#answeredAt - this.#waitMs;
    this.#answeredAt = now;
    if (this.#checkpoint.chatType === "liveChatReplayRenderer") return batch;
    if (lateMs < settings.overdueMs || now - this.#caughtUpAt < CATCH_UP_EVERY_MS) return batch;
    this.#caughtUpAt = now;
    try {
      const pageTurn: Turn = { lane: "poll", dueAt: now, patienceMs: 0, signal: turn.signal };
      const page = await liveChat.backlog(this.#videoId, pageTurn, this.#checkpoint.panels);
      telemetry.roomCaughtUp(this.#videoId, lateMs);
      return joined(page, batch);
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error;
      return batch; // better some of it than none: the batch is in hand
    }
  }

  /** True once for each time that a live chat stops bringing anything. */
  #hasFallenSilent({ actionCount }: ChatBatch): boolean {
    const now = this.#parts.clock.monotonic();
    if (this.#checkpoint.chatType === "liveChatReplayRenderer") return false;
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

  async #reopen(turn: Turn, why: string): Promise<Next> {
    const { liveChat, telemetry } = this.#parts;
    try {
      const page = await liveChat.open(this.#videoId, turn, this.#checkpoint);
      if (page.chatType !== this.#checkpoint.chatType) return await this.#end(turn.signal);
      const { continuation, credentials } = page;
      this.#answeredAt = this.#parts.clock.monotonic();
      await this.#append({ continuation, credentials }, page, turn.signal);
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      if (error.code === "NO_LIVE_CHAT") return this.#end(turn.signal);
      return this.#failed(error.code, error.message, turn.signal);
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

  async #append(moved: Partial<Checkpoint>, reading: Reading, signal: AbortSignal): Promise<void> {
    const checkpoint = { ...this.#checkpoint, ...moved, panels: reading.panels };
    await this.#parts.appender.append(reading, checkpoint, signal);
    this.#checkpoint = checkpoint;
  }
}

/** Both reach up to now, so the one of them that reaches further back comes first: that is the order of saying. */
function joined(page: Reading, batch: ChatBatch): Reading {
  const places = new Map(page.messages.map(({ id }, place) => [id, place]));
  const shared = batch.messages.findIndex(({ id }) => places.has(id));
  const beforeInBatch = shared === -1 ? batch.messages.length : shared;
  const beforeInPage = places.get(batch.messages[shared]?.id ?? "") ?? page.messages.length;
  const [first, second] = beforeInPage >= beforeInBatch ? [page, batch] : [batch, page];
  return {
    messages: [...first.messages, ...second.messages],
    replacements: new Map([...first.replacements, ...second.replacements]),
    panels: batch.panels,
  };
}

/** Milliseconds from an answer to the next poll. */
export function waitAfter(
  batch: Pick<ChatBatch, "timeoutMs" | "actionCount">,
  { chatType }: Pick<Checkpoint, "chatType">,
  { pollMinMs, pollMaxMs }: PollerSettings,
): number {
  const isReplay = chatType === "liveChatReplayRenderer";
  const asked = batch.timeoutMs ?? (isReplay ? pollMinMs : DEFAULT_TIMEOUT_MS);
  const clamped = Math.min(pollMaxMs, Math.max(pollMinMs, asked));
  if (isReplay || batch.actionCount <= FULL_PAGE_ACTIONS) return clamped;
  return Math.max(pollMinMs, (clamped * FULL_PAGE_ACTIONS) / batch.actionCount);
}
