/** The full stop at the end of a message: of ours or of the upstream, which may end with one or not. */

/** To be continued, or put into another sentence. */
export function withoutStop(message: string): string {
  return message.replace(/\.$/, "");
}

/** As a sentence of its own. */
export function withStop(message: string): string {
  return `${withoutStop(message)}.`;
}
