/**
 * Every error that a caller can receive: its HTTP status, and whether the same request can succeed later.
 * JSON error bodies and the stream's `error` frame use the same codes.
 */

export const ERRORS = {
  INVALID_REQUEST: { status: 400, retry: false },
  INVALID_VIDEO_ID: { status: 400, retry: false },
  NO_LIVE_CHAT: { status: 404, retry: false },
  NOT_STORED: { status: 404, retry: false },
  NOT_FOUND: { status: 404, retry: false },
  UNAUTHORIZED: { status: 401, retry: false },
  METHOD_NOT_ALLOWED: { status: 405, retry: false },
  REQUEST_TIMEOUT: { status: 408, retry: true },
  CONFLICT: { status: 409, retry: false },
  TOKEN_EXPIRED: { status: 410, retry: false },
  PAYLOAD_TOO_LARGE: { status: 413, retry: false },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, retry: false },
  UNKNOWN_CLIENT: { status: 422, retry: false },
  RATE_LIMITED: { status: 429, retry: true },
  HEADERS_TOO_LARGE: { status: 431, retry: false },
  INTERNAL: { status: 500, retry: true },
  SW_JS_FAILED: { status: 502, retry: true },
  NO_WORKING_CLIENT: { status: 502, retry: true },
  UPSTREAM_ERROR: { status: 502, retry: true },
  CAPACITY: { status: 503, retry: true },
  STORE_UNAVAILABLE: { status: 503, retry: true },
} as const satisfies Record<string, { status: number; retry: boolean }>;

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
