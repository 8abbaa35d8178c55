/** The results of a run: a count of each kind of event, and the violations by the judge that found them. */
export class Facts {
  readonly violations: string[] = [];
  readonly counts = new Map<string, number>();

  count(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by);
  }

  /** The maximum of repeated measurements. */
  most(name: string, value: number): void {
    this.counts.set(name, Math.max(this.counts.get(name) ?? 0, Math.round(value)));
  }

  violate(judge: string, what: string): void {
    this.violations.push(`${judge}: ${what}`);
  }
}
