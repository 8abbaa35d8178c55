/**
 * Readers of the texts of settings and flags. One that is in a table throws an error that describes valid
 * texts.
 */
import { existsSync, readFileSync } from "node:fs";
import { messageOf } from "../base/error-message.ts";
import { fileTrouble } from "../base/file-trouble.ts";
import { publicKey, type TokenKey } from "../http/access/token-key.ts";
import { parseVideoOrChannel } from "../protocol/channel.ts";
import { withoutSurroundings } from "../protocol/pasted-name.ts";
import { RIGHT_FORMS, rightIn } from "../protocol/rights.ts";
import { storeKind } from "../store/port.ts";
import { CLIENTS, type ClientTable, clientTable } from "../upstream/clients.ts";
import { EntryError, type Flag } from "./flags.ts";

/** The maximum delay of a timer. */
const MAX_TIMER_MS = 2 ** 31 - 1;

const MAX_NAME_LENGTH = 60;

/** Far above an empty store, which has some hundred kilobytes. */
const MIN_STORE_BYTES = 10_000_000;

/** The row of a table. `unset`: as in `Flag`. */
export function flag<T>(
  defaultText: string,
  meaning: string,
  read: (text: string) => T,
  unset?: string,
): Flag<T> {
  return { default: defaultText, meaning, read, ...(unset !== undefined && { unset }) };
}

export function storeUrl(value: string): string {
  if (storeKind(value) === undefined) throw new Error("`sqlite:<path>`, `memory:` or `postgres://…`");
  return value;
}

export function postgresUrl(value: string): string | undefined {
  if (value === "") return undefined;
  if (storeKind(value) !== "shared" || !URL.canParse(value))
    throw new Error("`postgres://user@host:port/database`");
  return value;
}

/** Names of videos and channels. Throws `EntryError` for an entry that is neither. */
export function recordings(value: string): string[] {
  return [...new Set(entriesIn(value).map(recording))];
}

/** The entries of a comma-separated list. Empty ones are left out. */
function entriesIn(list: string): string[] {
  return list
    .split(",")
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
}

function recording(entry: string): string {
  try {
    return parseVideoOrChannel(entry);
  } catch {
    const name = withoutSurroundings(entry);
    throw new EntryError(name, "neither the id or URL of a video nor the handle, id or URL of a channel");
  }
}

/** A secret of at least 16 characters; "" if there is none. */
export function adminToken(value: string): string {
  if (value !== "" && !/^[\x21-\x7e]{16,}$/.test(value))
    throw new Error("at least 16 printable ASCII characters without spaces");
  return value;
}

/** "" if there is none. */
export function originToken(value: string): string {
  if (!/^[\x21-\x7e]{0,4096}$/.test(value))
    throw new Error("up to 4096 printable ASCII characters without spaces");
  return value;
}

/** The rights that need no token. Throws `EntryError` for an entry that is none. */
export function publicRights(value: string): string[] {
  const named = entriesIn(value);
  if (named.length === 1 && named[0] === "none") return [];
  return named.map((entry) => {
    const right = rightIn(entry);
    if (right !== undefined) return right;
    throw new EntryError(
      entry,
      entry === "none" ? "a list of its own: write it alone" : `no right; write ${RIGHT_FORMS}`,
    );
  });
}

const MIN_SECRET_BYTES = 32;
/** A text that looks like a file is never a secret: anyone who can guess its name could sign tokens. */
const FILE_NAME = /^(?:\.{0,2}\/|~)|\.(?:pem|key|pub)$/;
const TOKEN_KEY =
  "a secret of at least 32 bytes, a file with a public key in PEM, or the https:// URL of a JWKS";

/** Undefined if the setting is empty. */
export function tokenKey(value: string): TokenKey | undefined {
  if (value === "") return undefined;
  // As a secret, the text of a public key would let everybody who knows this key sign tokens.
  if (/-----BEGIN/.test(value))
    throw new Error(`${TOKEN_KEY}; this is the text of a file: give the name of the file`);
  if (/^[a-z]+:\/\//i.test(value)) {
    if (!/^https:/i.test(value) || !URL.canParse(value))
      throw new Error(`${TOKEN_KEY}; a URL begins with https://`);
    return { kind: "set", url: value };
  }
  if (FILE_NAME.test(value) || existsSync(value)) return { kind: "public", pem: publicKeyFile(value) };
  if (Buffer.byteLength(value) < MIN_SECRET_BYTES) throw new Error(TOKEN_KEY);
  return { kind: "secret", secret: value };
}

function publicKeyFile(path: string): string {
  let pem: string;
  try {
    pem = readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`${TOKEN_KEY}; the file ${fileTrouble(path, "read", error)}`);
  }
  if (!pem.includes("-----BEGIN"))
    throw new Error(
      `${TOKEN_KEY}; the file has no public key in PEM in it; for a secret, give its text, not its file`,
    );
  try {
    publicKey(pem);
  } catch (error) {
    throw new Error(`${TOKEN_KEY}; the file cannot be used (${messageOf(error)})`);
  }
  return pem;
}

/** A name that pages show; "" if there is none. */
export function pageName(value: string): string {
  const name = value.trim();
  if ([...name].length > MAX_NAME_LENGTH || /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(name))
    throw new Error(`at most ${MAX_NAME_LENGTH} visible characters on one line`);
  return name;
}

/** "" if there is none. */
export function aboutUrl(value: string): string {
  return value === "" ? "" : httpUrl("an http or https URL")(value).href;
}

/** The sources of the policy `frame-ancestors`; undefined if the setting is empty. */
export function frameAncestors(value: string): string | undefined {
  if (value === "") return undefined;
  if (value === "*") return "*";
  if (value === "none") return "'none'";
  const origins = originsIn(value, /^https?:\/\/(\*\.)?[\w.-]+(:\d+)?$/, "`*`, or `none`");
  return ["'self'", ...origins].join(" ");
}

/** The origins of a list; undefined for `*`. */
export function corsOrigins(value: string): ReadonlySet<string> | undefined {
  if (value === "*") return undefined;
  return new Set(originsIn(value, /^[a-z][a-z\d+.-]*:\/\/[\w.-]+(:\d+)?$/, "`*`"));
}

/** The origins of a list, each of the `form`. `others`: the other texts that the setting may have. */
function originsIn(list: string, form: RegExp, others: string): string[] {
  const origins = list.split(",").map((origin) => origin.trim());
  if (!origins.every((origin) => form.test(origin)))
    throw new Error(`a comma-separated list of origins such as https://example.org, or ${others}`);
  return origins;
}

/** The names of a list in lower case; each may end with `*`. */
export function headerNames(value: string): string[] {
  const names = entriesIn(value.toLowerCase());
  if (!names.every((name) => /^[\w-]+\*?$/.test(name)))
    throw new Error("a comma-separated list of header names such as traceparent or x-*");
  return names;
}

export function hostName(value: string): string {
  if (!/^[\w.:%-]+$/.test(value)) throw new Error("an address or a host name");
  return value;
}

/** A place to listen on besides the port of the service. */
export interface ListenAddress {
  host: string;
  port: number;
}

/** Undefined if the setting is empty. */
export function listenAddress(value: string): ListenAddress | undefined {
  if (value === "") return undefined;
  const { v6, name, port } =
    /^(?:\[(?<v6>[\da-f:.]+)\]|(?<name>[\w.-]+)):(?<port>\d{1,5})$/i.exec(value)?.groups ?? {};
  const host = v6 ?? name;
  if (host === undefined || !(Number(port) <= 65_535))
    throw new Error("an address and a port such as 127.0.0.1:9090");
  return { host, port: Number(port) };
}

export function whole(min = 0, max = Number.MAX_SAFE_INTEGER) {
  const lowest = min === 0 ? "" : ` of at least ${min}`;
  const bounds = max === Number.MAX_SAFE_INTEGER ? lowest : ` from ${min} to ${max}`;
  return (value: string): number => {
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN;
    if (!(number >= min && number <= max)) throw new Error(`a whole number${bounds}`);
    return number;
  };
}

/** A limit below an empty store's size, such as one that is meant in gigabytes, would delete everything. */
export function storeBytes(value: string): number {
  const bytes = whole()(value);
  if (bytes > 0 && bytes < MIN_STORE_BYTES)
    throw new Error(`a number of bytes of at least ${MIN_STORE_BYTES}, or 0`);
  return bytes;
}

export function ms(min: number) {
  return whole(min, MAX_TIMER_MS);
}

export function days(value: string): number {
  const number = /^\d{1,6}(\.\d+)?(e-\d+)?$/.test(value) ? Number(value) : Number.NaN;
  if (Number.isNaN(number)) throw new Error("a number of days, 0 or more");
  return number;
}

export function oneOf<const T extends string>(allowed: readonly T[]) {
  return (value: string): T => {
    const found = allowed.find((item) => item === value);
    if (found !== undefined) return found;
    const named = allowed.filter((item) => item !== "");
    throw new Error(`${named.length > 1 ? "one of " : ""}${named.join(", ")}`);
  };
}

export function clientsFile(path: string): ClientTable {
  if (path === "") return CLIENTS;
  try {
    return clientTable(JSON.parse(readFileSync(path, "utf8")));
  } catch (error) {
    throw new Error(`a readable JSON file of clients (${messageOf(error)})`);
  }
}

export function onOff(value: string): boolean {
  return oneOf(["on", "off"])(value) === "on";
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds that a text such as 90m spells; undefined if it spells none. */
export function durationIn(text: string): number | undefined {
  const [, count, unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  return count === undefined ? undefined : Number(count) * (UNIT_MS[unit] ?? 0);
}

/** More than none, in milliseconds. */
export function duration(text: string): number {
  const ms = durationIn(text);
  if (!ms) throw new Error("a time such as 90s, 30m, 12h or 30d, with a number from 1 to 999999");
  return ms;
}

/** Parts of a URL, some of which a setting does not allow. */
type UrlPart = "username" | "password" | "pathname" | "search" | "hash";

/** Reads an http or https URL that has none of the parts. `what`: the valid texts. */
export function httpUrl(what: string, ...refused: UrlPart[]) {
  return (value: string): URL => {
    const url = URL.parse(value);
    const isRefused = (part: UrlPart) => !["", "/"].includes(url?.[part] ?? "");
    if (!url || !/^https?:$/.test(url.protocol) || refused.some(isRefused)) throw new Error(what);
    return url;
  };
}

export function baseUrl(value: string): string {
  return httpUrl("an http or https URL without a path", "pathname", "search", "hash")(value).origin;
}

/** The base URL of a service, without a trailing slash. */
export function serviceUrl(value: string): string {
  const what =
    "an http or https URL without a user, password, query or fragment, such as http://127.0.0.1:8080";
  return httpUrl(what, "username", "password", "search", "hash")(value).href.replace(/\/+$/, "");
}

export function timezone(value: string): string {
  if (value === "UTC") return value; // `Intl` would load the locale data of Node.js, which take 7 MB
  try {
    return new Intl.DateTimeFormat("en-US", { timeZone: value }).resolvedOptions().timeZone;
  } catch {
    throw new Error("an IANA time zone such as Europe/Berlin");
  }
}
