/** Upstream actions that became no message, in log and metrics, as their readers report them. */
import type { Counter } from "prom-client";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

/** Why actions of a known kind became no message; `bug`: one of our readers failed. */
const KNOWN_DROP_REASONS = ["broken", "silent", "bug"] as const;
const DROP_REASONS = ["unknown", ...KNOWN_DROP_REASONS] as const;

export type DropReason = (typeof DROP_REASONS)[number];

/** Actions of one kind that became no message for one reason. */
export interface DroppedActions {
  kind: string;
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
/** The name of all kinds that are not counted by their own. */
export const OTHER_KINDS = "other";

export class ActionEvents {
  readonly #log: Logger;
  readonly #count: Counter<"kind" | "reason">;
  readonly #known = new Set<string>();
  /** Kinds and reasons that have been counted by name. */
  readonly #seen = new Set<string>();

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

  dropped(dropped: readonly DroppedActions[]): void {
    for (const { kind, reason, count, sample } of dropped) {
      if (this.#isFirst(kind, reason, count) && reason !== "silent") {
        this.#log.warn({ kind, reason, sample }, "an upstream action was not relayed");
      }
    }
  }

  /** A bug in a reader: logged with its stack the first time that a kind shows it. */
  readerFailed({ kind, error, sample }: ReaderBug): void {
    if (this.#isFirst(kind, "bug", 1)) {
      this.#log.error(
        { kind, sample, err: error },
        "a reader failed on an upstream action, which was not relayed",
      );
    }
  }

  /** Counts the actions. Returns whether they are the first that are counted by this kind and reason. */
  #isFirst(kind: string, reason: DropReason, count: number): boolean {
    const name = `${reason} ${kind}`;
    const isNew = !this.#seen.has(name);
    const isNamed = !isNew || this.#known.has(kind) || this.#seen.size < MAX_KINDS;
    this.#count.inc({ kind: isNamed ? kind : OTHER_KINDS, reason }, count);
    if (isNamed) this.#seen.add(name);
    return isNew && isNamed;
  }
}
