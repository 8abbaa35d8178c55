/** The one error that the SDK throws of itself, and which failures it is no use to try again. */
import type { ErrorCode as ServiceCode } from "../src/protocol/errors.ts";

/** `NETWORK`: no answer, or one that broke off. `HTTP`: an answer that is not the service's. */
export type ErrorCode = ServiceCode | "NETWORK" | "HTTP";

export interface ChatErrorOptions {
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/** A relay that refused or could not be reached, or a chat that failed; the message is for people. */
export class ChatError extends Error {
  override readonly name = "ChatError";
  /** The service's own code; `NETWORK` where no answer came or it broke off, `HTTP` where a proxy answered. */
  readonly code: ErrorCode;
  /** Of the HTTP answer; absent where there was none, and of a chat that failed after it had opened. */
  declare readonly status?: number;
  /** How long the service asks to wait, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor(code: ErrorCode, message: string, options: ChatErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    if (options.status !== undefined) this.status = options.status;
    if (options.retryAfterMs !== undefined) this.retryAfterMs = options.retryAfterMs;
  }
}

/** Whether the same request would fail again: a refusal (4xx but 408 and 429), or the stream's `error` frame. */
export function isFinal({ code, status }: ChatError): boolean {
  if (status === undefined) return code !== "NETWORK";
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}
