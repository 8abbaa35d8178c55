/**
 * Names of videos and channels as people paste them: what surrounds a name and is none of it, and where a URL
 * leads.
 */

/** The maximum length of an input that is examined. */
export const MAX_INPUT_LENGTH = 2048;
/** The number of characters of a refused name to quote. */
const MAX_QUOTED = 60;

/** Characters of no width and marks of direction, among others. */
const IGNORABLE = String.raw`\p{Default_Ignorable_Code_Point}`;
const INVISIBLE = new RegExp(`[${IGNORABLE}]`, "u");
const BEFORE = new RegExp(`[\\s${IGNORABLE}<]`, "u");
const BEHIND = new RegExp(`[\\s${IGNORABLE}>]`, "u");
/** Characters that a text does not show. */
const UNSEEN = new RegExp(`[\\p{Cc}\\p{Zl}\\p{Zp}${IGNORABLE}]`, "gu");

/** Host, path, query and fragment. No user name, and no escape, bracket or backslash in the host. */
const HTTP_URL =
  /^(?:(?:https?:)?\/\/)?((?:[a-z0-9-]+\.)+[a-z]+)(?::(?:80|443))?(\/[^?#]*)?(?:\?([^#]*))?(?:#(.*))?$/is;

/** In lower case. */
const HOSTS: ReadonlySet<string> = new Set([
  "youtube.com",
  "www.youtube.com",
  "m.youtube.com",
  "music.youtube.com",
  "gaming.youtube.com",
  "studio.youtube.com",
  "youtubekids.com",
  "www.youtubekids.com",
  "youtube-nocookie.com",
  "www.youtube-nocookie.com",
  "youtube.googleapis.com",
]);
/** Hosts whose URLs have the id of a video as their path. */
const SHORT_HOSTS: ReadonlySet<string> = new Set([
  "youtu.be",
  "www.youtu.be",
  "m.youtu.be",
  "y2u.be",
  "www.y2u.be",
]);
/** All of its pages lead on to the page of this parameter. */
const CONSENT = { host: "consent.youtube.com", parameter: "continue" };
/** The pages that lead on, by the first segment of their path, and the parameter that is the other page. */
const LINKS: ReadonlyMap<string, string> = new Map([
  ["attribution_link", "u"],
  ["oembed", "url"],
  ["redirect", "q"],
  ["signin", "next"],
]);

/** Ends an id in a URL. A space does, too; nothing may follow it but the surroundings of a name. */
const END = /[?&/#>)\],;"'“”‘’«»]/;

/** A handle without its `@`, or the name of a channel, whose handle often has no spaces. */
const NAME = /^[\p{L}\p{M}\p{N}_.· -]{3,30}$/u;

/** A name cannot be used. The message says why: the end of a sentence, without a full stop. */
export class NameFault extends Error {}

/** A URL on one of YouTube's hosts. */
export interface Address {
  host: string;
  /** Whether the path is the id of a video. */
  isShort: boolean;
  /** The parts of the path that are not empty, as they are written. */
  segments: string[];
  query: URLSearchParams;
  fragment: string;
}

/** The name alone. Throws `NameFault` if the input is too long. */
export function pasted(input: string): string {
  if (input.length > MAX_INPUT_LENGTH) throw new NameFault(`is longer than ${MAX_INPUT_LENGTH} characters`);
  return withoutSurroundings(input).replaceAll("&amp;", "&");
}

/** Without spaces, angle brackets, and characters of no width or marks of direction at either end. */
export function withoutSurroundings(text: string): string {
  const characters = [...text];
  const start = characters.findIndex((character) => !BEFORE.test(character));
  const end = characters.findLastIndex((character) => !BEHIND.test(character));
  return characters.slice(start, end + 1).join("");
}

/**
 * The address that a name spells, or the one to which its page leads on; undefined if that is not a URL.
 * Throws `NameFault` if the host is another one.
 */
export function addressIn(name: string): Address | undefined {
  const address = addressOf(name);
  const next = address && nextOf(address);
  if (!next) return address && onHost(address);
  const nextAddress = addressOf(/^\/(?!\/)/.test(next) ? `https://www.youtube.com${next}` : next);
  return nextAddress && onHost(nextAddress);
}

/** An id in a URL, without what follows it. */
export function upToEnd(text: string): string {
  return text.split(END, 1)[0] ?? "";
}

/** Whether the name contains characters of no width or marks of direction. */
export function isPartlyInvisible(name: string): boolean {
  return INVISIBLE.test(name);
}

/** The text with the characters that it does not show as `U+200B`. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (c) => `U+${c.codePointAt(0)?.toString(16).toUpperCase().padStart(4, "0")}`);
}

/** A refused name for errors, without its surroundings. */
export function quoted(input: string): string {
  const name = withoutSurroundings(input.slice(0, MAX_INPUT_LENGTH));
  return `“${visible(name.length > MAX_QUOTED ? `${name.slice(0, MAX_QUOTED)}…` : name)}”`;
}

/** ` Did you mean @LofiGirl?` for refused names such as `LofiGirl` and `Lofi Girl`; "" for other forms. */
export function handleMeant(input: string): string {
  const name = withoutSurroundings(input.slice(0, MAX_INPUT_LENGTH));
  return NAME.test(name) ? ` Did you mean @${name.replaceAll(" ", "")}?` : "";
}

function addressOf(text: string): Address | undefined {
  const match = HTTP_URL.exec(text);
  if (!match) return undefined;
  const [, written = "", path = "", query = "", fragment = ""] = match;
  const host = written.toLowerCase();
  return {
    host,
    isShort: SHORT_HOSTS.has(host),
    segments: path.split("/").filter((segment) => segment !== ""),
    query: new URLSearchParams(query),
    fragment,
  };
}

/** The URL or path to which a page leads on. The old sites have the page's path in the fragment. */
function nextOf({ host, segments, query, fragment }: Address): string | null | undefined {
  if (host === CONSENT.host) return query.get(CONSENT.parameter);
  if (!HOSTS.has(host)) return undefined;
  const [first] = segments;
  if (first !== undefined) return query.get(LINKS.get(first) ?? "");
  const page = fragment.replace(/^!/, "");
  return page.startsWith("/") ? page : undefined;
}

function onHost(address: Address): Address {
  if (address.isShort || HOSTS.has(address.host)) return address;
  throw new NameFault("is a URL on a host that is not YouTube's");
}
