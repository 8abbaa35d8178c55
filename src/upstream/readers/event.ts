/**
 * The message of an event: the fields that every kind has, filled from what a reader found. Ids that are not the
 * upstream's own are put together here and stay the same however often an event is read.
 */
import { createHash } from "node:crypto";
import { asString, present } from "../../json.ts";
import type { Details, Message, MessageType, Part } from "../../protocol/message.ts";
import { BOUNDS } from "../bounds.ts";
import type { Moment } from "./reader.ts";
import { joined } from "./text.ts";
import { offsetText } from "./timestamp.ts";

/** What a kind can say of itself. */
export interface Told {
  type: MessageType;
  parts: Part[];
  /** "" where nobody is. */
  author?: string;
  /** As the upstream writes the time; "" or absent: by `usec`. */
  shownTime?: string;
  /** Microseconds since 1970; absent: the time of receipt. */
  usec?: number | undefined;
  amount?: string;
  color?: string;
  details?: { [K in keyof Details]: Details[K] | undefined };
}

export function event(id: string, moment: Moment, told: Told): Message {
  return {
    type: told.type,
    id,
    timestamp: told.shownTime || timestampOf(told.usec, moment),
    author: told.author ?? "",
    message: joined(told.parts),
    amount: told.amount ?? "",
    color: told.color ?? "",
    parts: told.parts,
    details: present<Details>({ ...told.details }),
  };
}

function timestampOf(usec: number | undefined, { offsetMs, receivedAt, timeOfDay }: Moment): string {
  if (offsetMs !== undefined) return offsetText(offsetMs);
  return timeOfDay(usec === undefined ? receivedAt : usec / 1000);
}

/** The upstream's id. Throws where it is none: what has no id could not be told from others. */
export function usableId(value: unknown): string {
  const id = asString(value) ?? "";
  if (id === "" || id.length > BOUNDS.idLength || /[\p{Cc}\p{Cs}]/u.test(id)) throw new Error("no usable id");
  return id;
}

/** Twelve characters that differ where the contents do. */
export function shortHash(...contents: unknown[]): string {
  return createHash("sha256").update(JSON.stringify(contents)).digest("base64url").slice(0, 12);
}
