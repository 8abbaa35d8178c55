/**
 * The rows of a store, read strictly: a damaged one is reported, and affects no other row. In place of a
 * damaged message, viewers get a `gap` under its cursor. It is stored only where messages are blanked
 * (`blanking.ts`), and by an import of an export that has it.
 */
import { asArray, asObject, asString, dig, type JsonObject, parseJson } from "../base/json.ts";
import type { RoomEnd } from "../protocol/chat.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import { isErrorCode } from "../protocol/errors.ts";
import type { MessageOf } from "../protocol/message.ts";
import type { UnreadableRow } from "../telemetry/store-events.ts";
import {
  decodeMessage,
  type EncodedMessage,
  encodeMessage,
  gapId,
  isoOf,
  type StoredMessage,
  typeOf,
} from "./stored-message.ts";

/** Called whenever a row that cannot be read is met. */
export type OnUnreadable = (row: UnreadableRow) => void;

const TEXTS = ["type", "id", "timestamp", "author", "message", "amount", "color"] as const;
const MISSING = "A message is missing here: the stored one is damaged.";
const UNKNOWN_END: RoomEnd = {
  state: "failed",
  error: { code: "INTERNAL", message: "How this chat ended cannot be read from the store." },
};

/** The `gap` in place of a damaged message. It keeps the row's id, which the room still holds. */
export function gapInPlaceOf({ id, cursor, storedAt: at = 0 }: StoredMessage): StoredMessage {
  const gap: MessageOf<"gap"> = {
    type: "gap",
    id: gapId(cursor - 1),
    timestamp: "",
    author: "",
    message: MISSING,
    amount: "",
    color: "",
    parts: [{ kind: "text", text: MISSING }],
    details: { gap: { since: isoOf(at), until: isoOf(at), reason: "down" } },
  };
  return { ...encodeMessage(gap), id, cursor, storedAt: at };
}

/** Whether it is a `gap` in place of a damaged message: only its id is from the row. */
export function isInPlace(stored: StoredMessage): boolean {
  return typeOf(stored) === "gap" && decodeMessage(stored).id !== stored.id;
}

/**
 * Whether a message can be read. Frames are composed of both texts, so each must be one object on one line,
 * without blanks around it.
 */
export function isReadable(message: EncodedMessage): boolean {
  return isSound(message, asObject(parseJson(message.body)), asObject(parseJson(message.details)));
}

/** As `isReadable`, of a message whose texts are parsed already; undefined if they are not objects. */
export function isSound(
  { body, details }: Pick<EncodedMessage, "body" | "details">,
  fields: JsonObject | undefined,
  more: JsonObject | undefined,
): boolean {
  return (
    fields !== undefined &&
    TEXTS.every((name) => typeof fields[name] === "string") &&
    asArray(fields.parts) !== undefined &&
    more !== undefined &&
    isOneLine(body) &&
    isOneLine(details)
  );
}

function isOneLine(json: string): boolean {
  return json.startsWith("{") && json.endsWith("}") && !/[\n\r]/.test(json);
}

/** The room's row with its end read from JSON text: null while it is open, failed if it cannot be read. */
export function withEnd<Row extends { key: ChatKey; end: string | null }>(
  row: Row,
  onUnreadable: OnUnreadable,
): Omit<Row, "end"> & { end: RoomEnd | null } {
  const end = row.end === null ? null : readEnd(row.end);
  if (end === undefined) onUnreadable({ part: "end", key: row.key });
  return { ...row, end: end === undefined ? UNKNOWN_END : end };
}

/** Undefined if it cannot be read. */
export function readEnd(stored: string): RoomEnd | undefined {
  const end = asObject(parseJson(stored));
  const isReadable =
    end?.state === "failed"
      ? isErrorCode(asString(dig(end, "error", "code"))) && typeof dig(end, "error", "message") === "string"
      : (end?.state === "ended" || end?.state === "released") && typeof end.reason === "string";
  return isReadable ? (end as unknown as RoomEnd) : undefined;
}

/** The names in a column of names separated by spaces. */
export function namesIn(column: unknown): string[] {
  return typeof column === "string" ? column.split(" ").filter((name) => name !== "") : [];
}
