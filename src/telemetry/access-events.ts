/** The events of tokens, in the log. No line contains a token, or the name of its subject. */
import type { RelayError } from "../protocol/errors.ts";
import type { Logger } from "./log.ts";

export class AccessEvents {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A token, or its absence, was refused: `message` says why. */
  refused({ code, message }: Pick<RelayError, "code" | "message">): void {
    this.#log.debug({ code, why: message }, "access refused");
  }

  /** The set of keys that sign tokens was loaded. */
  keysLoaded(keys: number): void {
    this.#log.info({ keys }, "the keys of RELAY_TOKEN_KEY are loaded");
  }

  /** It could not be loaded. `areKnown`: whether the keys of an earlier load are used meanwhile. */
  keysAway(why: string, areKnown: boolean): void {
    const meanwhile = areKnown ? "the known ones stay" : "requests that need a token are answered 503";
    this.#log.warn({ why }, `the keys of RELAY_TOKEN_KEY cannot be loaded: ${meanwhile}, trying again`);
  }
}
