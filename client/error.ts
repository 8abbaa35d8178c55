/** The only error class that the SDK throws itself, and the rule that says which failures are final. */
import type { ErrorCode as ServiceCode } from "../src/protocol/errors.ts";

/**
 * `NETWORK`: no answer, or one that broke off or has an unreadable frame. `HTTP`: an answer that did not come
 * from the service.
 */
export type ErrorCode = ServiceCode | "NETWORK" | "HTTP";

export interface ChatErrorOptions {
  status?: number;
  retryAfterMs?: number;
  videoId?: string;
  cause?: unknown;
}

/** The relay refused the request or could not be reached, or the chat failed. The message is for people. */
export class ChatError extends Error {
  override readonly name = "ChatError";
  /**
   * The service's own code; `NETWORK` if no complete answer came, or an unreadable frame; `HTTP` if something
   * in front of the service answered.
   */
  declare readonly code: ErrorCode;
  /**
   * The status of the HTTP answer. Absent if there was none, and if the chat failed after its stream had
   * opened.
   */
  declare readonly status?: number;
  /** The wait that the service asks for, in milliseconds. */
  declare readonly retryAfterMs?: number;
  /** The video whose chat failed or was refused; present only if the others on its connection continue. */
  declare readonly videoId?: string;

  constructor(code: ErrorCode, message: string, { cause, ...fields }: ChatErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    Object.assign(this, { code, ...fields });
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
