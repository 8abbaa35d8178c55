/**
 * What a run has found: figures for people to read, and the promises that were broken, each in a plain
 * sentence.
 */
import type { Percentiles } from "./delays.ts";

export class Report {
  readonly #figures: Record<string, number | string> = {};
  readonly #broken: string[] = [];

  figure(name: string, value: number | string): void {
    this.#figures[name] = typeof value === "number" ? Math.round(value * 10) / 10 : value;
  }

  /** Times in milliseconds, as `p50 / p99 / max`. */
  times(name: string, { count, p50, p99, max }: Percentiles): void {
    this.figure(name, `${[p50, p99, max].map(Math.round).join(" / ")}  (${count})`);
  }

  /** Judges a promise; `otherwise` describes the violation. */
  promise(holds: boolean, otherwise: string): void {
    if (!holds) this.#broken.push(otherwise);
  }

  /** Each fault that was counted breaks a promise; `where` says among whom. */
  faults(counts: Readonly<Record<string, number>>, where: string): void {
    for (const [what, count] of Object.entries(counts))
      this.promise(false, `${what}: ${count} times ${where}`);
  }

  get isGood(): boolean {
    return this.#broken.length === 0;
  }

  toJSON() {
    return { figures: this.#figures, broken: this.#broken };
  }

  /** A table of the figures, and the broken promises. */
  toString(): string {
    const width = Math.max(0, ...Object.keys(this.#figures).map(({ length }) => length));
    const rows = Object.entries(this.#figures).map(([name, value]) => `${name.padEnd(width)}  ${value}`);
    const verdict = this.isGood ? ["all promises kept"] : this.#broken.map((what) => `BROKEN: ${what}`);
    return [...rows, "", ...verdict].join("\n");
  }
}
