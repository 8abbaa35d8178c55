/** Keeps each request to the upstream with its answer, as it passes through the connections of an egress. */
import type { Clock } from "../../base/clock.ts";
import type { Connections, OutgoingRequest } from "../../upstream/egress/connections.ts";

/** A request and its answer. */
export interface LoggedExchange {
  request: OutgoingRequest;
  /** Undefined if no answer came, or not all of it. */
  answer?: {
    status: number;
    /** Header names in lower case. */
    header(name: string): string | undefined;
    text: string;
    /** Wall time in milliseconds. */
    receivedAt: number;
  };
  /** In milliseconds. */
  tookMs: number;
}

export class ExchangeLog {
  readonly all: LoggedExchange[] = [];
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Hears each exchange when it has ended. */
  onExchange: (exchange: LoggedExchange) => void = () => {};

  /** The same connections, whose exchanges are kept. */
  around(connections: Connections): Connections {
    return {
      open: () => connections.open(),
      proxyOf: (hostname) => connections.proxyOf?.(hostname),
      close: () => connections.close(),
      request: async (request, signal, onSent) => {
        const beganAt = this.#clock.monotonic();
        const ended = (given: Pick<LoggedExchange, "answer"> = {}) => {
          const exchange = { request, ...given, tookMs: Math.round(this.#clock.monotonic() - beganAt) };
          this.all.push(exchange);
          this.onExchange(exchange);
        };
        const failed = (error: unknown): never => {
          ended();
          throw error;
        };
        const begun = await connections.request(request, signal, onSent).catch(failed);
        const { status } = begun;
        const header = (name: string) => begun.header(name);
        const body = async () => {
          const bytes = await begun.body().catch(failed);
          ended({ answer: { status, header, text: bytes.toString(), receivedAt: this.#clock.now() } });
          return bytes;
        };
        return { status, header, body };
      },
    };
  }
}
