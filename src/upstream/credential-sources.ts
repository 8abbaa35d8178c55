/**
 * Where the credentials of a bootstrap come from: `sw.js`, `sw.js_data` and the pages, and for a chat that is opened
 * anew those that this process has learnt, until they are refused or old.
 */
import type { Clock } from "../clock.ts";
import { RelayError } from "../protocol/errors.ts";
import { UpstreamError } from "./errors.ts";
import {
  type Credentials,
  credentialsInServiceWorker,
  credentialsInServiceWorkerData,
  type FoundCredentials,
} from "./page/credentials.ts";
import type { PageLoads } from "./page-loads.ts";

/** The upstream replaces its client version every few hours, and goes on taking the last ones. */
const KEPT_MS = 3_600_000;

/** The key and version that were learnt last. A visitor belongs to its page, and is not kept. */
export class KeptCredentials {
  readonly #clock: Clock;
  #kept: { credentials: FoundCredentials; at: number } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Undefined where nothing good is known. */
  get(): FoundCredentials | undefined {
    if (!this.#kept || this.#clock.monotonic() - this.#kept.at >= KEPT_MS) return undefined;
    return this.#kept.credentials;
  }

  keep({ apiKey, clientVersion }: Credentials): void {
    this.#kept = { credentials: { apiKey, clientVersion }, at: this.#clock.monotonic() };
  }

  /** The upstream refused a call with these. */
  refuse({ apiKey, clientVersion }: Credentials): void {
    const kept = this.#kept?.credentials;
    if (kept?.apiKey === apiKey && kept.clientVersion === clientVersion) this.#kept = undefined;
  }
}

/** What `sw.js` gives and, for what is missing, `sw.js_data`. Only throttling and an unreachable host are errors here. */
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

/** A key is not needed. Throws `RelayError` SW_JS_FAILED where there is no version. */
export function usableCredentials(
  { apiKey = "", clientVersion, ...rest }: FoundCredentials,
  lastFailure?: UpstreamError,
): Credentials {
  if (clientVersion === undefined) throw noCredentials(lastFailure);
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
  );
}
