/**
 * The interface of readers. A reader creates the message of one kind of action or renderer and knows nothing
 * of the others: if it holds another kind, its context reads that one. The caller adds the details of all
 * messages (offset, the upstream's name of the kind).
 */

import type { JsonObject } from "../../base/json.ts";
import type { Message } from "../../protocol/message.ts";
import type { DroppedActions } from "../../telemetry/action-events.ts";
import type { EntityCounts } from "./counts.ts";
import type { Panels } from "./panels.ts";
import type { TimeOfDay } from "./timestamp.ts";

/** The time of an action. */
export interface ActionTime {
  /** Wall time in milliseconds, for actions without a time of their own. */
  receivedAt: number;
  timeOfDay: TimeOfDay;
  /** In a replay: milliseconds since the stream began. */
  offsetMs: number | undefined;
}

/** Raw fields of the holder, used if the item itself lacks them. */
export interface HolderFields {
  id?: unknown;
  authorExternalChannelId?: unknown;
}

export interface Context extends ActionTime {
  around: HolderFields;
  /** The panels before this action. */
  panels: Panels;
  /** The counts in the same answer (likes, replies), by entity key. */
  counts: EntityCounts;
  /** Whether the upstream was asked for English. */
  isEnglish: boolean;
  /** Reads the one object that the holder has under its name. */
  read(holder: unknown, around?: HolderFields): Outcome;
}

/** The upstream's data is invalid, so that no message can be created from it. */
export class BrokenItem extends Error {
  override readonly name = "BrokenItem";
}

/** Identifies the two forms of one gift in jewels. */
export interface Gift {
  /** All names that it shows, normalized for comparison. */
  names: readonly string[];
  shownIn: "list" | "widget";
}

/** One message of a chat. */
export interface Item {
  message: Message;
  /** Set for a gift in jewels that may have another form. */
  gift?: Gift;
  /** The thread of replies to a paid message: the message's own, or that in which the item replies. */
  thread?: { id: string; isReply: boolean } | undefined;
  /** Set for a notice: the upstream's id, which is another one each time that a page shows it. */
  noticeId?: string;
  /** Set for a notice that may be an earlier one, shown again under another id. */
  isKnownByText?: true;
  /** Shown in a ticker, which repeats earlier messages. */
  isInTicker?: true;
  /**
   * Shown in Top chat alone, by a page or by an answer that another completes: others may be missing beside
   * it. Not set where a room reads Top chat for want of anything else.
   */
  isInTop?: true;
  /** The earlier message that it replaces, and the event (`as`) for a room that holds that message. */
  replaces?: { id: string; as: Message };
}

/** Why an action gives no message. */
type Reason = DroppedActions["reason"];

/** The result of reading one object. */
export interface Outcome {
  item: Item | Reason;
  /** A message of the same action that comes before the item's. */
  before?: Message | undefined;
  /** The kind as which it was read; absent: the reader's own. */
  kind?: string;
  /** The panels after this action; absent: unchanged. */
  panels?: Panels | undefined;
}

/**
 * Reads the object under the kind's key. Returns "unknown" for an unknown variant of the kind. Throws
 * `BrokenItem` if the object is invalid; any other error is a bug. Must not modify the object.
 */
export type Reader = (body: JsonObject, context: Context) => Message | Reason | Outcome;
