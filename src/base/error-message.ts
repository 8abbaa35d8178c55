/** The message of an error: ours, or the upstream's, which may end with a full stop or not. */

/** The message of anything that was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** To be continued, or put into another sentence. */
export function withoutStop(message: string): string {
  return message.replace(/\.$/, "");
}

/** As a sentence of its own. */
export function withStop(message: string): string {
  return `${withoutStop(message)}.`;
}
