/** How a call to the upstream can fail, as one closed list: what a room, a poll or a bootstrap does follows from the fault. */

export type Fault =
  /** The upstream throttles this server: everything pauses. */
  | "throttled"
  /** The continuation is no longer accepted: spent, stale or made up. */
  | "expired"
  /** HTTP 401, 403, 404 or a 400 that is not about the token: the chat may be gone, or the credentials too old. */
  | "denied"
  /** No usable answer: network, timeout, server error, a body that makes no sense, a redirect to a foreign host. */
  | "unusable";

/** How a host was not reached: there was no connection to it, or no beginning of an answer. */
type Unreachable = "no connection" | "no answer";

export class UpstreamError extends Error {
  override readonly name = "UpstreamError";
  readonly fault: Fault;
  /** Set where the host could not be reached; the message begins with its name. */
  readonly unreachable: Unreachable | undefined;
  /** Whether a connection broke before an answer began. */
  readonly isBroken: boolean;
  /** What the upstream asked to wait (`Retry-After`), in milliseconds. */
  readonly retryAfterMs: number | undefined;
  /** Whether an upstream in order said so: a wall in place of a page is no failure of the address. */
  readonly isWall: boolean;

  constructor(
    fault: Fault,
    message: string,
    options: {
      retryAfterMs?: number | undefined;
      unreachable?: Unreachable;
      isBroken?: boolean;
      isWall?: boolean;
      cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.fault = fault;
    this.retryAfterMs = options.retryAfterMs;
    this.unreachable = options.unreachable;
    this.isBroken = options.isBroken ?? false;
    this.isWall = options.isWall ?? false;
  }
}

/** Whether the error, or what caused it, is trouble between this service and the upstream, and not about one video. */
export function isUpstreamTrouble(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.fault === "throttled" || error.unreachable !== undefined;
  return error instanceof Error && error.cause !== undefined && isUpstreamTrouble(error.cause);
}

/** Whether the error, or what caused it, is one that another address may not meet, and that came soon. */
export function isOfAddress(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.fault === "throttled" || isUnconnected(error);
  return error instanceof Error && error.cause !== undefined && isOfAddress(error.cause);
}

/** Whether the error, or what caused it, is that the upstream gave no answer, or one of an upstream that fails. */
export function isOutage(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.fault === "unusable" && !error.isWall;
  return error instanceof Error && isOutage(error.cause);
}

/** Whether the error, or what caused it, is that a host was not reached. */
export function isUnreached(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.unreachable !== undefined;
  return error instanceof Error && isUnreached(error.cause);
}

/** Whether the error, or what caused it, is that no answer began: the host was not reached, or the connection broke. */
export function isUnanswered(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.isBroken || error.unreachable !== undefined;
  return error instanceof Error && isUnanswered(error.cause);
}

/** Whether the error, or what caused it, is that there was no connection to a host. */
export function isUnconnected(error: unknown): boolean {
  if (error instanceof UpstreamError) return error.unreachable === "no connection";
  return error instanceof Error && isUnconnected(error.cause);
}
