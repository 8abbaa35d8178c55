/**
 * The upstream clients that this service can identify as, and their requests. Versions become outdated within
 * months. This file alone holds them, last checked in July 2026, and a settings file can replace them.
 */
import { asObject, asString, type JsonObject } from "../base/json.ts";
import type { Credentials } from "./page/credentials.ts";

/** The specification's three upstream hosts, as base URLs without a trailing slash. */
export interface UpstreamHosts {
  main: string;
  music: string;
  mobile: string;
}

/** The two endpoints of the chat. The bootstrap tries which of them answers for a video. */
export const ENDPOINTS = ["get_live_chat", "get_live_chat_replay"] as const;
type Endpoint = (typeof ENDPOINTS)[number];

/** How a client identifies itself to the upstream, and on which host. */
export interface Client {
  host: keyof UpstreamHosts;
  /** `X-YouTube-Client-Name` */
  id: number;
  name: string;
  /** Null to send the version that the upstream's own pages name. */
  pinnedVersion: string | null;
  userAgent: string;
  /** Further fields of the request's `context.client`. */
  context: JsonObject;
  /** The URL of the page in which an embedded player claims to be embedded. */
  embedUrl?: string;
}

const DESKTOP_AGENT =
  "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/138.0.0.0 Safari/537.36";
const TABLET_AGENT =
  "Mozilla/5.0 (iPad; CPU OS 16_7_10 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.6 Mobile/15E148 Safari/604.1,gzip(gfe)";
const TELEVISION_AGENT =
  "Mozilla/5.0 (ChromiumStylePlatform) Cobalt/25.lts.30.1034943-gold (unlike Gecko), Unknown_TV_Unknown_0/Unknown (Unknown, Unknown)";

/** A row may leave out its client's name if that is its label, and its host if that is the main one. */
type Row = Omit<Client, "host" | "name"> & Partial<Client>;

const DESKTOP = { userAgent: DESKTOP_AGENT, context: { platform: "DESKTOP" } };
const TELEVISION = { userAgent: TELEVISION_AGENT, context: { platform: "TV" } };
const ANDROID_11 = { androidSdkVersion: 30, osName: "Android", osVersion: "11" };
const MWEB = {
  id: 2,
  name: "MWEB",
  pinnedVersion: "2.20260708.05.00",
  userAgent: TABLET_AGENT,
  context: { platform: "MOBILE", clientFormFactor: "SMALL_FORM_FACTOR" },
};

// The specification's "Client labels tried", in its order.
const ROWS = {
  MWEB,
  WEB: { id: 1, pinnedVersion: null, ...DESKTOP },
  ANDROID: {
    id: 3,
    pinnedVersion: "21.26.364",
    userAgent: "com.google.android.youtube/21.26.364 (Linux; U; Android 11) gzip",
    context: { ...ANDROID_11, platform: "MOBILE" },
  },
  IOS: {
    id: 5,
    pinnedVersion: "21.26.4",
    userAgent: "com.google.ios.youtube/21.26.4 (iPhone16,2; U; CPU iOS 18_3_2 like Mac OS X;)",
    context: {
      deviceMake: "Apple",
      deviceModel: "iPhone16,2",
      osName: "iPhone",
      osVersion: "18.3.2.22D82",
      platform: "MOBILE",
    },
  },
  TVHTML5: { id: 7, pinnedVersion: "7.20260707.07.00", ...TELEVISION },
  TVHTML5_SIMPLY_EMBEDDED_PLAYER: embedded({ id: 85, pinnedVersion: "2.0", ...TELEVISION }),
  WEB_EMBEDDED_PLAYER: embedded({ id: 56, pinnedVersion: "2.20260708.00.00", ...DESKTOP }),
  ANDROID_EMBEDDED_PLAYER: embedded({
    id: 55,
    pinnedVersion: "19.09.37",
    context: ANDROID_11,
    userAgent: "com.google.android.youtube/19.09.37 (Linux; U; Android 11) gzip",
  }),
  "WEB_REMIX (music)": {
    id: 67,
    name: "WEB_REMIX",
    host: "music",
    pinnedVersion: "1.20260707.12.00",
    ...DESKTOP,
  },
  "MWEB (music)": { ...MWEB, host: "music" },
  "MWEB (m.youtube)": { ...MWEB, host: "mobile" },
  ANDROID_VR: {
    id: 28,
    pinnedVersion: "1.65.10",
    userAgent:
      "com.google.android.apps.youtube.vr.oculus/1.65.10 (Linux; U; Android 12L; eureka-user Build/SQ3A.220605.009.A1) gzip",
    context: {
      androidSdkVersion: 32,
      osName: "Android",
      osVersion: "12L",
      deviceMake: "Oculus",
      deviceModel: "Quest 3",
    },
  },
} as const satisfies Record<string, Row>;

function embedded({ context, ...row }: Row): Row {
  return { ...row, context: { ...context, clientScreen: "EMBED" }, embedUrl: "https://www.reddit.com/" };
}

export const CLIENTS = Object.fromEntries(
  Object.entries<Row>(ROWS).map(([label, row]) => [label, { host: "main", name: label, ...row }]),
) as Record<keyof typeof ROWS, Client>;

export type ClientLabel = keyof typeof CLIENTS;

export function isClientLabel(label: unknown): label is ClientLabel {
  return typeof label === "string" && Object.hasOwn(CLIENTS, label);
}

/** The table in use: the one above, with the replacements of a settings file. */
export type ClientTable = Readonly<Record<ClientLabel, Client>>;

/** The fields of a client that a settings file can replace, and their formats. */
const REPLACEABLE: Readonly<Record<string, RegExp>> = {
  version: /^[0-9][0-9.]{0,39}$/,
  userAgent: /^[\x20-\x7e]{1,500}$/,
};

/**
 * The table with the replacements of a settings file: `{"ANDROID": {"version": "21.30.1", "userAgent":
 * "…"}}`. Throws an error that names the mistake in the file's content.
 */
export function clientTable(replaced: unknown): ClientTable {
  const table: Record<ClientLabel, Client> = { ...CLIENTS };
  for (const [label, facts] of Object.entries(asObject(replaced) ?? fail("must be an object of clients"))) {
    if (!isClientLabel(label)) fail(`"${label.slice(0, 100)}" is not a client label`);
    const { version, userAgent } = readFacts(label, facts);
    const client = table[label];
    table[label] = {
      ...client,
      pinnedVersion: version ?? client.pinnedVersion,
      userAgent: userAgent ?? client.userAgent,
    };
  }
  return table;
}

function readFacts(label: ClientLabel, facts: unknown): Partial<Record<string, string>> {
  const entries = Object.entries(asObject(facts) ?? fail(`${label} must be an object`));
  return Object.fromEntries(
    entries.map(([name, value]) => {
      const form = REPLACEABLE[name] ?? fail(`${label}: "${name.slice(0, 100)}" cannot be replaced`);
      const text = asString(value);
      return [
        name,
        text !== undefined && form.test(text) ? text : fail(`${label}.${name} must match ${form}`),
      ];
    }),
  );
}

function fail(reason: string): never {
  throw new Error(reason);
}

// [spec] Try clients in the order `WEB`, then `TVHTML5`; for each, try `get_live_chat` before `get_live_chat_replay`.
export const BOOTSTRAP_PAIRS = pairsOf(["WEB", "TVHTML5"]);

// [spec] Twelve client configurations are each tried against both endpoints
export const ALL_PAIRS = pairsOf(Object.keys(CLIENTS).filter(isClientLabel));

function pairsOf(clients: readonly ClientLabel[]): Pair[] {
  return clients.flatMap((client) => ENDPOINTS.map((endpoint) => ({ client, endpoint })));
}

/** A client and the endpoint that it talks to. */
export interface Pair {
  client: ClientLabel;
  endpoint: Endpoint;
}

/** Sent with every request. The cookie answers the consent page. */
export function commonHeaders(host: string, userAgent: string) {
  return {
    "accept-language": "en-US,en;q=0.9",
    cookie: "SOCS=CAI",
    "user-agent": userAgent,
    origin: host,
    referer: `${host}/`,
  };
}

export interface ChatCall {
  pair: Pair;
  credentials: Credentials;
  continuation: string;
  /** The start of a replay, in milliseconds. Only the first call sends it: a later one would jump back. */
  playerOffsetMs?: number;
}

/** The HTTP request of one chat call. */
export function chatRequest(
  hosts: UpstreamHosts,
  clients: ClientTable,
  { pair, credentials, continuation, playerOffsetMs }: ChatCall,
) {
  return innertubeRequest(hosts, clients[pair.client], credentials, `live_chat/${pair.endpoint}`, {
    continuation,
    currentPlayerState: playerOffsetMs === undefined ? undefined : { playerOffsetMs: String(playerOffsetMs) },
  });
}

/** The HTTP request for the data of a video's watch page. */
export function nextRequest(
  hosts: UpstreamHosts,
  clients: ClientTable,
  credentials: Credentials,
  videoId: string,
) {
  return innertubeRequest(hosts, clients.WEB, credentials, "next", { videoId });
}

function innertubeRequest(
  hosts: UpstreamHosts,
  client: Client,
  { apiKey, clientVersion, visitorData }: Credentials,
  endpoint: string,
  body: JsonObject,
) {
  const host = hosts[client.host];
  const version = client.pinnedVersion ?? clientVersion;
  const key = apiKey === "" ? "" : `key=${encodeURIComponent(apiKey)}&`;
  return {
    method: "POST" as const,
    url: `${host}/youtubei/v1/${endpoint}?${key}prettyPrint=false`,
    headers: {
      ...commonHeaders(host, client.userAgent),
      "content-type": "application/json",
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
          visitorData,
        },
        thirdParty: client.embedUrl && { embedUrl: client.embedUrl },
      },
      ...body,
    }),
  };
}
