/**
 * The driver's side of faults inside the service: which there are, how one is ordered, and the proof that it
 * happened. An order is a file named after it in a folder of its own; `fault-injector.preload.ts`, within the
 * service, removes the file, adds a line to the journal next to it, then acts.
 */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atExit } from "./at-exit.ts";

/** Where the service kills itself, along the way of a message. */
export const KILL_POINTS = [
  /** An appended batch with messages is about to be handed to the store's thread. */
  "before-append",
  /** The store's thread has such a batch in its transaction, and is about to commit it. */
  "in-transaction",
  /** It has committed, and not yet answered. */
  "after-commit",
  /** The store has its answer, and none of the room's followers knows of it. */
  "before-publish",
  /** One viewer has half of a message's frame. */
  "half-frame",
] as const;
export type KillPoint = (typeof KILL_POINTS)[number];

/** Where the store's thread exits, and only that. */
export const THREAD_DEATHS = ["thread-death-in-transaction", "thread-death-after-commit"] as const;
type ThreadDeath = (typeof THREAD_DEATHS)[number];

/** All faults, with the parameters of an order besides the name. */
export type Orders = Record<KillPoint | ThreadDeath, []> & {
  /** This number of commits of messages take this much longer. */
  "slow-commit": [ms: number, count: number];
  /** The main thread blocks, from the next append on. */
  "stall-loop": [ms: number];
};
export type InjectedFault = keyof Orders;

/** The environment variable that passes the folder to `fault-injector.preload.ts`. */
export const FOLDER_VARIABLE = "CHAOS_FAULTS";
/** The journal in that folder; no fault has this name. */
export const JOURNAL = "journal";

export class FaultInjector {
  readonly #folder = mkdtempSync(join(tmpdir(), "relay-faults-"));
  readonly #drafts = join(this.#folder, "drafts");
  readonly #cancelExit = atExit(() => this.close());
  readonly #preloads: readonly string[];

  /** `preloads`: further modules for the service, by the names of their files in this folder. */
  constructor(preloads: readonly string[] = []) {
    this.#preloads = ["./fault-injector.preload.ts", ...preloads];
    mkdirSync(this.#drafts);
    writeFileSync(join(this.#folder, JOURNAL), "");
  }

  /** What takes an injector into a service that is begun with this environment. */
  get environment(): Record<string, string> {
    const imports = this.#preloads.map((name) => `--import=${new URL(name, import.meta.url).href}`);
    return { NODE_OPTIONS: imports.join(" "), [FOLDER_VARIABLE]: this.#folder };
  }

  /** Orders a fault, to be carried out once, the next time that the service comes to its place. */
  arm<S extends InjectedFault>(name: S, ...details: Orders[S]): void {
    const draft = join(this.#drafts, name);
    writeFileSync(draft, details.join(" "));
    renameSync(draft, join(this.#folder, name));
  }

  /** Takes back an order, if it was not carried out yet. */
  disarm(name: InjectedFault): void {
    rmSync(join(this.#folder, name), { force: true });
  }

  /**
   * How many times each was carried out, and of a slow commit each one that was slow; what never was is not
   * there.
   */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const name of readFileSync(join(this.#folder, JOURNAL), "utf8").split("\n").slice(0, -1))
      counts.set(name, (counts.get(name) ?? 0) + 1);
    return counts;
  }

  /** Removes the folder; the service must be gone. */
  close(): void {
    this.#cancelExit();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
