/**
 * Every error that a caller can receive. JSON error bodies and the stream's `error` frame use the same codes.
 */

interface ErrorRow {
  /** The HTTP status. */
  status: number;
  /**
   * Whether the same request may be sent again: never (it fails again), by the caller, or also by the relay,
   * for one of several chats on a connection. After INTERNAL it does not: the same bug would occur again.
   */
  retry: "never" | "caller" | "relay";
  /** What the failure says something about: the request, this chat, YouTube, or this service. */
  cause: "request" | "chat" | "upstream" | "service";
}

export const ERRORS = {
  INVALID_REQUEST: { status: 400, retry: "never", cause: "request" },
  INVALID_VIDEO_ID: { status: 400, retry: "never", cause: "request" },
  NO_LIVE_CHAT: { status: 404, retry: "never", cause: "chat" },
  NOT_STORED: { status: 404, retry: "never", cause: "chat" },
  NOT_FOUND: { status: 404, retry: "never", cause: "request" },
  UNAUTHORIZED: { status: 401, retry: "never", cause: "request" },
  FORBIDDEN: { status: 403, retry: "never", cause: "request" },
  METHOD_NOT_ALLOWED: { status: 405, retry: "never", cause: "request" },
  REQUEST_TIMEOUT: { status: 408, retry: "caller", cause: "request" },
  CONFLICT: { status: 409, retry: "never", cause: "request" },
  TOKEN_EXPIRED: { status: 410, retry: "never", cause: "request" },
  OFFSET_GONE: { status: 410, retry: "never", cause: "request" },
  PAYLOAD_TOO_LARGE: { status: 413, retry: "never", cause: "request" },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retry: "never", cause: "request" },
  UNKNOWN_CLIENT: { status: 422, retry: "never", cause: "request" },
  RATE_LIMITED: { status: 429, retry: "relay", cause: "upstream" },
  HEADERS_TOO_LARGE: { status: 431, retry: "never", cause: "request" },
  INTERNAL: { status: 500, retry: "caller", cause: "service" },
  SW_JS_FAILED: { status: 502, retry: "relay", cause: "upstream" },
  NO_WORKING_CLIENT: { status: 502, retry: "relay", cause: "upstream" },
  UPSTREAM_ERROR: { status: 502, retry: "relay", cause: "upstream" },
  CAPACITY: { status: 503, retry: "relay", cause: "service" },
  STORE_UNAVAILABLE: { status: 503, retry: "relay", cause: "service" },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof ERRORS;

interface FullRow {
  /** What the caller reads; a refusal that knows more says it itself. */
  message: string;
  /** The `Retry-After`, in milliseconds; absent if only somebody's deed helps. */
  retryAfterMs?: number;
}

/** Why the service takes no more for now: each CAPACITY has one of these causes. Metrics and logs name it. */
export const FULL = {
  viewers: { message: "Too many viewers are connected (RELAY_MAX_VIEWERS).", retryAfterMs: 30_000 },
  address: { message: "This address has too many viewers.", retryAfterMs: 30_000 },
  subject: { message: "The token's subject has too many connections.", retryAfterMs: 30_000 },
  keys: { message: "The keys that sign tokens are not known yet; try again shortly.", retryAfterMs: 5000 },
  rooms: { message: "Too many rooms are open (RELAY_MAX_ROOMS).", retryAfterMs: 30_000 },
  calls: { message: "One more chat needs more calls than this address may make.", retryAfterMs: 30_000 },
  openings: { message: "Too many videos wait to be opened; try again shortly.", retryAfterMs: 5000 },
  callers: { message: "Too many calls wait for YouTube; try again shortly.", retryAfterMs: 5000 },
  channels: { message: "Too many channels are watched.", retryAfterMs: 30_000 },
  recordings: { message: "There are too many recordings: delete one that has ended." },
  bodies: { message: "Too many large requests arrive; try again shortly.", retryAfterMs: 5000 },
  answers: { message: "Too many answers wait for their clients to read them.", retryAfterMs: 30_000 },
  pages: {
    message: "Too many pages of stored messages are asked for; try again shortly.",
    retryAfterMs: 5000,
  },
  elsewhere: { message: "Another instance is still opening this chat.", retryAfterMs: 1000 },
  unreachable: {
    message: "This instance cannot reach YouTube; another one will open the chat.",
    retryAfterMs: 1000,
  },
  origin: { message: "The origin of this edge does not answer; try again shortly.", retryAfterMs: 5000 },
  stopping: { message: "The service is stopping; connect again.", retryAfterMs: 1000 },
} as const satisfies Record<string, FullRow>;

export type FullCause = keyof typeof FULL;

/** The JSON body of every error response, and the data of the stream's `error` frame. */
export interface ErrorBody {
  code: ErrorCode;
  message: string;
}

/**
 * A failure that is reported to the caller. Its message names the cause and the remedy, and never contains
 * a credential, a token or a stack.
 */
export class RelayError extends Error {
  override readonly name = "RelayError";
  readonly code: ErrorCode;
  /** The time to wait before the next try, in milliseconds, if it is known (`Retry-After`). */
  readonly retryAfterMs: number | undefined;
  /** Why there is no room, if the code is CAPACITY; undefined if another service has said so. */
  readonly full: FullCause | undefined;

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryAfterMs?: number | undefined; full?: FullCause; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
    this.full = options.full;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get body(): ErrorBody {
    return { code: this.code, message: this.message };
  }
}

/** The refusal of a service that takes no more. `message`: if more is known than the table says. */
export function atCapacity(full: FullCause, message?: string, cause?: unknown): RelayError {
  const { retryAfterMs, ...row }: FullRow = FULL[full];
  return new RelayError("CAPACITY", message ?? row.message, { retryAfterMs, full, cause });
}

export function isErrorCode(text: string | undefined): text is ErrorCode {
  return text !== undefined && Object.hasOwn(ERRORS, text);
}
