/**
 * The state of reading a chat, as a value: each answer returns the next position, and the reader passes it
 * back. The text form carries a version, so that a later service can continue from it.
 */
import { asObject, asString, dig, parseJson } from "../base/json.ts";
import { type ChatType, type ChatView, isChatType } from "../protocol/chat.ts";
import { type ChatCall, ENDPOINTS, isClientLabel, type Pair } from "./clients.ts";
import type { Credentials } from "./page/credentials.ts";
import { NO_PANELS, type Panels, toPanels } from "./readers/panels.ts";

export interface Position extends Omit<ChatCall, "continuation"> {
  chatType: ChatType;
  /** The token of the next poll; null when the chat is over. */
  continuation: string | null;
  /** What the token reads. */
  view: ChatView;
  /** The token of all messages, which a menu has offered and no answer has followed yet. */
  offered?: string | undefined;
  /** Whether a page or a menu has given the token: the answer may begin with the backlog of a live chat. */
  isOfPage?: boolean;
  /** The latest polls. The action that closes a poll names only its panel. */
  panels: Panels;
}

/** A stored position that cannot be used. The message says why, and contains no credential. */
export class UnreadablePosition extends Error {
  override readonly name = "UnreadablePosition";
}

const VERSION = 1;

export function encodePosition(position: Position): string {
  const { chatType, pair, credentials, continuation, view, offered, isOfPage, panels } = position;
  return JSON.stringify({
    version: VERSION,
    chatType,
    pair,
    credentials,
    continuation,
    view,
    offered,
    isOfPage,
    panels,
  });
}

/** Reads what `encodePosition` wrote. Throws `UnreadablePosition`. */
export function decodePosition(text: string): Position {
  const stored = asObject(parseJson(text));
  if (!stored) throw new UnreadablePosition("it is not a JSON object");
  const { version, chatType, continuation, view } = stored;
  if (version !== VERSION) throw new UnreadablePosition(`its version is ${JSON.stringify(version)}`);
  if (!isChatType(chatType)) throw new UnreadablePosition("it has no known chat type");
  if (continuation !== null && typeof continuation !== "string") {
    throw new UnreadablePosition("it has no continuation");
  }
  if (view !== "all" && view !== "top") throw new UnreadablePosition("it has no view");
  return {
    chatType,
    pair: pairIn(stored.pair),
    credentials: credentialsIn(stored.credentials),
    continuation,
    view,
    ...(typeof stored.offered === "string" && { offered: stored.offered }),
    ...(stored.isOfPage === true && { isOfPage: true }),
    panels: toPanels(stored.panels) ?? NO_PANELS,
  };
}

/** Whether the panels in the text can be read. `decodePosition` takes none if they cannot. */
export function hasPanels(text: string): boolean {
  return toPanels(dig(parseJson(text), "panels")) !== undefined;
}

function pairIn(stored: unknown): Pair {
  const client = dig(stored, "client");
  const endpoint = ENDPOINTS.find((known) => known === dig(stored, "endpoint"));
  if (!isClientLabel(client)) throw new UnreadablePosition("its client is not known");
  if (endpoint === undefined) throw new UnreadablePosition("its endpoint is not known");
  return { client, endpoint };
}

function credentialsIn(stored: unknown): Credentials {
  const apiKey = asString(dig(stored, "apiKey"));
  const clientVersion = asString(dig(stored, "clientVersion"));
  const visitorData = asString(dig(stored, "visitorData"));
  if (apiKey === undefined || clientVersion === undefined) {
    throw new UnreadablePosition("it has no credentials");
  }
  return { apiKey, clientVersion, ...(visitorData === undefined ? {} : { visitorData }) };
}
