/**
 * The maximum number of requests per address and time: the upstream counts by address, and throttles
 * addresses that exceed it.
 */

export interface AddressLimitOptions {
  requests: number;
  everyMs: number;
}

export class AddressLimit {
  readonly #options: AddressLimitOptions;
  /** The times of each address's recent requests, oldest first. */
  readonly #arrivals = new Map<string, number[]>();

  constructor(options: AddressLimitOptions) {
    this.#options = options;
  }

  /** Whether this request exceeds the address's limit; it counts even then. */
  exceeds(address: string, now: number): boolean {
    const { requests, everyMs } = this.#options;
    const recent = (this.#arrivals.get(address) ?? []).filter((at) => now - at < everyMs);
    this.#arrivals.set(address, [...recent, now]);
    return recent.length >= requests;
  }
}
