/**
 * A message in the log. It is encoded once, when it is stored; from then on, the service handles only this
 * form.
 */
import { asString, dig, parseJson } from "../base/json.ts";
import type { Message } from "../protocol/message.ts";

const PLAIN = "chat";
/** How the text of a plain chat message begins. All others are rare: an index of the store finds them. */
export const BEGINS_PLAIN = `{"type":"${PLAIN}"`;

/** Whether the store finds messages of this type by an index. */
export const isRare = (type: string): boolean => type !== PLAIN;

/**
 * The eight fields and the details as separate JSON texts, so that both forms of a frame are built without
 * parsing.
 */
export interface EncodedMessage {
  id: string;
  /** JSON object text of the eight fields, the type first: by it, the store finds rare messages. */
  body: string;
  /** JSON object text of the details. */
  details: string;
}

/** A stored message with its cursor. */
export interface StoredMessage extends EncodedMessage {
  cursor: number;
}

export function encodeMessage(message: Message): EncodedMessage {
  const { type, details, ...others } = message;
  return { id: message.id, body: JSON.stringify({ type, ...others }), details: JSON.stringify(details) };
}

export function decodeMessage({ body, details }: EncodedMessage): Message {
  return { ...JSON.parse(body), details: JSON.parse(details) };
}

/** The type of an encoded message. Parses nothing, as long as the type is the first field. */
export function typeOf({ body }: EncodedMessage): string {
  return /^{"type":"(\w+)"/.exec(body)?.[1] ?? asString(dig(parseJson(body), "type")) ?? "";
}

/**
 * When the last of the messages was said, in wall milliseconds; 0 if that is not known. Parses no JSON: in a
 * JSON text, only a key has quotes that are not escaped.
 */
export function lastSaidAt(messages: readonly EncodedMessage[]): number {
  const saidAt = ({ details }: EncodedMessage) =>
    Date.parse(/"publishedAt":"([^"]+)"/.exec(details)?.[1] ?? "") || 0;
  return messages.reduce((last, message) => Math.max(last, saidAt(message)), 0);
}

/**
 * The message as a store keeps it: UTF-8 without lone surrogates. So followers get the same text as later
 * readers.
 */
export function wellFormed<M extends EncodedMessage>(message: M): M {
  const { id, body, details } = message;
  return { ...message, id: id.toWellFormed(), body: body.toWellFormed(), details: details.toWellFormed() };
}

/** Whether the message was blanked, so that its replacement must not be shown either. */
export function isBlank({ author, message, amount, parts }: Omit<Message, "details">): boolean {
  return author === "" && message === "" && amount === "" && parts.length === 0;
}

/** The message's JSON for a viewer: the eight fields, and `details` as a ninth if the viewer requested it. */
export function messageJson(message: EncodedMessage, withDetails: boolean): string {
  return withDetails ? `${message.body.slice(0, -1)},"details":${message.details}}` : message.body;
}
