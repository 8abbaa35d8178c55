/** Upstream actions that became no message, in log and metrics, as their readers report them. */
import type { Counter } from "prom-client";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

/** Why actions of a known kind became no message; `bug`: one of our readers failed. */
const KNOWN_DROP_REASONS = ["broken", "silent", "bug"] as const;
const DROP_REASONS = ["unknown", ...KNOWN_DROP_REASONS] as const;

export type DropReason = (typeof DROP_REASONS)[number];

/** Why actions of one kind became no message. */
export interface DroppedActions {
  reason: Exclude<DropReason, "bug">;
  count: number;
  /** The first of them as JSON, shortened. */
  sample: string;
}

/** An action for which one of our readers failed. */
export interface ReaderBug {
  kind: string;
  error: unknown;
  /** The action as JSON, shortened. */
  sample: string;
}

/** The upstream adds kinds freely; metrics show about this many by name and the rest as `OTHER_KINDS`. */
const MAX_KINDS = 200;
const OTHER_KINDS = "other";

export class ActionEvents {
  readonly #log: Logger;
  readonly #count: Counter<"kind" | "reason">;
  readonly #known = new Set<string>();
  readonly #seen = new Set<string>();
  readonly #buggy = new Set<string>();

  constructor(log: Logger, { reading }: MetricMakers) {
    this.#log = log;
    this.#count = reading.counter(
      "relay_dropped_actions_total",
      "Upstream actions that became no message, by kind and reason",
      ["kind", "reason"],
    );
    for (const reason of DROP_REASONS) this.#count.inc({ kind: OTHER_KINDS, reason }, 0);
  }

  /** The kinds of actions that have readers: each is counted by its name, from zero. */
  known(kinds: Iterable<string>): void {
    for (const kind of kinds) {
      this.#known.add(kind);
      for (const reason of KNOWN_DROP_REASONS) this.#count.inc({ kind, reason }, 0);
    }
  }

  dropped(dropped: ReadonlyMap<string, DroppedActions>): void {
    for (const [kind, { reason, count, sample }] of dropped) {
      if (this.#counted(this.#seen, kind, reason, count) && reason !== "silent") {
        this.#log.warn({ kind, reason, sample }, "an upstream action was not relayed");
      }
    }
  }

  /** A bug in a reader: logged with its stack the first time that a kind shows it. */
  readerFailed({ kind, error, sample }: ReaderBug): void {
    if (this.#counted(this.#buggy, kind, "bug", 1)) {
      this.#log.error(
        { kind, sample, err: error },
        "a reader failed on an upstream action, which was not relayed",
      );
    }
  }

  /** Whether the kind is counted by its name for the first time. */
  #counted(seen: Set<string>, kind: string, reason: DropReason, count: number): boolean {
    const isNew = !seen.has(kind);
    const isNamed = !isNew || this.#known.has(kind) || seen.size < MAX_KINDS;
    this.#count.inc({ kind: isNamed ? kind : OTHER_KINDS, reason }, count);
    if (isNamed) seen.add(kind);
    return isNew && isNamed;
  }
}
