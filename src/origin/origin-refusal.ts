/**
 * What an answer of the origin means that is not the one asked for: the origin's own refusal, for the client,
 * or that the origin is away. That is to an edge what an unavailable store is to others: readers wait.
 */
import { asNumber, asString, dig, parseJson } from "../base/json.ts";
import { atCapacity } from "../protocol/capacity.ts";
import { absenceIn, ChatAbsent, STANDING_HEADER } from "../protocol/chat-standing.ts";
import { ERRORS, isErrorCode, RelayError } from "../protocol/errors.ts";
import { StoreError } from "../store/store-error.ts";
import type { OriginAnswer } from "./origin-connections.ts";

/** Maximum size of an error's body and of an answer to the health check, in bytes. */
const MAX_NOTE_BYTES = 64 * 1024;

/**
 * The origin cannot be reached, something else answers in its place, or it cannot answer for now. It is to an
 * edge what an unavailable store is to others: readers wait and try again. The message says what happened.
 */
export class OriginAwayError extends StoreError {
  override readonly name = "OriginAwayError";

  constructor(why: string, cause?: unknown) {
    super("unavailable", `the origin is away: ${why}`, { cause });
  }

  /** The origin's own refusal, if that is the cause. */
  override get refusal(): RelayError {
    if (this.cause instanceof RelayError) return this.cause;
    return atCapacity("origin", undefined, this);
  }
}

/**
 * The error of an answer: the origin's own, or `OriginAwayError` if something else has answered, or if the
 * origin refuses this service itself: then the client's own token is not to blame.
 */
export async function refusal(answer: OriginAnswer): Promise<RelayError | ChatAbsent | OriginAwayError> {
  const body = parseJson(await note(answer));
  const [code, message] = [asString(dig(body, "code")), asString(dig(body, "message"))];
  if (code === "UNAUTHORIZED") return new OriginAwayError(`it refuses the token of this edge: ${message}`);
  if (message === undefined || !isErrorCode(code))
    return new OriginAwayError(`it answers ${answer.statusCode}`);
  const seconds = asNumber(answer.headers["retry-after"]?.toString());
  const retryAfterMs = seconds === undefined ? undefined : 1000 * seconds;
  const standing = answer.headers[STANDING_HEADER];
  if (standing !== undefined) return new ChatAbsent(absenceIn(standing, message), retryAfterMs);
  return new RelayError(code, message, { retryAfterMs });
}

/** A reader of pages waits while the origin cannot answer. */
export function awayIfPassing<Known extends Error>(error: Known): Known | OriginAwayError {
  const isPassing = error instanceof RelayError && ERRORS[error.code].retry !== "never";
  return isPassing ? new OriginAwayError(error.message, error) : error;
}

/** The beginning of a short body. */
export async function note({ body }: OriginAnswer): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_NOTE_BYTES) break;
  }
  return Buffer.concat(chunks).toString();
}
