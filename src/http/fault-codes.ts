/** The error that a caller gets when the upstream fails: each endpoint has its own codes for the same faults. */
import { type ErrorCode, RelayError } from "../protocol/errors.ts";
import type { Fault, UpstreamError } from "../upstream/errors.ts";

/** Code and words for each fault; `otherwise` for those not named. */
export type FaultCodes = Partial<Record<Fault, FaultAnswer>> & Record<"throttled" | "otherwise", FaultAnswer>;

interface FaultAnswer {
  code: ErrorCode;
  says(upstreamWords: string): string;
}

const THROTTLING = () => "The upstream is throttling this server; try again later.";
const UNLOADABLE = (words: string) => `The video's page could not be loaded: ${words}.`;

// [spec] Errors: status, code, cause, endpoints
export const FAULT_CODES = {
  stream: {
    throttled: { code: "RATE_LIMITED", says: THROTTLING },
    otherwise: { code: "NO_LIVE_CHAT", says: UNLOADABLE },
  },
  sessions: {
    throttled: { code: "UPSTREAM_ERROR", says: THROTTLING },
    otherwise: { code: "UPSTREAM_ERROR", says: UNLOADABLE },
  },
  poll: {
    throttled: { code: "UPSTREAM_ERROR", says: THROTTLING },
    expired: {
      code: "TOKEN_EXPIRED",
      says: () => "The continuation token is no longer accepted; start a new session.",
    },
    otherwise: { code: "UPSTREAM_ERROR", says: (words) => `The upstream did not give a batch: ${words}.` },
  },
  probe: {
    throttled: { code: "RATE_LIMITED", says: THROTTLING },
    otherwise: { code: "NO_LIVE_CHAT", says: UNLOADABLE },
  },
} as const satisfies Record<string, FaultCodes>;

export function ofFault(error: UpstreamError, codes: FaultCodes, cooldownLeftMs: number): RelayError {
  const { code, says } = codes[error.fault] ?? codes.otherwise;
  const retryAfter = error.fault === "throttled" ? { retryAfterMs: cooldownLeftMs } : {};
  const message = error.unreachable ? `${error.message}.` : says(error.message);
  return new RelayError(code, message, { ...retryAfter, cause: error });
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** The errors of this route for the upstream's faults. */
    faultCodes?: FaultCodes;
  }
}
