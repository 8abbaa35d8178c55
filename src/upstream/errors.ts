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

/** Whether something holds for the `UpstreamError` that an error is, or that caused it. */
function whether(holds: (error: UpstreamError) => boolean): (error: unknown) => boolean {
  return (error) => {
    if (error instanceof UpstreamError) return holds(error);
    return error instanceof Error && whether(holds)(error.cause);
  };
}

/** Trouble between this service and the upstream, and not about one video. */
export const isUpstreamTrouble = whether(
  ({ fault, unreachable }) => fault === "throttled" || unreachable !== undefined,
);

/** There was no connection to a host. */
export const isUnconnected = whether(({ unreachable }) => unreachable === "no connection");

/** A failure that another address may not meet, and that came soon. */
export const isOfAddress = whether((error) => error.fault === "throttled" || isUnconnected(error));

/** The upstream gave no answer, or one of an upstream that fails. */
export const isOutage = whether(({ fault, isWall }) => fault === "unusable" && !isWall);

/** A host was not reached. */
export const isUnreached = whether(({ unreachable }) => unreachable !== undefined);

/** No answer began: the host was not reached, or the connection broke. */
export const isUnanswered = whether(({ isBroken, unreachable }) => isBroken || unreachable !== undefined);
