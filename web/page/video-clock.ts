/**
 * Shows a replay at the pace of its video: the stored messages that were said up to the place that the clock
 * has. At first, the clock is paused. Bounded: it holds the messages of one page ahead.
 */
import { make } from "../chat/dom.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import type { StoredPage, StoredQuery } from "../chat/stored.ts";

const TICK_MS = 250;
/** Messages shown from before the place, as a viewer begins with a backfill. */
const BEFORE = 50;
/** Messages that are read ahead of the place, and at which more are read. */
const AHEAD = 200;
const LOW = 100;
const RETRY_MS = 3000;
/** The `before` of the newest page. */
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

interface ClockOptions {
  /** Where its controls are, before all else. */
  place: HTMLElement;
  /** Where it begins, in seconds. */
  start: number;
  /** Reads the stored messages of the replay. */
  read(query: StoredQuery, signal: AbortSignal): Promise<StoredPage>;
  /** Whether the service has read the replay to its end. */
  isOver(): boolean;
  /** The log must have no messages. */
  cleared(): void;
  /** Messages that are said now. */
  take(messages: readonly ShownMessage[]): void;
  /** The reader has chosen a place, or has stopped at one: in whole seconds. */
  stopped(seconds: number): void;
}

export class VideoClock {
  readonly #options: ClockOptions;
  readonly #play: HTMLButtonElement;
  readonly #seek: HTMLInputElement;
  readonly #time = make("span", { class: "quiet" });
  readonly #element: HTMLElement;
  /** The place in the video, in milliseconds. */
  #at: number;
  /** The place of the last stored message that was seen. */
  #lastAt = Number.NEGATIVE_INFINITY;
  /** Read, but not said yet. */
  #coming: ShownMessage[] = [];
  /** The cursor after which is read next. */
  #after = 0;
  #hasMore = false;
  #isReading = false;
  #reads = new AbortController();
  #timer: ReturnType<typeof setInterval> | undefined;
  #tickedAt = 0;
  /** Whether the reader is moving the handle. */
  #isMoved = false;

  constructor(options: ClockOptions) {
    this.#options = options;
    this.#at = options.start * 1000;
    this.#play = make("button", { type: "button", id: "play", "aria-pressed": "false" }, "Play");
    const range = { id: "seek", type: "range", min: 0, max: 0, step: 1, "aria-label": "Place in the video" };
    this.#seek = make("input", range);
    this.#element = make("div", { "data-part": "clock" }, this.#play, this.#seek, this.#time);
    options.place.prepend(this.#element);
    this.#play.addEventListener("click", () => (this.#timer === undefined ? this.#run() : this.#stop()));
    this.#seek.addEventListener("input", () => {
      this.#isMoved = true;
      this.#showTime(Number(this.#seek.value) * 1000);
    });
    this.#seek.addEventListener("change", () => {
      this.#isMoved = false;
      this.#at = Number(this.#seek.value) * 1000;
      void this.#jump();
      options.stopped(Number(this.#seek.value));
    });
    void this.#jump();
  }

  /** The service has stored more messages. */
  came(messages: readonly ShownMessage[]): void {
    if (messages.length === 0) return;
    this.#extend(messages);
    this.#hasMore = true;
    void this.#readOn();
  }

  /** The service has read the replay to its end: once the page has, too, the clock goes no further. */
  over(): void {
    const isRead = !this.#hasMore && !this.#isReading && this.#lastAt > Number.NEGATIVE_INFINITY;
    if (isRead) this.#at = Math.max(0, Math.min(this.#at, this.#lastAt));
    this.#show();
  }

  close(): void {
    this.#reads.abort();
    clearInterval(this.#timer);
    this.#element.remove();
  }

  #run(): void {
    this.#tickedAt = performance.now();
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#play.setAttribute("aria-pressed", "true");
  }

  #stop(): void {
    this.#tick();
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#play.setAttribute("aria-pressed", "false");
    this.#options.stopped(Math.floor(this.#at / 1000));
  }

  #tick(): void {
    const now = performance.now();
    this.#at = Math.min(this.#at + now - this.#tickedAt, Math.max(this.#at, this.#lastAt));
    this.#tickedAt = now;
    this.#say();
    const isAtEnd = this.#at >= this.#lastAt && this.#coming.length === 0 && !this.#hasMore;
    if (isAtEnd && this.#timer !== undefined && this.#options.isOver()) {
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#play.setAttribute("aria-pressed", "false");
    }
  }

  /** Begins at the place: with the messages before it. */
  async #jump(): Promise<void> {
    this.#reads.abort();
    this.#reads = new AbortController();
    const { signal } = this.#reads;
    const { read, cleared, take } = this.#options;
    this.#coming = [];
    this.#isReading = true;
    this.#show();
    try {
      const [newest, said] = await Promise.all([
        read({ before: AFTER_ALL, limit: 1 }, signal),
        read(
          { before: AFTER_ALL, limit: BEFORE, saidTo: `PT${((this.#at + 1) / 1000).toFixed(3)}S` },
          signal,
        ),
      ]);
      signal.throwIfAborted();
      this.#extend(newest.messages);
      this.#after = said.messages.at(-1)?.cursor ?? 0;
      cleared();
      take(said.messages);
      this.#hasMore = true;
    } catch (error) {
      if (signal.aborted) return;
      console.error("the replay cannot be read at this place:", error);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      if (!signal.aborted) await this.#jump();
      return;
    }
    this.#isReading = false;
    await this.#readOn();
  }

  async #readOn(): Promise<void> {
    const { signal } = this.#reads;
    while (this.#hasMore && !this.#isReading && this.#coming.length < LOW) {
      this.#isReading = true;
      this.#hasMore = false; // messages that come meanwhile set it again
      const read = this.#options.read({ after: this.#after, limit: AHEAD }, signal);
      const page = await read.catch(() => undefined);
      if (!page) await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      if (signal.aborted) return;
      this.#isReading = false;
      this.#hasMore ||= page?.next !== null;
      if (!page) continue;
      this.#coming.push(...page.messages);
      this.#after = page.messages.at(-1)?.cursor ?? this.#after;
      this.#extend(page.messages);
      this.#say();
    }
    if (this.#options.isOver()) this.over();
  }

  /** Shows the messages that are due. A message without a place of its own comes with the one before it. */
  #say(): void {
    const first = this.#coming.findIndex(({ details }) => (details.offsetMs ?? 0) > this.#at);
    const due = this.#coming.splice(0, first === -1 ? this.#coming.length : first);
    if (due.length > 0) this.#options.take(due);
    this.#show();
    void this.#readOn();
  }

  #extend(messages: readonly ShownMessage[]): void {
    for (const { details } of messages) this.#lastAt = Math.max(this.#lastAt, details.offsetMs ?? 0);
    this.#show();
  }

  #show(): void {
    this.#seek.max = String(Math.ceil(Math.max(this.#lastAt, this.#at) / 1000));
    if (this.#isMoved) return;
    this.#seek.value = String(Math.floor(this.#at / 1000));
    this.#showTime(this.#at);
  }

  #showTime(ms: number): void {
    const [at, last] = [ms, Math.max(this.#lastAt, ms)].map(clockOf);
    this.#time.textContent = `${at} / ${last}`;
    this.#seek.setAttribute("aria-valuetext", `${at} of ${last}`);
  }
}

/** `1:02:03`, as the times of a replay's messages. */
function clockOf(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  const rest = String(seconds % 60).padStart(2, "0");
  return hours === 0 ? `${minutes}:${rest}` : `${hours}:${String(minutes).padStart(2, "0")}:${rest}`;
}
