/**
 * The settings, in one table: name, default, meaning and how each is read. `readSettings` takes their texts from
 * flags and environment, `toConfig` turns texts into a checked configuration; neither touches the process.
 */
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { HttpSettings } from "../http/server.ts";
import { OVERDUE_MS } from "../rooms/lateness.ts";
import type { RoomsSettings } from "../rooms/rooms.ts";
import { QUIET_MS } from "../rooms/silence.ts";
import { LOG_LEVELS, type LogLevel } from "../telemetry/log.ts";
import type { Deadlines } from "../upstream/calls.ts";
import { CLIENTS, type ClientTable, clientTable, type UpstreamHosts } from "../upstream/clients.ts";
import type { GateSettings } from "../upstream/egress/gate.ts";
import type { ReadingSettings } from "../upstream/live-chat.ts";

/** How long a viewer may take nothing of what was written. */
const STALL_MS = 30_000;
/** A chat answer is small, and waiting longer loses more than trying again; watch pages are large. */
const DEADLINES: Deadlines = { chatMs: 8000, pageMs: 15_000 };
/** The longest time that a timer can wait. */
const MAX_TIMER_MS = 2 ** 31 - 1;

interface Setting<T> {
  default: string;
  meaning: string;
  /** Throws an error that says what the text must be. */
  read(text: string): T;
}

export const SETTINGS = {
  RELAY_HOST: setting("127.0.0.1", "address to listen on", hostName),
  RELAY_PORT: setting("8080", "port to listen on (0: any free one, printed)", integer(0, 65_535)),
  RELAY_STORE: setting("sqlite:./data/relay.db", "`sqlite:<path>`, or `memory:` (forgets at exit)", storeUrl),
  RELAY_UPSTREAM_URL: setting("https://www.youtube.com", "main upstream host, as a base URL", baseUrl),
  RELAY_UPSTREAM_MUSIC_URL: setting(
    "https://music.youtube.com",
    "music upstream host, as a base URL",
    baseUrl,
  ),
  RELAY_UPSTREAM_MOBILE_URL: setting("https://m.youtube.com", "mobile upstream host, as a base URL", baseUrl),
  RELAY_GATE_SPACING_MS: setting("250", "least time between the starts of two upstream calls", ms(0)),
  RELAY_GATE_CONCURRENCY: setting("4", "most upstream calls in flight", integer(1, 1000)),
  RELAY_COOLDOWN_MS: setting(
    "30000",
    "pause after upstream throttling that names none (`Retry-After` wins); doubles while it goes on, to 10 minutes at most",
    ms(1),
  ),
  RELAY_POLL_MIN_MS: setting("500", "shortest polling interval", ms(1)),
  RELAY_POLL_MAX_MS: setting("15000", "longest polling interval", ms(1)),
  RELAY_GRACE_MS: setting(
    "90000",
    "how long a room without viewers lingers, and how long an ended one still answers resuming viewers",
    ms(0),
  ),
  RELAY_KEEPALIVE_MS: setting("15000", "interval of the keepalive comment", ms(1)),
  RELAY_MAX_FAILURES: setting(
    "5",
    "consecutive failed polls (throttling not counted) after which a room stops with an `error` frame",
    integer(1, 1_000_000),
  ),
  RELAY_FAILING_MS: setting(
    "120000",
    "a failing room does not stop before its last good answer is this long ago",
    ms(0),
  ),
  RELAY_NO_CHAT_MS: setting(
    "30000",
    "how long a stream's `NO_LIVE_CHAT` is remembered for the next viewer that asks; 0: not at all",
    ms(0),
  ),
  RELAY_MAX_ROOMS: setting("500", "most rooms open at once; over it `503 CAPACITY`", integer(1, 1_000_000)),
  RELAY_MAX_VIEWERS: setting(
    "50000",
    "most viewers at once; over it `503 CAPACITY`; lowered to what the limit of open files allows",
    integer(1, 10_000_000),
  ),
  RELAY_CHAT_VIEW: setting(
    "all",
    "`all` messages, or the upstream's `top` selection",
    oneOf(["all", "top"] as const),
  ),
  RELAY_CLIENTS_FILE: setting(
    "",
    'JSON file that replaces versions and user agents of upstream clients: `{"ANDROID": {"version": "21.30.1"}}`',
    clientsFile,
  ),
  RELAY_MAX_VIEWERS_PER_ADDRESS: setting(
    "0",
    "most viewers of one address (of IPv6 one /64 network); over it `503 CAPACITY`; 0: no limit",
    integer(0, 10_000_000),
  ),
  RELAY_TRUST_PROXY: setting(
    "0",
    "how many proxies stand in front and name the viewer's address in `X-Forwarded-For`; 0: none is believed",
    integer(0, 10),
  ),
  RELAY_CALLER_POLLING: setting(
    "on",
    "`off` withdraws `/v1/sessions` and `/v1/poll`, for public deployments that must not hand out credentials",
    onOff,
  ),
  RELAY_PROBE: setting("on", "`off` withdraws `/v1/probe`", onOff),
  RELAY_TIMEZONE: setting("UTC", "zone of the time shown with live messages, an IANA name", timezone),
  RELAY_RETENTION_DAYS: setting("30", "older messages are forgotten; fractions allowed, 0 keeps all", days),
  RELAY_RESTORED: setting(
    "off",
    "`on` for the one start after the store was restored from a backup: cursors of the lost time are void",
    onOff,
  ),
  RELAY_LOG_LEVEL: setting("info", `one of ${LOG_LEVELS.join(", ")}`, oneOf(LOG_LEVELS)),
} satisfies Record<string, Setting<unknown>>;

export type SettingName = keyof typeof SETTINGS;
type Texts = Record<SettingName, string>;
type Values = { [Name in SettingName]: ReturnType<(typeof SETTINGS)[Name]["read"]> };

export interface Config {
  host: string;
  port: number;
  /** `sqlite:<path>` or `memory:` */
  storeUrl: string;
  upstream: UpstreamHosts;
  clients: ClientTable;
  deadlines: Deadlines;
  gate: GateSettings;
  rooms: RoomsSettings;
  reading: ReadingSettings;
  http: HttpSettings;
  /** 0 keeps all. */
  retentionDays: number;
  /** The store is a backup: cursors given out since it was made must not be honoured. */
  restored: boolean;
  logLevel: LogLevel;
}

/** A setting that cannot be used; its message is the one line that says so. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** `--grace-ms` for RELAY_GRACE_MS. */
export function flagOf(name: string): string {
  return name
    .replace(/^RELAY_/, "")
    .toLowerCase()
    .replaceAll("_", "-");
}

/**
 * The settings' texts: a flag wins over the environment, that over the default. `extra` names the flags that a
 * command has beside the settings, each with a value. Throws `ConfigError` for an unknown flag.
 */
export function readSettings<Extra extends string = never>(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  extra: readonly Extra[] = [],
): { texts: Texts; extras: Partial<Record<Extra, string>> } {
  const names = Object.keys(SETTINGS) as SettingName[];
  const flags = parseFlags(args, [...names.map(flagOf), ...extra]);
  const texts = names.map((name) => [name, flags[flagOf(name)] ?? env[name] ?? SETTINGS[name].default]);
  const extras = extra.filter((flag) => flags[flag] !== undefined).map((flag) => [flag, flags[flag]]);
  return { texts: Object.fromEntries(texts), extras: Object.fromEntries(extras) };
}

function parseFlags(args: readonly string[], flags: readonly string[]): Record<string, string> {
  const options = Object.fromEntries(flags.map((flag) => [flag, { type: "string" as const }]));
  try {
    return { ...parseArgs({ args: [...args], options, strict: true }).values } as Record<string, string>;
  } catch (error) {
    const [why] = (error instanceof Error ? error.message : String(error)).split("\n");
    throw new ConfigError(`${why} (--help lists commands and flags)`);
  }
}

/** Checks every text. Throws `ConfigError`, naming the setting. */
export function toConfig(texts: Texts): Config {
  const names = Object.keys(SETTINGS) as SettingName[];
  const v = Object.fromEntries(names.map((name) => [name, checkedValue(name, texts[name])])) as Values;
  if (v.RELAY_POLL_MIN_MS > v.RELAY_POLL_MAX_MS) {
    throw new ConfigError("RELAY_POLL_MIN_MS: must not be above RELAY_POLL_MAX_MS");
  }
  return {
    host: v.RELAY_HOST,
    port: v.RELAY_PORT,
    storeUrl: v.RELAY_STORE,
    upstream: {
      main: v.RELAY_UPSTREAM_URL,
      music: v.RELAY_UPSTREAM_MUSIC_URL,
      mobile: v.RELAY_UPSTREAM_MOBILE_URL,
    },
    clients: v.RELAY_CLIENTS_FILE,
    deadlines: DEADLINES,
    gate: {
      spacingMs: v.RELAY_GATE_SPACING_MS,
      concurrency: v.RELAY_GATE_CONCURRENCY,
      cooldownMs: v.RELAY_COOLDOWN_MS,
    },
    rooms: {
      graceMs: v.RELAY_GRACE_MS,
      noChatMs: v.RELAY_NO_CHAT_MS,
      failingMs: v.RELAY_FAILING_MS,
      keepaliveMs: v.RELAY_KEEPALIVE_MS,
      stallMs: STALL_MS,
      quietMs: QUIET_MS,
      overdueMs: OVERDUE_MS,
      pollMinMs: v.RELAY_POLL_MIN_MS,
      pollMaxMs: v.RELAY_POLL_MAX_MS,
      maxFailures: v.RELAY_MAX_FAILURES,
      maxRooms: v.RELAY_MAX_ROOMS,
      maxViewers: v.RELAY_MAX_VIEWERS,
    },
    reading: { chatView: v.RELAY_CHAT_VIEW, timezone: v.RELAY_TIMEZONE },
    http: {
      callerPolling: v.RELAY_CALLER_POLLING,
      probe: v.RELAY_PROBE,
      maxViewersPerAddress: v.RELAY_MAX_VIEWERS_PER_ADDRESS || Number.POSITIVE_INFINITY,
      trustedProxies: v.RELAY_TRUST_PROXY,
    },
    retentionDays: v.RELAY_RETENTION_DAYS,
    restored: v.RELAY_RESTORED,
    logLevel: v.RELAY_LOG_LEVEL,
  };
}

function checkedValue(name: SettingName, text: string): unknown {
  try {
    return SETTINGS[name].read(text);
  } catch (error) {
    const must = (error instanceof Error ? error.message : String(error)).replaceAll(/\s+/g, " ");
    throw new ConfigError(`${name}: must be ${must}, not "${text.slice(0, 100)}"`);
  }
}

function setting<T>(defaultText: string, meaning: string, read: (text: string) => T): Setting<T> {
  return { default: defaultText, meaning, read };
}

function storeUrl(value: string): string {
  if (value.trim() === "") throw new Error("`sqlite:<path>` or `memory:`");
  return value;
}

function hostName(value: string): string {
  if (!/^[\w.:%-]+$/.test(value)) throw new Error("an address or a host's name");
  return value;
}

function integer(min: number, max: number) {
  return (value: string): number => {
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) throw new Error(`a whole number from ${min} to ${max}`);
    return number;
  };
}

function ms(min: number) {
  return integer(min, MAX_TIMER_MS);
}

function days(value: string): number {
  const number = /^\d{1,6}(\.\d{1,9})?$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw new Error("a number of days, 0 or more");
  return number;
}

function oneOf<const T extends string>(allowed: readonly T[]) {
  return (value: string): T => {
    const found = allowed.find((item) => item === value);
    if (found === undefined) throw new Error(`one of ${allowed.join(", ")}`);
    return found;
  };
}

function clientsFile(path: string): ClientTable {
  if (path === "") return CLIENTS;
  try {
    return clientTable(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    throw new Error(`a readable JSON file of clients (${error instanceof Error ? error.message : error})`);
  }
}

function onOff(value: string): boolean {
  return oneOf(["on", "off"] as const)(value) === "on";
}

function baseUrl(value: string): string {
  const url = URL.parse(value);
  if (!url || !/^https?:$/.test(url.protocol) || url.pathname !== "/" || url.search || url.hash) {
    throw new Error("an http or https URL without a path");
  }
  return url.origin;
}

function timezone(value: string): string {
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: value }).resolvedOptions().timeZone;
  } catch {
    throw new Error("an IANA time zone such as Europe/Berlin");
  }
}
