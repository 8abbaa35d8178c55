/**
 * Creates the message of an event: the fields of every kind, filled from the reader's content. The readers
 * compose ids that are not the upstream's own; these are the same each time an event is read.
 */
import { createHash } from "node:crypto";
import { addDefined, asString } from "../../base/json.ts";
import type { Details, DetailsOf, MessageType } from "../../protocol/kinds.ts";
import type { Message, Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";
import { type ActionTime, BrokenItem } from "./reader.ts";
import { plainText } from "./text.ts";
import { offsetText } from "./timestamp.ts";

/** Details as readers return them: an optional one may be undefined. */
type Found<D> = { [K in keyof D]: object extends Pick<D, K> ? D[K] | undefined : D[K] };

interface Texts {
  parts: Part[];
  /** Absent: that of `by`, else "". */
  author?: string;
  amount?: string;
  color?: string;
}

/** The content of an event of one kind. */
export type Content = {
  [T in MessageType]: Texts & { type: T } & (object extends DetailsOf<T>
      ? { details?: Found<DetailsOf<T>> }
      : { details: Found<DetailsOf<T>> });
}[MessageType];

/** Author and time of an event. */
interface Authorship {
  author?: string;
  /** The upstream's text of the time. If "" or absent, it is a replay's offset, or derived from `usec`. */
  shownTime?: string;
  /** Microseconds since 1970; absent: the time of receipt. */
  usec?: number | undefined;
  /** Created for this event only, and modified by it. */
  details?: Details;
}

export function event(id: string, moment: ActionTime, content: Content, by: Authorship = {}): Message {
  return {
    type: content.type,
    id,
    timestamp: by.shownTime || timestampOf(by.usec, moment),
    author: content.author ?? by.author ?? "",
    message: plainText(content.parts),
    amount: content.amount ?? "",
    color: content.color ?? "",
    parts: content.parts,
    details: addDefined<Details>(by.details ?? {}, content.details),
  } as Message; // a content's type and details are a pair, which the compiler cannot follow into this object
}

function timestampOf(usec: number | undefined, { offsetMs, receivedAt, timeOfDay }: ActionTime): string {
  if (offsetMs !== undefined) return offsetText(offsetMs);
  return timeOfDay(usec === undefined ? receivedAt : usec / 1000);
}

/** The upstream's id. Throws `BrokenItem` if there is none: such an item cannot be identified. */
export function usableId(value: unknown): string {
  const id = asString(value) ?? "";
  if (id === "" || id.length > BOUNDS.idLength || /[\p{Cc}\p{Cs}]/u.test(id))
    throw new BrokenItem("no usable id");
  return id;
}

/** Twelve characters of a hash of the contents. */
export function shortHash(...contents: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(contents)).digest("base64url").slice(0, 12);
}
