/**
 * The message of an event: the fields that every kind has, filled from what a reader found. Ids that are not the
 * upstream's own are put together here and stay the same however often an event is read.
 */
import { createHash } from "node:crypto";
import { asString, present } from "../../json.ts";
import type { Details, DetailsOf, MessageType } from "../../protocol/kinds.ts";
import type { Message, Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";
import { BrokenItem, type Moment } from "./reader.ts";
import { joined } from "./text.ts";
import { offsetText } from "./timestamp.ts";

interface ToldFields {
  parts: Part[];
  /** "" where nobody is. */
  author?: string;
  /** As the upstream writes the time; "" or absent: by `usec`. */
  shownTime?: string;
  /** Microseconds since 1970; absent: the time of receipt. */
  usec?: number | undefined;
  amount?: string;
  color?: string;
}

/** Details as a reader finds them: what need not be there may be undefined. */
export type Found<D> = { [K in keyof D]: object extends Pick<D, K> ? D[K] | undefined : D[K] };

type ToldDetails<D> = object extends D ? { details?: Found<D> } : { details: Found<D> };

/** What a kind can say of itself. */
export type Told = {
  [T in MessageType]: ToldFields & { type: T } & ToldDetails<DetailsOf<T>>;
}[MessageType];

/** `details` are those that stand beside the kind's own. */
export function event(id: string, moment: Moment, told: Told, details: Found<Details> = {}): Message {
  return {
    type: told.type,
    id,
    timestamp: told.shownTime || timestampOf(told.usec, moment),
    author: told.author ?? "",
    message: joined(told.parts),
    amount: told.amount ?? "",
    color: told.color ?? "",
    parts: told.parts,
    details: present<Details>({ ...details, ...told.details }),
  } as Message; // `Told` has type and details in pairs, which the compiler cannot follow into this object
}

function timestampOf(usec: number | undefined, { offsetMs, receivedAt, timeOfDay }: Moment): string {
  if (offsetMs !== undefined) return offsetText(offsetMs);
  return timeOfDay(usec === undefined ? receivedAt : usec / 1000);
}

/** The upstream's id. Throws `BrokenItem` where there is none: what has no id cannot be told apart from others. */
export function usableId(value: unknown): string {
  const id = asString(value) ?? "";
  if (id === "" || id.length > BOUNDS.idLength || /[\p{Cc}\p{Cs}]/u.test(id))
    throw new BrokenItem("no usable id");
  return id;
}

/** Twelve characters that differ where the contents do. */
export function shortHash(...contents: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(contents)).digest("base64url").slice(0, 12);
}
