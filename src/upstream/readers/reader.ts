/**
 * What a reader is: it makes the message of one kind of action or renderer, and knows nothing of the others; one
 * that holds another kind has that read by its context. What all messages share (offset, upstream's name of the
 * kind) is added by its caller.
 */

import type { JsonObject } from "../../json.ts";
import type { Message } from "../../protocol/message.ts";
import type { DroppedActions } from "../../telemetry/telemetry.ts";
import type { OpenPanels } from "./panels.ts";

/** When an action came. */
export interface ActionTime {
  /** Wall time in milliseconds, for what carries no time of its own. */
  receivedAt: number;
  /** A wall time in milliseconds as `h:mm AM` in the configured zone. */
  timeOfDay: (epochMs: number) => string;
  /** In a replay: milliseconds since the stream began. */
  offsetMs: number | undefined;
}

/** Fields of an item that its holder has, used where the item itself lacks them. Raw, as they came. */
interface Surroundings {
  id?: unknown;
  authorExternalChannelId?: unknown;
}

export interface Context extends ActionTime {
  around: Surroundings;
  /** The polls that are open before this action. */
  panels: OpenPanels;
  /** Reads the one thing that an object holds under its name. */
  read(holder: unknown, around?: Surroundings): Outcome;
}

/** The upstream's data makes no sense, so that no message can be made from it. */
export class BrokenItem extends Error {
  override readonly name = "BrokenItem";
}

/** One message of a chat. */
export interface Item {
  message: Message;
  /** The earlier message that it replaces, and the event (`as`) for a room that holds that one. */
  replaces?: { id: string; as: Message };
}

/** Why something gives no message. */
type Reason = DroppedActions["reason"];

/** What one thing was read as. */
export interface Outcome {
  item: Item | Reason;
  /** The kind that it was read as; absent: the reader's own. */
  kind?: string;
  /** The polls that are open afterwards; absent: as before. */
  panels?: OpenPanels;
}

/**
 * Reads the body under the kind's key. "unknown": a form of the kind that is not known. Throws
 * `BrokenItem` where the body makes no sense; anything else that it throws is a bug. Must not change the body.
 */
export type Reader = (body: JsonObject, context: Context) => Message | Reason | Outcome;
