/**
 * What a run has found: figures for people to read, and the promises that were broken, each in a plain
 * sentence.
 */
export class Report {
  readonly #figures: Record<string, number | string> = {};
  readonly #broken: string[] = [];

  figure(name: string, value: number | string): void {
    this.#figures[name] = typeof value === "number" ? Math.round(value * 10) / 10 : value;
  }

  /** Judges a promise; `otherwise` describes the violation. */
  promise(holds: boolean, otherwise: string): void {
    if (!holds) this.#broken.push(otherwise);
  }

  get isGood(): boolean {
    return this.#broken.length === 0;
  }

  /** A table of the figures, and the broken promises. */
  toString(): string {
    const width = Math.max(0, ...Object.keys(this.#figures).map(({ length }) => length));
    const rows = Object.entries(this.#figures).map(([name, value]) => `${name.padEnd(width)}  ${value}`);
    const verdict = this.isGood ? ["all promises kept"] : this.#broken.map((what) => `BROKEN: ${what}`);
    return [...rows, "", ...verdict].join("\n");
  }
}
