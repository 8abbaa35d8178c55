/**
 * A message as the log holds it. It is encoded once, when it is stored; from then on only this form moves through the
 * service.
 */
import type { RoomEnd } from "../protocol/chat.ts";
import type { Message } from "../protocol/message.ts";

/**
 * The eight fields as JSON, and the details as JSON of their own, so that
 * either form of a frame is put together without parsing anything.
 */
export interface EncodedMessage {
  id: string;
  /** JSON object text of the eight fields. */
  body: string;
  /** JSON object text of the details. */
  details: string;
}

/** A stored message with its place in the room. */
export interface StoredMessage extends EncodedMessage {
  cursor: number;
}

export function encodeMessage(message: Message): EncodedMessage {
  const { details, ...eightFields } = message;
  return { id: message.id, body: JSON.stringify(eightFields), details: JSON.stringify(details) };
}

export function decodeMessage({ body, details }: EncodedMessage): Message {
  return { ...JSON.parse(body), details: JSON.parse(details) };
}

/** As a store keeps it, UTF-8 without lone surrogates: so what is handed over to followers is what is read later. */
export function wellFormed<M extends EncodedMessage>(message: M): M {
  const { id, body, details } = message;
  return { ...message, id: id.toWellFormed(), body: body.toWellFormed(), details: details.toWellFormed() };
}

/** A room's row with its end, which a store holds as JSON text; null while the room is open. */
export function withEnd<Row extends { end: string | null }>(row: Row) {
  return { ...row, end: row.end === null ? null : (JSON.parse(row.end) as RoomEnd) };
}

/** The JSON text that a reader gets: the eight fields, with `details` as a ninth when it asked for them. */
export function messageJson(message: EncodedMessage, withDetails: boolean): string {
  return withDetails ? `${message.body.slice(0, -1)},"details":${message.details}}` : message.body;
}
