/** Reads a message as `export` and `watch --json --details` write it: a JSON object on one line. */
import { asArray, asObject, asString, dig, type JsonObject } from "../../src/base/json.ts";
import { MESSAGE_TYPES, type MessageType } from "../../src/protocol/kinds.ts";
import type { Message, Part } from "../../src/protocol/message.ts";
import { isWithinBounds } from "./message-bounds.ts";

/** A string that the details of a type must have. */
const REQUIRED: Partial<Record<MessageType, readonly [string, string]>> = {
  supersticker: ["sticker", "label"],
  jewels: ["jewels", "gift"],
  poll: ["poll", "question"],
  deleted: ["target", "messageId"],
  author_deleted: ["target", "authorId"],
  replaced: ["target", "messageId"],
  gap: ["gap", "reason"],
};

const TEXTS = ["id", "timestamp", "author", "message", "amount", "color"] as const;

/** Whether the object looks like a line of an export. */
export function isMessageLine(line: JsonObject): boolean {
  return asString(line.type) !== undefined && asString(line.id) !== undefined;
}

/** The message, without its cursor. Undefined if a field is missing or too large, or the type is unknown. */
export function readMessageLine(line: JsonObject): Message | undefined {
  const type = MESSAGE_TYPES.find((known) => known === line.type);
  const details = asObject(line.details);
  const parts = asArray(line.parts);
  if (!type || !details || line.id === "" || !parts?.every(isPart)) return undefined;
  if (TEXTS.some((name) => typeof line[name] !== "string")) return undefined;
  const required = REQUIRED[type];
  if (required && typeof dig(details, ...required) !== "string") return undefined;
  const texts = Object.fromEntries(TEXTS.map((name) => [name, line[name]]));
  const message = { type, ...texts, parts, details } as unknown as Message; // checked above, field by field
  return isWithinBounds(message) ? message : undefined;
}

function isPart(value: unknown): value is Part {
  const part = asObject(value);
  if (typeof part?.text !== "string") return false;
  if (part.kind === "emoji") return typeof part.custom === "boolean" && typeof (part.url ?? "") === "string";
  return part.kind === "text" || (part.kind === "link" && typeof part.url === "string");
}
