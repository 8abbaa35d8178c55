/** The clients by kind. */
import type { Random } from "../../src/simulator/random.ts";
import { Client, type ClientKind, type Connect } from "./client.ts";
import { CurlConnection } from "./curl-connection.ts";
import { EventSourceConnection } from "./eventsource-connection.ts";
import { HttpConnection } from "./http-connection.ts";
import type { ClientOptions, Observer } from "./observer.ts";

const CONNECTIONS: Record<ClientKind, Connect> = {
  http: (context) => new HttpConnection(context),
  curl: (context) => new CurlConnection(context),
  eventsource: (context) => new EventSourceConnection(context),
};

/**
 * A viewer that connects at once, and again whenever its connection ends, until it leaves.
 * `base` says where the service listens now. `random` draws its waits.
 */
export function newClient(
  kind: ClientKind,
  base: () => string,
  options: ClientOptions,
  observer: Observer,
  random: Random,
): Client {
  return new Client(kind, CONNECTIONS[kind], base, options, observer, random);
}
