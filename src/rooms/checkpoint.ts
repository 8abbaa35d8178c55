/** Where a poller stands, as it is stored with every batch: enough to go on after a restart without a bootstrap. */

import { asObject, asString } from "../json.ts";
import type { ChatType } from "../protocol/chat.ts";
import { ENDPOINTS, type Endpoint, isClientLabel, type Pair } from "../upstream/clients.ts";
import type { Credentials } from "../upstream/page/credentials.ts";
import { type OpenPanels, toPanels } from "../upstream/readers/panels.ts";

export interface Checkpoint {
  chatType: ChatType;
  /** Fixed for the room's life. */
  pair: Pair;
  credentials: Credentials;
  /** The next token; null when the chat is over. */
  continuation: string | null;
  /** The polls that are open: those that close one name it only by its panel. */
  panels: OpenPanels;
}

export function encodeCheckpoint(checkpoint: Checkpoint): string {
  return JSON.stringify(checkpoint);
}

/** Undefined where the text is none, or of a form or a client that this version does not know. */
export function decodeCheckpoint(text: string | null): Checkpoint | undefined {
  const stored = asObject(parse(text ?? ""));
  const pair = asObject(stored?.pair);
  const credentials = asObject(stored?.credentials);
  const { chatType, continuation } = stored ?? {};
  const apiKey = asString(credentials?.apiKey);
  const clientVersion = asString(credentials?.clientVersion);
  const visitorData = asString(credentials?.visitorData);
  if (chatType !== "liveChatRenderer" && chatType !== "liveChatReplayRenderer") return undefined;
  if (!isClientLabel(pair?.client) || !isEndpoint(pair.endpoint)) return undefined;
  if (apiKey === undefined || clientVersion === undefined) return undefined;
  if (continuation !== null && typeof continuation !== "string") return undefined;
  return {
    chatType,
    pair: { client: pair.client, endpoint: pair.endpoint },
    credentials: { apiKey, clientVersion, ...(visitorData === undefined ? {} : { visitorData }) },
    continuation,
    panels: toPanels(stored?.panels),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isEndpoint(value: unknown): value is Endpoint {
  return ENDPOINTS.some((endpoint) => endpoint === value);
}
