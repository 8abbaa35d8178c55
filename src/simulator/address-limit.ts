/** How many requests an address may make in a time: the upstream counts by address, and throttles those that make more. */

export interface AddressLimitOptions {
  requests: number;
  everyMs: number;
}

export class AddressLimit {
  readonly #options: AddressLimitOptions;
  /** When the last requests of each address came, oldest first. */
  readonly #arrivals = new Map<string, number[]>();

  constructor(options: AddressLimitOptions) {
    this.#options = options;
  }

  /** Whether a request of the address at this time is one too many; it counts all the same. */
  exceeds(address: string, now: number): boolean {
    const { requests, everyMs } = this.#options;
    const recent = (this.#arrivals.get(address) ?? []).filter((at) => now - at < everyMs);
    this.#arrivals.set(address, [...recent, now]);
    return recent.length >= requests;
  }
}
