/**
 * What a reader is: it makes the message of one kind of action or renderer, and knows nothing of the others; one
 * that holds another kind has that read by its context. What all messages share (offset, upstream's name of the
 * kind) is added by its caller.
 */

import type { JsonObject } from "../../json.ts";
import type { Message } from "../../protocol/message.ts";
import type { DroppedActions } from "../../telemetry/telemetry.ts";
import type { Counts } from "./counts.ts";
import type { Panels } from "./panels.ts";
import type { TimeOfDay } from "./timestamp.ts";

/** When an action came. */
export interface ActionTime {
  /** Wall time in milliseconds, for what carries no time of its own. */
  receivedAt: number;
  timeOfDay: TimeOfDay;
  /** In a replay: milliseconds since the stream began. */
  offsetMs: number | undefined;
}

/** Fields of an item that its holder has, used where the item itself lacks them. Raw, as they came. */
export interface Surroundings {
  id?: unknown;
  authorExternalChannelId?: unknown;
}

export interface Context extends ActionTime {
  around: Surroundings;
  /** As they are before this action. */
  panels: Panels;
  /** What the answer counts beside its actions (likes, replies), by entity key. */
  counts: Counts;
  /** Reads the one thing that an object holds under its name. */
  read(holder: unknown, around?: Surroundings): Outcome;
}

/** The upstream's data makes no sense, so that no message can be made from it. */
export class BrokenItem extends Error {
  override readonly name = "BrokenItem";
}

/** By what the two forms of one gift in jewels are known as one. */
export interface Gift {
  /** All names that it shows, as they are compared. */
  names: readonly string[];
  shownIn: "list" | "widget";
}

/** One message of a chat. */
export interface Item {
  message: Message;
  /** Of a gift in jewels that may be shown in another form too. */
  gift?: Gift;
  /** Shown in a ticker, where what was said before is shown again. */
  isInTicker?: true;
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
  /** As they are afterwards; absent: as before. */
  panels?: Panels;
}

/**
 * Reads the body under the kind's key. "unknown": a form of the kind that is not known. Throws
 * `BrokenItem` where the body makes no sense; anything else that it throws is a bug. Must not change the body.
 */
export type Reader = (body: JsonObject, context: Context) => Message | Reason | Outcome;
