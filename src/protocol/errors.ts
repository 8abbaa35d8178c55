/**
 * Every error that a caller can receive. JSON error bodies and the stream's `error` frame use the same codes.
 */

/** The facts of an error code. */
export interface ErrorRow {
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

  constructor(
    code: ErrorCode,
    message: string,
    options: { retryAfterMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterMs = options.retryAfterMs;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get body(): ErrorBody {
    return { code: this.code, message: this.message };
  }
}

export function isErrorCode(text: string | undefined): text is ErrorCode {
  return text !== undefined && Object.hasOwn(ERRORS, text);
}

/** Whether a thrown value is the error with this code. */
export function isRefusal(error: unknown, code: ErrorCode): error is RelayError {
  return error instanceof RelayError && error.code === code;
}

/** The refusal of a request whose values are not those of its endpoint. */
export function invalidRequest(message: string): RelayError {
  return new RelayError("INVALID_REQUEST", message);
}
