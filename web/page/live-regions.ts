/**
 * Lets a screen reader announce new rows only while they arrive slowly enough to be heard: all logs in view
 * share what it can say. If the reader has chosen to have messages read aloud, a voice of its own does it.
 */
import type { Row } from "../chat/chat-rows.ts";
import type { Aloud } from "./aloud.ts";

const WINDOW_MS = 3000;
const MAX_PER_SECOND = 2;

/** A log that has been connected once since its chat was opened. */
interface Region {
  /** When rows came, within the window. */
  arrivals: number[];
  quietUntil: number;
  /** The rows before are those that the chat begins with: the voice leaves them out. */
  saidFrom: number;
}

export class LiveRegions {
  readonly #regions = new Map<HTMLElement, Region>();
  #isAloud = false;
  #voice: Aloud | undefined;

  constructor() {
    setInterval(() => this.#update(), 500);
  }

  /** Whether messages are read aloud. */
  async read(isAloud: boolean): Promise<void> {
    if (isAloud === this.#isAloud) return;
    this.#isAloud = isAloud;
    this.#voice?.stop();
    this.#voice = undefined;
    this.#update();
    const { Aloud } = isAloud ? await import("./aloud.ts") : {};
    if (Aloud && this.#isAloud) this.#voice ??= new Aloud();
  }

  /** A row that the filters show has come. `apply` changes it as later messages ask for it. */
  say(log: HTMLElement, row: Row, apply: (row: Row) => void): void {
    const { saidFrom = 0 } = this.#regions.get(log) ?? {};
    if (performance.now() >= saidFrom) this.#voice?.say({ log, row, apply });
  }

  /** Messages may have been deleted that are read aloud. */
  check(): void {
    this.#voice?.check();
  }

  /** Another chat begins in this list. */
  clear(log: HTMLElement): void {
    this.#voice?.clear(log);
    this.#regions.delete(log);
  }

  /** A backfill begins, or messages that a lost connection has missed: its rows are not announced. */
  opened(log: HTMLElement): void {
    const quietUntil = performance.now() + WINDOW_MS;
    const { arrivals = [], saidFrom = quietUntil } = this.#regions.get(log) ?? {};
    this.#regions.set(log, { arrivals, quietUntil, saidFrom });
    this.#update();
  }

  came(log: HTMLElement, count: number): void {
    const now = performance.now();
    const { arrivals } = this.#regions.get(log) ?? {};
    for (let each = 0; each < Math.min(count, 100); each += 1) arrivals?.push(now);
    this.#update();
  }

  #update(): void {
    const now = performance.now();
    let heard = 0;
    for (const [log, region] of this.#regions) {
      region.arrivals = region.arrivals.filter((at) => at > now - WINDOW_MS);
      if (log.checkVisibility({ visibilityProperty: true })) heard += region.arrivals.length;
    }
    const isSlow = heard <= (MAX_PER_SECOND * WINDOW_MS) / 1000;
    for (const [log, { quietUntil }] of this.#regions) {
      const live = isSlow && now >= quietUntil && !this.#isAloud ? "polite" : "off";
      if (log.getAttribute("aria-live") !== live) log.setAttribute("aria-live", live);
    }
  }
}
