/**
 * The table of settings: each with its default, its meaning and its reader, in the groups in which help and
 * docs/settings.md show them. `serve` has all but those of edges, and `demo` all of these but the store and
 * YouTube's hosts; `edge` has its own and those of the port. Settings that are gone are here, too: setting
 * one stops the start.
 */
import { CHAT_VIEWS } from "../protocol/chat.ts";
import { LOG_LEVELS } from "../telemetry/log-levels.ts";
import { parseEgressSpecs } from "../upstream/egress/spec.ts";
import type { FlagTable } from "./flags.ts";
import {
  aboutUrl,
  adminToken,
  baseUrl,
  clientsFile,
  corsOrigins,
  days,
  flag,
  frameAncestors,
  headerNames,
  hostName,
  listenAddress,
  ms,
  oneOf,
  onOff,
  originToken,
  pageName,
  postgresUrl,
  publicRights,
  recordings,
  serviceUrl,
  storeBytes,
  storeUrl,
  timezone,
  tokenKey,
  whole,
} from "./setting-readers.ts";

/** The settings that most deployments need. */
const COMMON = {
  RELAY_HOST: flag("127.0.0.1", "address to listen on; `0.0.0.0` listens on all IPv4 addresses", hostName),
  RELAY_PORT: flag("8080", "port to listen on; 0 takes any free port, which the log shows", whole(0, 65_535)),
  RELAY_STORE: {
    ...flag(
      "sqlite:./data/relay.db",
      "where messages are stored: `sqlite:<path>`, `postgres://user:password@host:port/database`, or `memory:` (lost at exit)",
      storeUrl,
    ),
    hasPassword: true as const,
  },
  RELAY_RETENTION_DAYS: flag(
    "30",
    "messages older than this are deleted; fractions are allowed, and 0 keeps everything",
    days,
  ),
  RELAY_MAX_STORE_BYTES: flag(
    "0",
    "size of the store at which only recordings open chats, and the oldest rooms are deleted, recorded ones last; at least 10000000, or 0 for no limit",
    storeBytes,
  ),
  RELAY_RECORD: flag(
    "",
    "comma-separated list of videos and channels (`@name`, `UC…`, a URL) to read even without viewers: each video until its chat ends, each channel stream by stream",
    recordings,
  ),
  RELAY_GRACE_MS: flag(
    "90000",
    "how long a chat is still read after its last viewer leaves, and how long a chat that is over is still served to viewers that resume",
    ms(0),
  ),
  RELAY_TIMEZONE: flag(
    "UTC",
    "time zone of the `timestamp` of live messages, such as `Europe/Berlin`",
    timezone,
  ),
  RELAY_DELETED: flag(
    "keep",
    "what happens to a stored message when it is deleted in the chat: `keep` it, or `blank` its text, author and amount",
    oneOf(["keep", "blank"]),
  ),
  RELAY_TRUST_PROXY: flag(
    "0",
    "number of reverse proxies in front of the service whose `X-Forwarded-For` is trusted",
    whole(0, 10),
  ),
  RELAY_NAME: flag("", "name of this service, which the viewer page shows; at most 60 characters", pageName),
  RELAY_ABOUT_URL: flag(
    "",
    "http or https URL of a page about this service, to which its name leads",
    aboutUrl,
  ),
  RELAY_LOG_LEVEL: flag("info", `one of ${LOG_LEVELS.join(", ")}`, oneOf(LOG_LEVELS)),
};

const ACCESS = {
  RELAY_MAX_VIEWERS: flag(
    "50000",
    "maximum number of viewers; above it `503 CAPACITY`; lowered at start if the limit of open files requires it",
    whole(1, 10_000_000),
  ),
  RELAY_MAX_VIEWERS_PER_ADDRESS: flag(
    "0",
    "maximum number of viewers from one IPv4 address or IPv6 /64 network; above it `503 CAPACITY`; 0 means no limit",
    whole(0, 10_000_000),
  ),
  RELAY_PUBLIC: flag(
    "watch,rooms,probe,poll",
    "the rights that need no token, in a list: `watch` (all chats), `watch:NAME` (a video, or a channel: `@name`, `UC…`), `rooms` (their list), `probe`, `poll` (`/v1/sessions`, `/v1/poll`), `record` (`/v1/recordings`), `feature` and `feature:NAME` (`/v1/featured`), or `none` alone",
    publicRights,
  ),
  RELAY_ADMIN_TOKEN: {
    ...flag("", "secret of at least 16 characters; clients that send it have all rights", adminToken),
    isSecret: true as const,
  },
  RELAY_TOKEN_KEY: {
    ...flag(
      "",
      "what signs the JSON Web Tokens of clients: a secret of at least 32 bytes (HS256), a file with a public key in PEM (EdDSA, ES256, RS256), or the `https://` URL of a JWKS",
      tokenKey,
    ),
    isSecret: true as const,
  },
  RELAY_TOKEN_AUDIENCE: flag(
    "",
    "the `aud` that tokens must have; if not set, any will do",
    (value) => value,
  ),
  RELAY_MAX_ROOMS: flag(
    "500",
    "maximum number of live chats that are read or followed at the same time, and likewise of replays; above it `503 CAPACITY`. Chats that are over do not count",
    whole(1, 1_000_000),
  ),
  RELAY_METRICS_LISTEN: flag(
    "",
    "address and port, such as `127.0.0.1:9090`, that serve `/metrics` in place of the service's own port; `/readyz` and `/healthz` are on both",
    listenAddress,
    "the service's own port",
  ),
  RELAY_FRAME_ANCESTORS: flag(
    "",
    "which sites may embed the pages in a frame: a comma-separated list of origins such as `https://example.org` or `https://*.example.org`, `*` for all sites, or `none` for no site. If not set, any site may embed `/overlay`, and only the service itself the other pages",
    frameAncestors,
    "not set",
  ),
  RELAY_CORS_ORIGINS: flag(
    "*",
    "which sites' pages may call the API from a browser (CORS): a comma-separated list of origins such as `https://example.org`, or `*` for all sites",
    corsOrigins,
  ),
  RELAY_CORS_HEADERS: flag(
    "traceparent,tracestate",
    "further request headers that pages of other sites may send: a comma-separated list of names; `x-*` stands for all that begin with `x-`",
    headerNames,
  ),
};

const STREAMS = {
  RELAY_CHAT_VIEW: flag(
    "all",
    "`all` messages, or only YouTube's selection of `top` messages",
    oneOf(CHAT_VIEWS),
  ),
  RELAY_COMPRESSION: flag(
    "auto",
    "`auto` compresses streams with gzip for viewers that accept it, each batch once for all viewers; `off` never does",
    oneOf(["auto", "off"]),
  ),
  RELAY_KEEPALIVE_MS: flag(
    "15000",
    "interval of the comment that keeps connections without messages open",
    ms(1),
  ),
  RELAY_LONG_POLL_MS: flag(
    "20000",
    "how long a long poll of `/v1/log` waits for a message",
    whole(1000, 60_000),
  ),
  RELAY_LOG_SSE_MS: flag(
    "60000",
    "how long a connection of `/v1/log` with `live=sse` stays open, so that caches can share the next one; 0: as long as its client wants",
    ms(0),
  ),
};

const UPSTREAM = {
  RELAY_CHANNEL_MS: flag(
    "60000",
    "minimum time between two looks at a channel's pages; a channel for which nobody waits is not looked at",
    ms(1),
  ),
  RELAY_LOOK_MS: flag("30000", "how often a chat that is switched off or hidden is looked for again", ms(1)),
  RELAY_HIDDEN_MS: flag(
    "21600000",
    "how long the chat of a video that is private, for members, or behind a sign-in is waited for; after that it counts as over",
    ms(0),
  ),
  RELAY_POLL_MAX_MS: flag(
    "15000",
    "maximum time between two polls of a chat; a lower one loses fewer messages of a chat that suddenly becomes very lively",
    ms(1),
  ),
  RELAY_GATE_SPACING_MS: flag("250", "minimum time between the starts of two calls to YouTube", ms(0)),
  RELAY_GATE_CONCURRENCY: flag("4", "maximum number of calls to YouTube in flight", whole(1, 1000)),
  RELAY_COOLDOWN_MS: flag(
    "30000",
    "pause after YouTube throttles without a `Retry-After`; doubles while throttling continues, up to 10 minutes",
    ms(1),
  ),
  RELAY_MAX_LATENESS_MS: flag(
    "5000",
    "maximum delay of a poll, cooldowns excluded; a new live chat that would push polls beyond it is refused with `503 CAPACITY`",
    ms(0),
  ),
  RELAY_EGRESS: {
    ...flag(
      "direct",
      "comma-separated list of egresses (ways to reach YouTube), each with its own pace: `direct`, `ip:<local address>`, `http://host:port`, `socks5://host:port`; instances on one PostgreSQL share the pace of those with the same name (`office=direct`)",
      parseEgressSpecs,
    ),
    isSecret: true,
  },
  RELAY_CLIENTS_FILE: flag(
    "",
    'JSON file that replaces versions and user agents of client identities of YouTube: `{"ANDROID": {"version": "21.30.1"}}`',
    clientsFile,
  ),
} satisfies FlagTable;

const INSTANCES = {
  RELAY_RESTORED: flag(
    "off",
    "`on` for the first start after a backup was restored; remove it afterwards. Moves all cursors past those already given out",
    onOff,
  ),
  RELAY_LEASE_MS: flag(
    "6000",
    "PostgreSQL: how long an instance that no longer answers stays the owner of its rooms; at most half an hour",
    whole(300, 1_800_000), // a lease that ends later than in an hour counts as a mistake of the clock
  ),
  RELAY_DRAIN_MS: flag(
    "5000",
    "PostgreSQL: how long a stopping instance stays unready before it hands its rooms over",
    ms(0),
  ),
  RELAY_STORE_LISTEN_URL: {
    ...flag(
      "",
      "PostgreSQL: a direct connection for `LISTEN`, if RELAY_STORE goes through a pooler in transaction mode",
      postgresUrl,
      "RELAY_STORE's",
    ),
    hasPassword: true as const,
  },
  RELAY_STORE_FAILOVER: flag(
    "",
    "PostgreSQL: set to `synchronous` if a failover never loses committed data; cursors are then kept",
    oneOf(["", "synchronous"]),
  ),
  RELAY_WORKERS: flag(
    "1",
    "number of processes that share the port, to use several cores (Linux); the first one also reads the chats, or, with `edge`, follows the origin",
    whole(1, 64),
  ),
};

/** What only tests and rehearsals set. */
const REHEARSALS = {
  RELAY_NO_CHAT_MS: flag(
    "30000",
    "how long the answer for a video without a chat is cached; 0 turns this off",
    ms(0),
  ),
  RELAY_MAX_FAILURES: flag(
    "5",
    "number of failed polls in a row after which the service stops reading a chat, with an `error` frame; throttling does not count",
    whole(1, 1_000_000),
  ),
  RELAY_FAILING_MS: flag(
    "120000",
    "how old a chat's last good answer must be before failed polls stop its reading",
    ms(0),
  ),
  RELAY_POLL_MIN_MS: flag(
    "500",
    "minimum time between two polls of a chat; replays are polled at this interval",
    ms(1),
  ),
  RELAY_UPSTREAM_URL: flag("https://www.youtube.com", "base URL of YouTube's main host", baseUrl),
  RELAY_UPSTREAM_MUSIC_URL: flag("https://music.youtube.com", "base URL of YouTube Music's host", baseUrl),
  RELAY_UPSTREAM_MOBILE_URL: flag("https://m.youtube.com", "base URL of YouTube's mobile host", baseUrl),
};

/** The settings that only `edge` has. */
export const OF_EDGE = {
  RELAY_ORIGIN: flag(
    "",
    "base URL of the instance that the edge follows (it may be an edge itself), such as `https://chat.example.org`, with or without a path",
    (url) => (url === "" ? "" : serviceUrl(url)),
  ),
  RELAY_ORIGIN_TOKEN: {
    ...flag(
      "",
      "token that the edge shows to its origin, if the origin's RELAY_PUBLIC does not contain `watch`. Answers to a token are private, so such an edge keeps none: each page is a request at the origin",
      originToken,
    ),
    isSecret: true as const,
  },
  RELAY_EDGE_TAIL: flag(
    "2000",
    "number of newest messages of each chat that an edge holds in memory; it fetches older ones from the origin",
    whole(1, 100_000),
  ),
};

export const SETTINGS = {
  ...COMMON,
  ...ACCESS,
  ...STREAMS,
  ...UPSTREAM,
  ...INSTANCES,
  ...REHEARSALS,
} satisfies FlagTable;

/** Those of all services. */
export const ALL_SETTINGS = { ...SETTINGS, ...OF_EDGE };

/** The flags of `serve`, and of `check`. */
export const SERVE_FLAGS = {
  check: {
    default: "off",
    meaning:
      "check settings, store, port and open files as `check` does, without a call to YouTube, and exit",
    isSwitch: true as const,
    read: (text: string) => text === "on",
  },
  open: {
    default: "off",
    meaning:
      "open the viewer page in the browser once the service runs, or that of a service which already runs on the port",
    isSwitch: true as const,
    read: (text: string) => text === "on",
  },
  ...SETTINGS,
};
export const CHECK_FLAGS = {
  report: flag(
    "",
    "new file for the maintainers: the findings, and the forms of YouTube's answers, without names, texts and tokens",
    (path) => path,
  ),
  ...SETTINGS,
};

export type SettingName = keyof typeof SETTINGS;

/** The settings of a port, which an edge has in common with any other instance. */
const OF_PORT = [
  "RELAY_HOST",
  "RELAY_PORT",
  "RELAY_GRACE_MS",
  "RELAY_DELETED",
  "RELAY_TRUST_PROXY",
  "RELAY_NAME",
  "RELAY_ABOUT_URL",
  "RELAY_LOG_LEVEL",
  "RELAY_MAX_VIEWERS",
  "RELAY_MAX_VIEWERS_PER_ADDRESS",
  "RELAY_MAX_ROOMS",
  "RELAY_METRICS_LISTEN",
  "RELAY_FRAME_ANCESTORS",
  "RELAY_CORS_ORIGINS",
  "RELAY_CORS_HEADERS",
  "RELAY_PUBLIC",
  "RELAY_ADMIN_TOKEN",
  "RELAY_TOKEN_KEY",
  "RELAY_TOKEN_AUDIENCE",
  "RELAY_COMPRESSION",
  "RELAY_KEEPALIVE_MS",
  "RELAY_LONG_POLL_MS",
  "RELAY_LOG_SSE_MS",
  "RELAY_WORKERS",
] as const satisfies SettingName[];

export const PORT_SETTINGS = Object.fromEntries(OF_PORT.map((name) => [name, SETTINGS[name]])) as Pick<
  typeof SETTINGS,
  (typeof OF_PORT)[number]
>;

/** The settings of `edge`. */
export const EDGE_SETTINGS = { ...OF_EDGE, ...PORT_SETTINGS };

/** The settings under their titles, as help and docs/settings.md show them. */
export const SETTING_GROUPS: readonly [title: string, settings: FlagTable][] = [
  ["Common settings", COMMON],
  ["Limits and access", ACCESS],
  ["Rooms and streams", STREAMS],
  ["Calls to YouTube", UPSTREAM],
  ["The store, and several instances", INSTANCES],
  ["Edges", OF_EDGE],
  ["For tests and rehearsals", REHEARSALS],
];

const PUBLIC = "set RELAY_PUBLIC to the rights that need no token, by default watch,rooms,probe,poll";

/** Settings of earlier versions: for each, what to do instead. */
export const GONE: Readonly<Record<string, string>> = {
  RELAY_CALLER_POLLING: `${PUBLIC}; without poll, it is what off was: RELAY_PUBLIC=watch,rooms,probe`,
  RELAY_PROBE: `${PUBLIC}; without probe, it is what off was: RELAY_PUBLIC=watch,rooms,poll`,
  RELAY_ROOMS: `${PUBLIC}; without rooms, it is what off was: RELAY_PUBLIC=watch,probe,poll`,
};
