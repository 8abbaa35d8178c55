/**
 * The errors that callers get when the upstream fails: each endpoint has its own codes for the same faults.
 */
import { withoutStop } from "../base/error-message.ts";
import type { ChatAbsent } from "../protocol/chat-standing.ts";
import { type ErrorCode, RelayError } from "../protocol/errors.ts";
import type { Fault, UpstreamError } from "../upstream/upstream-error.ts";

/** Code and text for each fault; `otherwise` covers the rest. */
export type FaultCodes = Partial<Record<Fault, FaultAnswer>> & Record<"throttled" | "otherwise", FaultAnswer>;

type FaultAnswer = readonly [code: ErrorCode, wordsFor: (upstreamWords: string) => string];

const THROTTLING = () => "YouTube is throttling this server; try again later.";
const UNLOADABLE = (words: string) => `The video's page could not be loaded: ${words}.`;
const OF_VIDEO: FaultCodes = {
  throttled: ["RATE_LIMITED", THROTTLING],
  otherwise: ["NO_LIVE_CHAT", UNLOADABLE],
};

/** For a video of which it must be known whether it may be watched. */
export const OF_ACCESS: FaultCodes = {
  throttled: ["RATE_LIMITED", THROTTLING],
  otherwise: ["UPSTREAM_ERROR", (words) => `The channel of the video could not be found out: ${words}.`],
};

// The specification's table of errors, for the faults of YouTube.
export const FAULT_CODES = {
  "/v1/stream": OF_VIDEO,
  "/v1/merged": OF_VIDEO,
  "/v1/log/{videoId}": OF_VIDEO,
  "/v1/sessions": { throttled: ["UPSTREAM_ERROR", THROTTLING], otherwise: ["UPSTREAM_ERROR", UNLOADABLE] },
  "/v1/poll": {
    throttled: ["UPSTREAM_ERROR", THROTTLING],
    expired: ["TOKEN_EXPIRED", () => "The continuation token is no longer accepted; start a new session."],
    otherwise: ["UPSTREAM_ERROR", (words) => `YouTube did not give a batch: ${words}.`],
  },
  "/v1/probe": OF_VIDEO,
  "/v1/videos/{videoId}": OF_ACCESS,
} as const satisfies Record<string, FaultCodes>;

export function ofFault(error: UpstreamError, codes: FaultCodes): RelayError {
  const [code, wordsFor] = codes[error.fault] ?? codes.otherwise;
  const { retryAfterMs } = error;
  const words = withoutStop(error.message); // the upstream's own sentence may end with one
  const message = error.unreachable ? `${words}.` : wordsFor(words);
  return new RelayError(code, message, { retryAfterMs, cause: error });
}

/** The error of a video whose chat is not there. */
export function noLiveChat({ message, retryAfterMs }: ChatAbsent): RelayError {
  return new RelayError("NO_LIVE_CHAT", message, { retryAfterMs });
}

declare module "fastify" {
  interface FastifyContextConfig {
    /** This route's errors for the upstream's faults. */
    faultCodes?: FaultCodes;
  }
}
