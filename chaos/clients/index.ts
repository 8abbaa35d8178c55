/** The kinds of foreign clients, by name. */
import type { Random } from "../../src/simulator/random.ts";
import type { Client, Wish, Witness } from "../client.ts";
import { CurlLine } from "./curl-line.ts";
import { EventSourceLine } from "./eventsource-line.ts";
import { RawLine } from "./raw-line.ts";
import { type Dial, ReturningClient } from "./returning-client.ts";

export { hasCurl } from "./curl-line.ts";

const DIALS: Record<Client["kind"], Dial> = {
  raw: (call) => new RawLine(call),
  curl: (call) => new CurlLine(call),
  eventsource: (call) => new EventSourceLine(call),
};

/**
 * A viewer that connects at once, and again whenever its connection ends, until it leaves.
 * `base`: where the service listens, over all its restarts. `random` draws its waits.
 */
export function newClient(
  kind: Client["kind"],
  base: string,
  wish: Wish,
  witness: Witness,
  random: Random,
): Client {
  return new ReturningClient(kind, DIALS[kind], base, wish, witness, random);
}
