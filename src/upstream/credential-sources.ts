/**
 * The sources of a bootstrap's credentials: `sw.js`, `sw.js_data` and the pages. A chat that is reopened uses
 * the credentials that its egress knows, unless they were refused or are too old.
 */
import type { Clock } from "../base/clock.ts";
import { RelayError } from "../protocol/errors.ts";
import {
  type Credentials,
  credentialsInServiceWorker,
  credentialsInServiceWorkerData,
  type FoundCredentials,
} from "./page/credentials.ts";
import type { PageLoads } from "./page-loads.ts";
import { UpstreamError } from "./upstream-error.ts";

/** The upstream replaces its client version every few hours, and still accepts the previous ones. */
const KEPT_MS = 3_600_000;

/** The latest API key and client version. A visitor belongs to its page and is not kept. */
export class KeptCredentials {
  readonly #clock: Clock;
  #kept: { credentials: FoundCredentials; at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined if none are known, or if they are too old. */
  get(): FoundCredentials | undefined {
    if (!this.#kept || this.#clock.monotonic() - this.#kept.at >= KEPT_MS) return undefined;
    return this.#kept.credentials;
  }

  keep({ apiKey, clientVersion }: Credentials): void {
    this.#kept = { credentials: { apiKey, clientVersion }, at: this.#clock.monotonic() };
  }

  /** Forgets these credentials, because the upstream refused a call with them. */
  refuse({ apiKey, clientVersion }: Credentials): void {
    const kept = this.#kept?.credentials;
    if (kept?.apiKey === apiKey && kept.clientVersion === clientVersion) this.#kept = undefined;
  }
}

/**
 * The credentials in `sw.js`, completed from `sw.js_data`. Rejects with `UpstreamError` "throttled", or with
 * `RelayError` SW_JS_FAILED if the host cannot be connected to; other failures count as empty.
 */
export async function scriptCredentials(loads: PageLoads): Promise<FoundCredentials> {
  const found = credentialsInServiceWorker(await scriptText(loads, "/sw.js"));
  if (found.apiKey !== undefined && found.clientVersion !== undefined) return found;
  return { ...credentialsInServiceWorkerData(await scriptText(loads, "/sw.js_data")), ...found };
}

async function scriptText(loads: PageLoads, path: string): Promise<string> {
  try {
    return await loads.page(path);
  } catch (error) {
    if (!(error instanceof UpstreamError) || error.fault === "throttled") throw error;
    if (error.unreachable === "no connection") throw noCredentials(error);
    return "";
  }
}

/** Complete credentials: the key may be empty. Throws `RelayError` SW_JS_FAILED if there is no version. */
export function usableCredentials(
  { apiKey = "", clientVersion, ...rest }: FoundCredentials,
  lastFailure?: UpstreamError,
): Credentials {
  if (!clientVersion) throw noCredentials(lastFailure); // a position without a token has an empty one
  return { apiKey, clientVersion, ...rest };
}

function noCredentials(lastFailure?: UpstreamError): RelayError {
  if (lastFailure?.unreachable) {
    return new RelayError("SW_JS_FAILED", `${lastFailure.message}.`, { cause: lastFailure });
  }
  const why = lastFailure ? ` The last attempt failed: ${lastFailure.message}.` : "";
  return new RelayError(
    "SW_JS_FAILED",
    `Neither sw.js nor its fallbacks (sw.js_data, the chat page) gave a client version.${why}`,
    lastFailure?.isWall ? { cause: lastFailure } : {},
  );
}
