/** The events of an instance or an edge: counted where a run must have had them, and judged. */
import type { Journal } from "../harness/journal.ts";
import type { Logger } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";

interface JudgedEventsParts {
  log: Logger;
  journal: Journal;
  /** Whether no other instance writes to its store. */
  isAlone: boolean;
  /** An egress makes no calls for this time, in milliseconds. */
  throttled?(cooldownMs: number): void;
}

/** A stop that took too long may break a room. */
const LATE_STOP = "not done within";

export class JudgedEvents extends Telemetry {
  readonly #parts: JudgedEventsParts;

  constructor(parts: JudgedEventsParts) {
    super(parts.log);
    this.#parts = parts;
    this.mark = (mark) => parts.journal.mark(mark);
  }

  override throttled(...event: Parameters<Telemetry["throttled"]>): void {
    super.throttled(...event);
    const [, cooldownMs] = event;
    this.#parts.throttled?.(cooldownMs);
  }

  override roomGivenWay(videoId: string): void {
    super.roomGivenWay(videoId);
    const { journal, isAlone } = this.#parts;
    journal.count("rooms left to others");
    if (isAlone) journal.violate(videoId, "left to another instance, and there is none");
  }

  override roomBroken(videoId: string, error: unknown): void {
    super.roomBroken(videoId, error);
    if (!`${error}`.includes(LATE_STOP)) this.#parts.journal.violate(videoId, `room broken: ${error}`);
  }

  override taskFailed(task: string, error: unknown): void {
    super.taskFailed(task, error);
    const what = error instanceof Error ? error.stack : error;
    this.#parts.journal.violate("", `a background task failed: ${task}: ${what}`);
  }

  override readerFailed(bug: Parameters<Telemetry["readerFailed"]>[0]): void {
    super.readerFailed(bug);
    this.#parts.journal.violate("", `a reader failed: ${bug.error}`);
  }
}
