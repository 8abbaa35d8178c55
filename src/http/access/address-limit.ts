/**
 * Limits the number of viewers per address. It remembers an address only while the address has viewers. Whose
 * address a request has behind proxies, `server.ts` decides (`trustProxy`).
 */
import { isIPv4, isIPv6 } from "node:net";
import { Counts } from "../../base/key-counts.ts";
import { atCapacity } from "../../protocol/capacity.ts";

const UNLIMITED = () => {};

export class AddressLimit {
  readonly #max: number;
  readonly #viewers = new Counts<string>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Takes a place, or several. The returned function gives them back, at most once. Throws `RelayError`
   * CAPACITY if not enough places are free.
   */
  take(caller: { readonly ip: string }, count = 1): () => void {
    if (this.#max === Number.POSITIVE_INFINITY) return UNLIMITED; // without asking the system for the address
    const network = networkOf(caller.ip);
    const viewers = this.#viewers.of(network);
    if (viewers + count > this.#max) {
      const message = `One address may have ${this.#max} viewers: yours has ${viewers}, and this stream counts as ${count}.`;
      throw atCapacity("address", message);
    }
    return this.#viewers.take(network, count);
  }
}

/** For all that a proxy names in place of an address. */
const NO_ADDRESS = "unknown";
/** An address in `X-Forwarded-For` may have a port, and brackets around it. */
const DECORATED = /^\[(?<six>[^\]]*)\](?::\d+)?$|^(?<four>[\d.]+):\d+$/;
/** The network of an IPv6 address, as `networkOf` writes it: an edge sends it to its origin. */
const NETWORK = /^[\da-f]{1,4}(?::[\da-f]{1,4}){3}$/;

/**
 * The part of an address that one household shares: an IPv4 address, or the first 64 bits of an IPv6 address.
 * The address may have a port and brackets. Everything else counts as one address.
 */
export function networkOf(text: string): string {
  const { six, four } = DECORATED.exec(text.trim())?.groups ?? {};
  const address = six ?? four ?? text.trim();
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined || isIPv4(address) || NETWORK.test(address)) return mapped ?? address;
  if (!isIPv6(address)) return NO_ADDRESS;
  const [start = "", end] = (address.split("%")[0] ?? "").split("::");
  const head = start.split(":").filter((group) => group !== "");
  const tail = end?.split(":").filter((group) => group !== "") ?? [];
  const groups =
    end === undefined ? head : [...head, ...Array(8 - head.length - tail.length).fill("0"), ...tail];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(":");
}
