/**
 * The error class for a service or chat that fails (a mistake of the caller is a `TypeError`). It says which
 * failures are final, as the service's table of errors does (`src/protocol/errors.ts`): a test compares them.
 */
import type { ErrorCode as ServiceCode } from "../src/protocol/errors.ts";

/**
 * `NETWORK`: no answer, or one that broke off or has an unreadable frame; or the token cannot be read.
 * `HTTP`: an answer that did not come from the service.
 */
export type ErrorCode = ServiceCode | "NETWORK" | "HTTP";

interface ChatErrorOptions {
  status?: number;
  retryAfterMs?: number;
  videoId?: string;
  cause?: unknown;
}

/** The relay refused the request or could not be reached, or the chat failed. The message is for people. */
export class ChatError extends Error {
  override readonly name = "ChatError";
  /**
   * The service's own code; `NETWORK` if no complete answer came, or an unreadable frame, or if the token
   * cannot be read; `HTTP` if something in front of the service answered.
   */
  declare readonly code: ErrorCode;
  /**
   * The status of the HTTP answer. Absent if there was none, and if the chat failed after its stream had
   * opened.
   */
  declare readonly status?: number;
  /** The wait that the service asks for, in milliseconds. */
  declare readonly retryAfterMs?: number;
  /**
   * The video whose chat failed or was refused, or the channel that does not exist; present only if the
   * others on its connection continue.
   */
  declare readonly videoId?: string;

  constructor(code: ErrorCode, message: string, options: ChatErrorOptions = {}) {
    super(message, options);
    Object.assign(this, { code }, options);
  }

  /**
   * Whether the same request would fail again: after a refusal (4xx except 408, 429 and that of a token which
   * is not valid yet) or the stream's `error` frame. Without `retry`, the SDK then gives up.
   */
  get isFinal(): boolean {
    const { status, code, message } = this;
    if (!status) return code !== "NETWORK";
    return /^4(?!08|29)/.test(`${status}`) && !/not valid yet/.test(message);
  }
}

/**
 * The codes after which the service does not open one of several chats again. `errors-table.test.ts` compares
 * them with the service's table.
 */
export const FINAL_FOR_CHAT: readonly ErrorCode[] = ["NO_LIVE_CHAT", "NOT_STORED", "INTERNAL"];
