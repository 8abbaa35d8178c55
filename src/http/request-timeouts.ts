/** How long a request may take to arrive. */
export interface RequestTimeouts {
  /** For its headers. */
  headersMs: number;
  /** For all of it. */
  requestMs: number;
  /** The interval at which Node looks for late requests. */
  checkMs: number;
}

/** No browser is slower. */
export const REQUEST_TIMEOUTS: RequestTimeouts = { headersMs: 10_000, requestMs: 15_000, checkMs: 1000 };
