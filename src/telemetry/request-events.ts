/** The events of requests that were refused or failed, in log and metrics. */
import type { Counter } from "prom-client";
import {
  CAPACITY_CAUSES,
  type CapacityCause,
  CapacityError,
  type CapacityRow,
} from "../protocol/capacity.ts";
import { ERRORS, type RelayError } from "../protocol/errors.ts";
import type { Logger } from "./logger.ts";
import type { MetricMakers } from "./metric-makers.ts";

export class RequestEvents {
  readonly #log: Logger;
  readonly #errors: Counter<"code">;
  readonly #atCapacity: Counter<"cause">;
  /** The number of refusals with CAPACITY, by cause. */
  readonly #refused = new Map<CapacityCause, number>();

  constructor(log: Logger, { all }: MetricMakers) {
    this.#log = log;
    this.#errors = all.counterBy(
      "relay_request_errors_total",
      "Requests that were refused or failed, by code",
      "code",
      Object.keys(ERRORS),
    );
    this.#atCapacity = all.counterBy(
      "relay_capacity_refusals_total",
      "Requests, and chats of connections with several, that were refused with CAPACITY, by cause",
      "cause",
      Object.keys(CAPACITY_CAUSES),
    );
  }

  /** A request was answered with an error. Callers' mistakes are counted, but not logged. */
  refused(error: Pick<RelayError, "code">): void {
    this.#errors.inc({ code: error.code });
    this.atCapacity(error);
  }

  /**
   * A request, or a chat of a connection that has several, was refused; counted if it is with CAPACITY. The
   * log has the first refusal for each cause, the tenth, the hundredth, and so on.
   */
  atCapacity(error: object): void {
    if (!(error instanceof CapacityError)) return; // or it is another service's: that one counts it
    const { capacityCause: cause } = error;
    this.#atCapacity.inc({ cause });
    const refused = (this.#refused.get(cause) ?? 0) + 1;
    this.#refused.set(cause, refused);
    const { message, setting }: CapacityRow = CAPACITY_CAUSES[cause];
    if (Number.isInteger(Math.log10(refused)))
      this.#log.warn({ cause, refused, setting }, `at capacity: ${message}`);
  }

  /** A request failed by our fault; `route` is undefined if none matched. */
  failed(error: unknown, route: string | undefined): void {
    this.#log.error({ err: error, route }, "a request failed");
  }

  proxyNotTrusted(): void {
    this.#log.warn(
      "a request has X-Forwarded-For, but RELAY_TRUST_PROXY is 0: behind a proxy, all viewers share one address, and its RELAY_MAX_VIEWERS_PER_ADDRESS",
    );
  }
}
