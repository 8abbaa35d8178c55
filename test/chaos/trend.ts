/**
 * Decides whether a gauge grows: compares the median of its second quarter with that of its last. Caches fill
 * in the first quarter. A median ignores peaks, and sawtooth patterns shorter than a quarter.
 */

export interface Sample {
  minute: number;
  value: number;
}

/**
 * Maximum excess of the last quarter over the second: a share of it, plus an absolute amount for the noise of
 * small figures.
 */
export interface Bound {
  share: number;
  allowance: number;
}

interface Trend {
  min: number;
  median: number;
  max: number;
  /**
   * The median slope between two samples after the first quarter (Theil and Sen): a few outliers do not move
   * it.
   */
  perHour: number;
  /** Medians of the second and the last quarter. */
  second: number;
  last: number;
}

/** Throws `RangeError` where a quarter has no sample. */
export function trendOf(samples: readonly Sample[], minutes: number): Trend {
  const quarter = (from: number, to: number) =>
    samples.filter(({ minute }) => minute >= (from * minutes) / 4 && minute < (to * minutes) / 4);
  const settled = quarter(1, Number.POSITIVE_INFINITY);
  const slopes = settled.flatMap((from, i) =>
    settled.slice(i + 1).map((to) => (60 * (to.value - from.value)) / (to.minute - from.minute)),
  );
  const values = settled.map(({ value }) => value);
  return {
    min: values.reduce((least, value) => Math.min(least, value)),
    median: median(values),
    max: values.reduce((most, value) => Math.max(most, value)),
    perHour: median(slopes),
    second: median(quarter(1, 2).map(({ value }) => value)),
    last: median(quarter(3, Number.POSITIVE_INFINITY).map(({ value }) => value)),
  };
}

export function grows({ second, last }: Trend, { share, allowance }: Bound): boolean {
  return last > second * (1 + share) + allowance;
}

function median(values: readonly number[]): number {
  const middle = Float64Array.from(values).sort()[Math.floor(values.length / 2)];
  if (middle === undefined) throw new RangeError("too few samples");
  return middle;
}
