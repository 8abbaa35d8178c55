/** A thrown value and its message: ours, or the upstream's, which may end with a full stop or not. */

/** The thrown value if it is an error, or an error with it as the message. */
export function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** The message of a thrown value. */
export function messageOf(thrown: unknown): string {
  return asError(thrown).message;
}

/** To be continued, or put into another sentence. */
export function withoutStop(message: string): string {
  return message.replace(/\.$/, "");
}

/** As a sentence of its own. */
export function withStop(message: string): string {
  return `${withoutStop(message)}.`;
}
