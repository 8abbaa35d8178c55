/** When a room is polled next, as its answers tell; its gate learns it, and a chat that is read too slowly shows. */
import type { Clock } from "../clock.ts";
import type { Telemetry } from "../telemetry/telemetry.ts";
import type { Demand } from "../upstream/egress/capacity.ts";
import type { Passage } from "../upstream/egress/room-egress.ts";
import type { Batch } from "../upstream/live-chat.ts";
import { type IntervalSettings, waitAfter } from "./interval.ts";

/** A live answer of so many actions came too late: the upstream gives about 200, and drops what is older. */
const FULL_ACTIONS = 150;
const FULL_LOG_INTERVAL_MS = 60_000;

export interface PaceSettings extends IntervalSettings {
  /** How long the upstream holds what was said, in milliseconds. */
  windowMs: number;
  /** The videos whose chats are recorded. */
  recorded: ReadonlySet<string>;
}

export interface PaceParts {
  passage: Passage;
  settings: PaceSettings;
  clock: Clock;
  telemetry: Telemetry;
}

export class Pace {
  readonly #videoId: string;
  readonly #parts: PaceParts;
  #intervalMs: number;
  #fullLoggedAt = Number.NEGATIVE_INFINITY;
  /** How many answers came full since the reading began. */
  fullAnswers = 0;

  /** `intervalMs`: 0 where it is not known. */
  constructor(videoId: string, isReplay: boolean, intervalMs: number, parts: PaceParts) {
    this.#videoId = videoId;
    this.#parts = parts;
    this.#intervalMs = intervalMs;
    this.#ask(isReplay);
  }

  /** From the start of one poll to that of the next, in milliseconds. */
  get intervalMs(): number {
    return this.#intervalMs;
  }

  observe(batch: Batch): void {
    const { clock, settings, telemetry } = this.#parts;
    const isReplay = batch.position.chatType === "liveChatReplayRenderer";
    this.#intervalMs = waitAfter(batch, settings);
    this.#ask(isReplay);
    if (isReplay || batch.actionCount < FULL_ACTIONS) return;
    this.fullAnswers += 1;
    const now = clock.monotonic();
    const isNews = now - this.#fullLoggedAt >= FULL_LOG_INTERVAL_MS;
    if (isNews) this.#fullLoggedAt = now;
    telemetry.answerFull(this.#videoId, batch.actionCount, isNews);
  }

  #ask(isReplay: boolean): void {
    const { passage, settings } = this.#parts;
    passage.ask(demandOf(this.#videoId, isReplay, this.#intervalMs || undefined, settings));
  }
}

/** What a room asks of its gate. */
export function demandOf(
  videoId: string,
  isReplay: boolean,
  intervalMs: number | undefined,
  { windowMs, recorded }: Pick<PaceSettings, "windowMs" | "recorded">,
): Demand {
  const isFirst = recorded.has(videoId);
  return { intervalMs, windowMs: isReplay ? Number.POSITIVE_INFINITY : windowMs, isFirst };
}
