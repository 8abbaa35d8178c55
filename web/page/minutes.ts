/**
 * The messages of each minute: by the clock for a live chat, by the video's time for a replay. Bounded: a
 * live chat keeps an hour, a replay a day.
 */
import type { ShownMessage } from "../chat/shown-message.ts";

const MINUTE_MS = 60_000;
const MAX_LIVE = 60;
const MAX_REPLAY = 24 * 60;
/** Maximum columns; beyond it, a column is the average of several minutes. */
const MAX_COLUMNS = 60;

/** Some minutes of the chat; nearly always one. */
export interface Column {
  /** Messages a minute. */
  count: number;
  /** Messages in all its minutes. */
  sum: number;
  /** The time at which it begins. */
  label: string;
}

export class Minutes {
  readonly #counts = new Map<number, number>();
  #isReplay = false;

  clear(): void {
    this.#counts.clear();
    this.#isReplay = false;
  }

  count({ details }: ShownMessage): void {
    this.#isReplay ||= details.offsetMs !== undefined;
    const said = details.offsetMs ?? (Date.parse(details.publishedAt ?? "") || Date.now());
    const minute = Math.floor(said / MINUTE_MS);
    this.#counts.set(minute, (this.#counts.get(minute) ?? 0) + 1);
    const most = this.#isReplay ? MAX_REPLAY : MAX_LIVE;
    if (this.#counts.size <= most) return;
    this.#counts.delete(Math.min(...this.#counts.keys()));
  }

  get isReplay(): boolean {
    return this.#isReplay;
  }

  /** Messages in the last 60 seconds; the minute before counts by its share in them. */
  get now(): number {
    const minutes = Date.now() / MINUTE_MS;
    const current = Math.floor(minutes);
    const share = 1 - (minutes - current);
    return Math.round((this.#counts.get(current) ?? 0) + share * (this.#counts.get(current - 1) ?? 0));
  }

  /** From the first minute that has a message; the last one of a live chat is still running. */
  get columns(): Column[] {
    const minutes = [...this.#counts.keys()];
    if (minutes.length === 0) return [];
    // The newest message may be ahead of this computer's clock, or of another day.
    const last = this.#isReplay ? Math.max(...minutes) : Math.max(...minutes, this.#clock(minutes));
    const first = Math.max(Math.min(...minutes), last - (this.#isReplay ? MAX_REPLAY : MAX_LIVE) + 1);
    const step = Math.ceil((last - first + 1) / MAX_COLUMNS);
    return Array.from({ length: Math.ceil((last - first + 1) / step) }, (_, at) => {
      const from = first + at * step;
      const counts = Array.from({ length: step }, (_, next) => this.#counts.get(from + next) ?? 0);
      const sum = counts.reduce((total, count) => total + count, 0);
      return { count: Math.round((sum / step) * 10) / 10, sum, label: this.#label(from) };
    });
  }

  /** The current minute, unless the messages are so old that the chart would be empty. */
  #clock(minutes: readonly number[]): number {
    const now = Math.floor(Date.now() / MINUTE_MS);
    return now - Math.max(...minutes) < MAX_LIVE ? now : Number.NEGATIVE_INFINITY;
  }

  #label(minute: number): string {
    if (!this.#isReplay)
      return new Date(minute * MINUTE_MS).toLocaleTimeString("en", { hour: "numeric", minute: "2-digit" });
    const distance = Math.abs(minute);
    const time = `${Math.floor(distance / 60)}:${String(distance % 60).padStart(2, "0")}:00`;
    return minute < 0 ? `-${time}` : time;
  }
}
