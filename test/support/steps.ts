/**
 * Counts the steps of code, so that a test can compare the work for small and large crowds without a clock.
 * A step is one run of a block or function of `src/`, as V8 counts it for coverage, one element that a method
 * of an array goes through by itself, or one listener that a signal compares when one is added or removed.
 *
 * A file that counts needs a process of its own (`ALONE` in test/run.ts): V8 counts the blocks of functions
 * that are compiled from now on, and of others only if it happens to compile them again.
 */
import { getEventListeners } from "node:events";
import { Session } from "node:inspector/promises";

/** Methods that go through an array without calling anything back. */
const SILENT = ["indexOf", "includes", "splice", "shift", "unshift"] as const;
const LISTENING = ["addEventListener", "removeEventListener"] as const;

// From here on, so that functions are compiled with counters of their blocks.
const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });

/**
 * The number of steps that `act` takes. One at a time: it replaces methods of arrays and signals meanwhile.
 */
export async function stepsOf(act: () => Promise<void>): Promise<number> {
  using counting = new Counting();
  await counting.start();
  await act();
  return counting.steps();
}

/** Call it after the last count: code that counts its steps takes a fifth more time. */
export async function stopCounting(): Promise<void> {
  await session.post("Profiler.stopPreciseCoverage");
}

class Counting implements Disposable {
  readonly #restored: (() => void)[] = [];
  #silent = 0;

  async start(): Promise<void> {
    await session.post("Profiler.takePreciseCoverage"); // sets the counts to zero
    const count = (steps: number) => {
      this.#silent += steps;
    };
    for (const name of SILENT)
      this.#replace(Array.prototype, name, (list) => count((list as unknown[]).length));
    for (const name of LISTENING) {
      this.#replace(EventTarget.prototype, name, (target) =>
        count(getEventListeners(target as EventTarget, "abort").length),
      );
    }
  }

  async steps(): Promise<number> {
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const ranges = result
      .filter(({ url }) => url.includes("/src/"))
      .flatMap(({ functions }) => functions.flatMap(({ ranges }) => ranges));
    return ranges.reduce((sum, { count }) => sum + count, this.#silent);
  }

  #replace(prototype: object, name: string, before: (target: unknown) => void): void {
    const original: unknown = Reflect.get(prototype, name);
    if (typeof original !== "function") throw new Error(`${name} is no method`);
    const replaced = function (this: unknown, ...args: unknown[]): unknown {
      before(this);
      return Reflect.apply(original, this, args);
    };
    Object.defineProperty(prototype, name, { value: replaced, configurable: true, writable: true });
    this.#restored.push(() => {
      Object.defineProperty(prototype, name, { value: original, configurable: true, writable: true });
    });
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restored) restore();
  }
}
