/**
 * The upstream clients that this service can speak as. Versions age within months, so they stand here and
 * nowhere else; last checked 2026-07.
 */
import type { Credentials } from "./credentials.ts";
import type { JsonObject } from "./json.ts";

/** The two endpoints of the chat; which of them answers for a video is found by trying. */
export const ENDPOINTS = ["get_live_chat", "get_live_chat_replay"] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

export type ClientLabel = "WEB" | "TVHTML5";

interface Client {
  /** `X-YouTube-Client-Name` */
  id: number;
  name: string;
  /** Null where the version that the upstream names itself is used. */
  pinnedVersion: string | null;
  userAgent: string;
  /** What else its context says of itself. */
  context: JsonObject;
}

export const CLIENTS: Record<ClientLabel, Client> = {
  WEB: {
    id: 1,
    name: "WEB",
    pinnedVersion: null,
    userAgent:
      "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36",
    context: { platform: "DESKTOP", clientFormFactor: "UNKNOWN_FORM_FACTOR" },
  },
  TVHTML5: {
    id: 7,
    name: "TVHTML5",
    pinnedVersion: "7.20260707.07.00",
    userAgent:
      "Mozilla/5.0 (ChromiumStylePlatform) Cobalt/25.lts.30.1034943-gold (unlike Gecko), Unknown_TV_Unknown_0/Unknown (Unknown, Unknown)",
    context: { platform: "TV" },
  },
};

// [spec] Try clients in the order `WEB`, then `TVHTML5`; for each, try `get_live_chat` before `get_live_chat_replay`.
export const BOOTSTRAP_PAIRS: readonly Pair[] = (["WEB", "TVHTML5"] as const).flatMap((client) =>
  ENDPOINTS.map((endpoint) => ({ client, endpoint })),
);

/** A client and the endpoint it talks to. */
export interface Pair {
  client: ClientLabel;
  endpoint: Endpoint;
}

/** Sent with every request: English texts, and the answer to the consent page. */
export const COMMON_HEADERS = { "accept-language": "en-US,en;q=0.9", cookie: "SOCS=CAI" };

export interface ChatCall {
  pair: Pair;
  credentials: Credentials;
  continuation: string;
  /** Where a replay is to start; only its first call says so, for later ones it would drag the chat back. */
  playerOffsetMs?: number;
}

/** The HTTP request of one chat call. */
export function chatRequest(host: string, { pair, credentials, continuation, playerOffsetMs }: ChatCall) {
  const client = CLIENTS[pair.client];
  const version = client.pinnedVersion ?? credentials.clientVersion;
  const { visitorData } = credentials;
  return {
    method: "POST" as const,
    url: `${host}/youtubei/v1/live_chat/${pair.endpoint}?key=${encodeURIComponent(credentials.apiKey)}&prettyPrint=false`,
    headers: {
      ...COMMON_HEADERS,
      "content-type": "application/json",
      origin: host,
      "user-agent": client.userAgent,
      "x-youtube-client-name": String(client.id),
      "x-youtube-client-version": version,
      ...(visitorData === undefined ? {} : { "x-goog-visitor-id": visitorData }),
    },
    body: JSON.stringify({
      context: {
        client: {
          hl: "en",
          clientName: client.name,
          clientVersion: version,
          userAgent: client.userAgent,
          ...client.context,
          ...(visitorData === undefined ? {} : { visitorData }),
        },
      },
      continuation,
      ...(playerOffsetMs === undefined
        ? {}
        : { currentPlayerState: { playerOffsetMs: String(playerOffsetMs) } }),
    }),
  };
}
