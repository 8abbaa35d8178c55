/**
 * What a reader is: it makes the message of one kind of action or renderer, and knows nothing of the others.
 * What all messages share (offset, upstream's name of the kind) is added by its caller.
 */
import type { Message } from "../../protocol/message.ts";
import type { JsonObject } from "../json.ts";

/** When an action came. */
export interface Moment {
  /** Wall time in milliseconds, for what carries no time of its own. */
  receivedAt: number;
  /** A wall time in milliseconds as `h:mm AM` in the configured zone. */
  timeOfDay: (epochMs: number) => string;
  /** In a replay: milliseconds since the stream began. */
  offsetMs: number | undefined;
}

/**
 * Reads the body under the kind's key. Undefined: a form of the kind that is not known. May throw on a body
 * that makes no sense; must not change it.
 */
export type Reader = (body: JsonObject, moment: Moment) => Message | undefined;
