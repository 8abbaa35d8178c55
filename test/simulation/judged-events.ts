/** The events of an instance or an edge, and its log: counted where a run must have had them, and judged. */
import { pino } from "pino";
import type { Logger } from "../../src/telemetry/logger.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import type { Journal } from "../harness/journal.ts";
import { whenever } from "../harness/whenever.ts";

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
  constructor({ log, journal, isAlone, throttled }: JudgedEventsParts) {
    super(log);
    this.mark = (mark) => journal.mark(mark);
    whenever(this.upstream, "throttled", (_egress, cooldownMs) => throttled?.(cooldownMs));
    whenever(this.store, "pruned", (entries) => {
      // A run is much shorter than the retention.
      if (entries > 0)
        journal.violate("retention", "", `${entries} messages or rooms deleted by a wrong clock`);
    });
    whenever(this.rooms, "givenWay", (videoId) => {
      journal.count("rooms left to others");
      if (isAlone) journal.violate("health", videoId, "left to another instance, and there is none");
    });
    whenever(this.rooms, "broken", (videoId, error) => {
      if (!`${error}`.includes(LATE_STOP)) journal.violate("health", videoId, `room broken: ${error}`);
    });
  }
}

/** The errors that faults of a run explain, and those that `broken` judges. */
const EXPLAINED =
  /^(upstream unavailable|no egress reaches YouTube|the store failed|room failed|room broken)\b/;

/** Any other error in it is a bug, which the service may outlive unseen. `name`: of its process. */
export function judgedLog(name: string, journal: Journal): Logger {
  const write = (line: string) => {
    journal.note(`log${name && ` ${name}`} ${line.trimEnd()}`);
    if (!/^\{"level":[56]0,/.test(line)) return;
    const { msg, videoId = "", task = "", err } = JSON.parse(line);
    if (!EXPLAINED.test(msg))
      journal.violate("health", videoId, `logged: ${msg}: ${task} ${err?.stack ?? ""}`);
  };
  return pino({ level: "info", base: null, timestamp: false }, { write });
}
