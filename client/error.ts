/** The only error class that the SDK throws itself, and the rule that says which failures are final. */
import type { ErrorCode as ServiceCode } from "../src/protocol/errors.ts";

/**
 * `NETWORK`: no answer, or one that broke off or has an unreadable frame. `HTTP`: an answer that did not come
 * from the service.
 */
export type ErrorCode = ServiceCode | "NETWORK" | "HTTP";

export interface ChatErrorOptions {
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** The relay refused the request or could not be reached, or the chat failed. The message is for people. */
export class ChatError extends Error {
  override readonly name = "ChatError";
  /**
   * The service's own code; `NETWORK` if no complete answer came, or an unreadable frame; `HTTP` if something
   * in front of the service answered.
   */
  readonly code: ErrorCode;
  /**
   * The status of the HTTP answer. Absent if there was none, and if the chat failed after its stream had
   * opened.
   */
  declare readonly status?: number;
  /** The wait that the service asks for, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(code: ErrorCode, message: string, options: ChatErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.status !== undefined) this.status = options.status;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/**
 * Whether the same request would fail again: after a refusal (4xx except 408 and 429) or the stream's `error`
 * frame.
 */
export function isFinal({ code, status }: ChatError): boolean {
  if (status === undefined) return code !== "NETWORK";
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
