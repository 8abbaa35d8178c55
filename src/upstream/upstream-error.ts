/** The faults of upstream calls, as one closed list. Rooms, polls and bootstraps act on the fault alone. */

import type { WallOf } from "../protocol/chat-standing.ts";
import { RelayError } from "../protocol/errors.ts";

export type Fault =
  /** The upstream throttles this server: everything pauses. */
  | "throttled"
  /** The upstream does not accept the continuation: it is used up, outdated or made up. */
  | "expired"
  /** HTTP 401, 403, 404, or a 400 not about the token: the chat may be gone, or the credentials too old. */
  | "denied"
  /** No usable answer: a network error, a timeout, a server error, a malformed body, a foreign redirect. */
  | "unusable";

/** How a host was unreachable: no connection to it, or no beginning of an answer. */
type Unreachable = "no connection" | "no answer";

/** The failure of a proxy. */
interface ProxyTrouble {
  place: string;
  why: string;
}

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly fault: Fault;
  /** Set if the host could not be reached. The message then begins with the host's name. */
  readonly unreachable: Unreachable | undefined;
  /** Set if a proxy made no connection: its place and the reason, for the operator alone. */
  readonly proxy: ProxyTrouble | undefined;
  /** Whether a connection broke before an answer began, but the host does not count as unreachable. */
  readonly isBroken: boolean;
  /** Whether this machine had no free file for the call, which is not the fault of the upstream. */
  readonly needsFiles: boolean;
  /** The wait that the upstream asked for (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** The HTTP status with which a page was refused; 404 also if the page says that there is no channel. */
  readonly status: number | undefined;
  /** Set if a working upstream showed a wall in place of the page. */
  readonly wallOf: WallOf | undefined;

  constructor(
    fault: Fault,
    message: string,
    options: {
      retryAfterMs?: number | undefined;
      unreachable?: Unreachable;
      proxy?: ProxyTrouble | undefined;
      isBroken?: boolean;
      needsFiles?: boolean;
      wallOf?: WallOf | undefined;
      status?: number;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.fault = fault;
    this.retryAfterMs = options.retryAfterMs;
    this.unreachable = options.unreachable;
    this.proxy = options.proxy;
    this.isBroken = options.isBroken ?? false;
    this.needsFiles = options.needsFiles ?? false;
    this.wallOf = options.wallOf;
    this.status = options.status;
  }

  /** Whether a working upstream sent this: a wall instead of a page is not a failure of the egress. */
  get isWall(): boolean {
    return this.wallOf !== undefined;
  }
}

/** The wall behind an error; undefined if there is none. */
export function wallBehind(error: unknown): WallOf | undefined {
  if (error instanceof UpstreamError) return error.wallOf;
  return error instanceof Error ? wallBehind(error.cause) : undefined;
}

/** What the refusal of a page by an HTTP status concerns; undefined if it is a failure of the upstream. */
export function wallOfStatus(status: number): WallOf | undefined {
  if (status >= 500) return undefined;
  return status === 401 || status === 403 ? "address" : "video";
}

/** Tests the error if it is an `UpstreamError`, else its causes. */
function whether(holds: (error: UpstreamError) => boolean): (error: unknown) => boolean {
  return (error) => {
    if (error instanceof UpstreamError) return holds(error);
    return error instanceof Error && whether(holds)(error.cause);
  };
}

/** There was no connection to a host. */
export const isUnconnected = whether(({ unreachable }) => unreachable === "no connection");

/** The upstream throttles this egress. */
const isThrottled = whether(({ fault }) => fault === "throttled");

/** A failure that another egress may not have, and that is noticed quickly. */
export const mayWorkElsewhere = (error: unknown): boolean => isThrottled(error) || isUnconnected(error);

/** The upstream gave no answer, or the answer of a failing upstream. */
export const isOutage = whether(({ fault, isWall }) => fault === "unusable" && !isWall);

/** A host was not reached. */
export const isUnreached = whether(({ unreachable }) => unreachable !== undefined);

/** No answer began: the host was not reached, or the connection broke. */
export const isUnanswered = whether(({ isBroken, unreachable }) => isBroken || unreachable !== undefined);

/**
 * The upstream answered with something else: a refusal, a wall, an error of its own. This shows that the
 * upstream is reached. Throttling does not count: while it lasts, no room can be read.
 */
export function isAnswer(error: unknown): boolean {
  const isOfUpstream = error instanceof UpstreamError || error instanceof RelayError;
  return isOfUpstream && !isThrottled(error) && !isUnanswered(error);
}
