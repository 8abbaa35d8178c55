/** What a run has come to: how often each thing happened, and what must never happen, by the judge that saw it. */
export class Facts {
  readonly violations: string[] = [];
  readonly counts = new Map<string, number>();

  count(name: string, by = 1): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + by);
  }

  /** Of what was measured several times, the most. */
  most(name: string, value: number): void {
    this.counts.set(name, Math.max(this.counts.get(name) ?? 0, Math.round(value)));
  }

  violate(judge: string, what: string): void {
    this.violations.push(`${judge}: ${what}`);
  }
}
