/** The events of tokens, in the log. No line contains a token, or the name of its subject. */
import { createHash } from "node:crypto";
import type { RelayError } from "../protocol/errors.ts";
import type { Logger } from "./logger.ts";

export class AccessEvents {
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** A token was accepted: `subject` is its holder. Its rights may still lack this video or channel. */
  accepted(subject: string | undefined): void {
    if (this.#log.isLevelEnabled("debug")) this.#log.debug({ sub: hashOf(subject) }, "token accepted");
  }

  /** A token, or its absence, was refused: `message` says why. `subject`: of a token without the right. */
  refused({ code, message }: Pick<RelayError, "code" | "message">, subject: string | undefined): void {
    if (this.#log.isLevelEnabled("debug"))
      this.#log.debug({ code, why: message, sub: hashOf(subject) }, "access refused");
  }

  /** The set of keys that sign tokens was loaded; it has `all`, of which the first are used. */
  keysLoaded(keys: number, all: number): void {
    this.#log.info({ keys }, "the keys of RELAY_TOKEN_KEY are loaded");
    if (all > keys)
      this.#log.warn({ keys, all }, "RELAY_TOKEN_KEY has more keys than are used: the last ones count not");
  }

  /** It could not be loaded. `areKnown`: whether the keys of an earlier load are used meanwhile. */
  keysAway(why: string, areKnown: boolean): void {
    const meanwhile = areKnown ? "the known ones stay" : "requests that need a token are answered 503";
    this.#log.warn({ why }, `the keys of RELAY_TOKEN_KEY cannot be loaded: ${meanwhile}, trying again`);
  }
}

/** A name by which the lines of one holder can be found, and which does not show who it is. */
function hashOf(subject: string | undefined): string | undefined {
  return subject && createHash("sha256").update(subject).digest("hex").slice(0, 16);
}
