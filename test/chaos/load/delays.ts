/**
 * A meter of times in milliseconds. It collects them one by one and reports their percentiles. A report
 * clears the meter, so that phases of a run can be compared.
 */

/** Milliseconds; all 0 if nothing was measured. */
export interface Percentiles {
  count: number;
  p50: number;
  p99: number;
  max: number;
}

export class Delays {
  #ms: number[] = [];

  add(ms: number): void {
    this.#ms.push(ms);
  }

  /** The percentiles since the last call. */
  take(): Percentiles {
    const sorted = Float64Array.from(this.#ms).sort();
    this.#ms = [];
    const at = (share: number) => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
    return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: at(1) };
  }
}
