/**
 * The one loop that polls a room's chat: poll, append, wait. It never publishes; what it appends reaches viewers
 * through the store. It ends when the chat is over, when failures accumulate, or when it is stopped.
 */
import { answeredNow, type CallTimes, wallTimeOf } from "../clock.ts";
import { RelayError } from "../protocol/errors.ts";
import { isUnavailable, type Lease } from "../store/port.ts";
import type { CallOptions } from "../upstream/egress/flights.ts";
import type { Detour } from "../upstream/egress/room-egress.ts";
import { UpstreamError } from "../upstream/errors.ts";
import type { Batch, Page } from "../upstream/live-chat.ts";
import type { Position } from "../upstream/position.ts";
import type { Appender } from "./appender.ts";
import type { Hole, Stretch } from "./gap.ts";
import { filledAfterMs } from "./interval.ts";
import { Lateness, silenceBetween } from "./lateness.ts";
import { optional } from "./optional.ts";
import { completeInOrder } from "./order.ts";
import { Pace, type PaceParts, type PaceSettings } from "./pace.ts";
import { type FreshPage, lastOf, stretchesOf, withAnswer, withPage } from "./pages.ts";
import { Silence } from "./quiet-chat.ts";

export interface PollerSettings extends PaceSettings {
  /** The failure in a row that stops the room. */
  maxFailures: number;
  /** A room does not stop before its last good answer is this long ago, in milliseconds. */
  failingMs: number;
  /** How long a lively chat may stay silent before a fresh page is asked for, in milliseconds. */
  quietMs: number;
}

/** The answer that the polling goes on from. */
export interface PollerStart extends CallTimes {
  position: Position;
  /** From the start of its call to that of the first poll, in milliseconds; 0 where it is not known. */
  intervalMs: number;
}

export interface PollerParts extends PaceParts {
  appender: Appender;
  lease: Lease;
  /** How much later than due the room's calls count among others that wait, in milliseconds. */
  standsBackMs: (isQuiet: boolean) => number;
  settings: PollerSettings;
}

/** How long to wait before the next step, or that there is none. */
type Next = { delayMs: number } | "over";

export class Poller {
  readonly #videoId: string;
  readonly #parts: PollerParts;
  readonly #silence: Silence;
  readonly #lateness: Lateness;
  readonly #pace: Pace;
  #position: Position;
  /** When the last poll went out. */
  #startedAt: number;
  /** Why nobody reads just now, if the next answer comes late. */
  #hindrance: Hole["reason"] = "down";
  /** What fresh pages showed, until the answer that follows them comes: it and the last page are one list. */
  #pages: readonly FreshPage[] = [];
  /** Why the token is no longer good, where a page must give another. */
  #lostBecause: string | undefined;
  /** Whether anything good came since a token was last lost: only then is losing the next one no failure. */
  #hasProgressed = true;
  #failures = 0;
  /** When an answer last brought the reading on. */
  #progressedAt: number;

  constructor(videoId: string, start: PollerStart, parts: PollerParts) {
    const { clock, settings } = parts;
    this.#videoId = videoId;
    this.#parts = parts;
    this.#silence = new Silence(settings.quietMs, clock.monotonic());
    this.#lateness = new Lateness(settings.windowMs, clock, start);
    this.#position = start.position;
    this.#pace = new Pace(videoId, this.#isReplay, start.intervalMs, parts);
    this.#startedAt = start.startedAt;
    this.#progressedAt = start.answeredAt;
  }

  /** How many answers came full since the reading began. */
  get fullAnswers(): number {
    return this.#pace.fullAnswers;
  }

  /**
   * Polls until the room's end is in the store. `windDown` lets the step in hand finish and then stops; `stop`
   * cuts that short. Rejects with `StoreError` "fenced" when the room has another owner.
   */
  async run(windDown: AbortSignal, stop: AbortSignal): Promise<void> {
    const { passage, clock, telemetry } = this.#parts;
    try {
      let next: Next = this.#atInterval();
      while (next !== "over") {
        // [spec] Upstream returns no next continuation token | Chat over
        if (this.#position.continuation === null) {
          await this.#end(stop);
          return;
        }
        await clock.sleep(next.delayMs, windDown);
        const detour = await passage.ready(this.#lostBecause !== undefined, windDown);
        if (detour) this.#beginAnew(detour);
        const dueAt = clock.monotonic();
        next = await this.#step(this.#callOptions(dueAt, stop));
        telemetry.polled(clock.monotonic() - dueAt);
      }
    } catch (error) {
      if (!windDown.aborted && !stop.aborted) throw error;
      await this.#takePageAlone(stop).catch((failure) => {
        if (!stop.aborted) throw failure;
      });
    } finally {
      passage.leave();
    }
  }

  #callOptions(dueAt: number, signal: AbortSignal): CallOptions {
    const { clock, lease, passage, standsBackMs } = this.#parts;
    return {
      lane: "poll",
      dueAt,
      standsBackMs: standsBackMs(this.#silence.isQuiet(dueAt)),
      maxCooldownMs: passage.maxCooldownMs,
      beforeStart: () => {
        lease.assertHeld();
        this.#startedAt = clock.monotonic();
      },
      signal,
    };
  }

  get #isReplay(): boolean {
    return this.#position.chatType === "liveChatReplayRenderer";
  }

  async #step(options: CallOptions): Promise<Next> {
    const needsPage = this.#lostBecause !== undefined;
    if (this.#parts.passage.liveChat.cooldownLeftMs(needsPage) > 0) this.#hindrance = "throttled";
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
          this.#hindrance = "throttled";
          return { delayMs: 0 }; // the gate holds the next call until its cooldown is over
        case "expired":
        case "denied":
          return await this.#lose(error, options.signal);
        case "unusable":
          return await this.#fail(error, options.signal);
      }
    }
  }

  async #poll(options: CallOptions): Promise<Next> {
    const answer = await this.#parts.passage.liveChat.poll(this.#position, options);
    return answer.kind === "batch" ? this.#take(answer, options) : this.#fallSilent(options.signal);
  }

  /** Makes an answer durable, in one list with the page that it follows. */
  async #take(batch: Batch, options: CallOptions): Promise<Next> {
    const { clock, passage } = this.#parts;
    const times = answeredNow(this.#startedAt, clock);
    const now = times.answeredAt;
    passage.succeeded();
    const before = this.#silenceBefore(times);
    const silence = this.#lateness.observe(times, this.#pace.intervalMs);
    let { items, position }: Pick<Batch, "items" | "position"> = batch;
    let stretches: readonly Stretch[];
    if (this.#pages.length > 0) {
      stretches = withAnswer(this.#pages, items, before);
    } else {
      if (silence && !this.#isReplay && this.#lateness.takePage()) {
        ({ items, position } = await this.#complete(batch, silence.ms, options));
      }
      stretches = [{ items, after: silence && this.#holeSince(silence.sinceMs) }];
    }
    const added = await this.#append(stretches, position, options.signal);
    // Of a replay only what is new is progress: read again from its beginning, it would never end otherwise.
    if (!this.#isReplay || added > 0) this.#progress(now);
    if (!this.#isReplay) this.#silence.observe(added, now);
    this.#pace.observe(batch);
    return this.#atInterval();
  }

  #keepPage(page: Page): void {
    this.#pages = withPage(this.#pages, page, this.#silenceBefore(page));
  }

  /** What lies between the last good answer, or fresh page that shows messages, and a later answer or page. */
  #silenceBefore(times: CallTimes) {
    const last = lastOf(this.#pages) ?? this.#lateness.last;
    const isShort = silenceBetween(last, times) <= this.#parts.settings.windowMs;
    return { hole: this.#holeSince(last.wallAt), isShort };
  }

  /** A replay has no holes: it is read on from its place. */
  #holeSince(sinceMs: number): Hole | undefined {
    return this.#isReplay ? undefined : { sinceMs, reason: this.#hindrance };
  }

  /** An interval after the start of the last call; at most that from now, where the clock was set back. */
  #atInterval(): Next {
    const leftMs = this.#startedAt + this.#pace.intervalMs - this.#parts.clock.monotonic();
    return { delayMs: Math.min(this.#pace.intervalMs, Math.max(0, leftMs)) };
  }

  /** The batch with what its page adds to it. Of several rooms that need one, the liveliest is due first. */
  async #complete(
    batch: Batch,
    silentMs: number,
    options: CallOptions,
  ): Promise<Pick<Page, "items" | "position">> {
    const { clock, lease, passage, settings, telemetry } = this.#parts;
    const now = clock.monotonic();
    const pageOptions: CallOptions = {
      lane: options.lane,
      dueAt: Math.min(now, now - silentMs + filledAfterMs(batch)),
      maxCooldownMs: 0,
      beforeStart: () => lease.assertHeld(),
      signal: options.signal,
    };
    const page = await optional(passage.liveChat.backlog(this.#videoId, batch.position, pageOptions));
    if (!page) return batch; // better some of it than none
    telemetry.roomCaughtUp(this.#videoId, silentMs);
    // What the upstream still held and the answer lacks was not said: any time in its window parts old from new.
    const heldSince = new Date(clock.now() - settings.windowMs / 2).toISOString();
    const items = completeInOrder(batch.items, page.items, heldSince);
    return { items, position: page.position };
  }

  /**
   * Goes on from a fresh page where a chat has been silent for long and the page shows something new. It is optional:
   * where anything fails or nothing is new, the token at hand goes on and nothing is counted.
   */
  async #refresh(options: CallOptions): Promise<Next | undefined> {
    const { appender, clock, passage, telemetry } = this.#parts;
    if (!this.#silence.isDue(clock.monotonic())) return undefined;
    this.#silence.pageAsked(clock.monotonic());
    const atOnce = { ...options, maxCooldownMs: 0 };
    const page = await optional(passage.liveChat.reopen(this.#videoId, this.#position, atOnce));
    if (page?.position.chatType !== this.#position.chatType) return undefined;
    if (await appender.holdsAll(page.items, options.signal)) return undefined;
    telemetry.roomReopened(this.#videoId, "no new messages for long after there were some");
    this.#hindrance = "unreachable";
    this.#keepPage(page);
    const answer = await optional(passage.liveChat.poll(page.position, options));
    return answer?.kind === "batch" ? this.#take(answer, options) : undefined;
  }

  /** By another egress a page gives the next token, and a visitor of its own. A replay goes on from its place. */
  #beginAnew(why: Detour): void {
    const { visitorData: _, ...credentials } = this.#position.credentials;
    this.#position = { ...this.#position, credentials };
    if (!this.#isReplay) this.#lostBecause = `another egress is used (${why})`;
    this.#hindrance = why;
  }

  /** A page gives another token in place of the one that was lost; what it shows and the next answer are one list. */
  async #reopen(options: CallOptions, why: string): Promise<Next> {
    const { passage, telemetry } = this.#parts;
    let page: Page;
    try {
      page = await passage.liveChat.reopen(this.#videoId, this.#position, options);
    } catch (error) {
      if (!(error instanceof RelayError)) throw error;
      if (error.code === "NO_LIVE_CHAT") return this.#end(options.signal);
      return this.#fail(error, options.signal);
    }
    if (page.position.chatType !== this.#position.chatType) return this.#end(options.signal);
    this.#lostBecause = undefined;
    telemetry.roomReopened(this.#videoId, why);
    this.#keepPage(page);
    this.#position = page.position;
    return this.#poll(options);
  }

  /** What a page showed must not be lost where no answer follows it. */
  async #takePageAlone(signal: AbortSignal): Promise<void> {
    const last = this.#pages.at(-1);
    if (!last) return;
    this.#startedAt = last.startedAt; // later calls have brought nothing
    await this.#append(stretchesOf(this.#pages), this.#position, signal);
  }

  /** An answer without chat ends a replay; of a live chat a page decides. */
  async #fallSilent(signal: AbortSignal): Promise<Next> {
    if (this.#isReplay) return this.#end(signal);
    return this.#lose(new UpstreamError("expired", "an answer without chat"), signal);
  }

  /** The token is no longer good. Losing the next one before anything good came is a failure. */
  async #lose(why: UpstreamError, signal: AbortSignal): Promise<Next> {
    this.#lostBecause = why.message;
    this.#hindrance = "unreachable";
    if (!this.#hasProgressed) return this.#fail(why, signal);
    this.#hasProgressed = false;
    return { delayMs: 0 };
  }

  #progress(now: number): void {
    this.#failures = 0;
    this.#hasProgressed = true;
    this.#hindrance = "down";
    this.#progressedAt = now;
  }

  async #fail(why: RelayError | UpstreamError, signal: AbortSignal): Promise<Next> {
    const { appender, passage, clock, settings, telemetry } = this.#parts;
    this.#hindrance = "unreachable";
    if (passage.failed(why)) return { delayMs: 0 }; // it waits there
    this.#failures += 1;
    telemetry.pollFailed(this.#videoId, this.#failures, why.message);
    const failingForMs = clock.monotonic() - this.#progressedAt;
    if (this.#failures >= settings.maxFailures && failingForMs >= settings.failingMs) {
      await this.#takePageAlone(signal);
      const code = why instanceof RelayError ? why.code : "UPSTREAM_ERROR";
      const message = `${why.message} (the chat could not be read ${this.#failures} times in a row)`;
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
  async #append(stretches: readonly Stretch[], position: Position, signal: AbortSignal): Promise<number> {
    const readAt = wallTimeOf(this.#startedAt, this.#parts.clock);
    const progress = { position, readAt, egress: this.#parts.passage.egress };
    const added = await this.#parts.appender.append(stretches, progress, signal);
    this.#position = position;
    this.#pages = [];
    return added;
  }
}
