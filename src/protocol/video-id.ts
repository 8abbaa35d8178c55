/**
 * Extracts the 11-character video id from an id or from any usual form of a video's URL. Permissive in form,
 * strict in host and length. Truncates nothing, and looks nothing up.
 */
import { RelayError } from "./errors.ts";

/** The maximum length of an input that is examined. */
export const MAX_INPUT_LENGTH = 2048;
/** The form of a video's id, for patterns of texts that contain one. */
export const VIDEO_ID_FORM = String.raw`[\w-]{11}`;
export const VIDEO_ID = new RegExp(`^${VIDEO_ID_FORM}$`);
/** Host, path, query and fragment. No user names, escaped or bracketed hosts, or backslashes. */
export const HTTP_URL =
  /^(?:(?:https?:)?\/\/)?((?:[a-z0-9-]+\.)+[a-z]+)(?::(?:80|443))?(\/[^?#]*)?(?:\?([^#]*))?(?:#(.*))?$/is;
const APP_LINK = /^vnd\.youtube:(?:\/\/)?([\w-]*)(?:[?#/].*)?$/is;

/** In lower case. */
export const HOSTS: ReadonlySet<string> = new Set([
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
/** Hosts whose URLs have the id as their path. */
const SHORT_HOSTS: ReadonlySet<string> = new Set(["youtu.be", "www.youtu.be", "y2u.be", "www.y2u.be"]);

/**
 * The location of the id in a URL, by the first segment of the path. Without another location, it is the
 * parameter `v` of the query or of the fragment.
 */
interface IdLocation {
  /** In the second segment, if there is one. */
  segment?: true;
  /** In another URL, the value of this parameter. */
  link?: string;
}

const ID_LOCATIONS: ReadonlyMap<string, IdLocation> = new Map([
  ["", {}],
  ["watch", { segment: true }],
  ["watch_popup", {}],
  ["live_chat", {}],
  ["live_chat_replay", {}],
  ["live", { segment: true }],
  ["shorts", { segment: true }],
  ["embed", { segment: true }],
  ["v", { segment: true }],
  ["e", { segment: true }],
  ["w", { segment: true }],
  ["video", { segment: true }],
  ["attribution_link", { link: "u" }],
  ["oembed", { link: "url" }],
  ["redirect", { link: "q" }],
]);

/** The number of characters of a refused name to quote. */
const MAX_QUOTED = 60;

/** Segments that look like ids, but name a player without a fixed video. */
const NOT_IDS: ReadonlySet<string> = new Set(["videoseries", "live_stream"]);

/**
 * The path of a channel's URL, or a handle or an id without a host. A channel can have several streams; only
 * a page of the upstream shows which ones are live.
 */
const CHANNEL = /^\/(@[^/]|(channel|c|user)\/|UC[\w-]{22}$)/;
const IS_CHANNEL =
  "is a channel, not a video: request it alone, as channel=…, or send the URL of one of its streams";

/**
 * The id of the video that the input names. Throws `RelayError` INVALID_VIDEO_ID; its message lists the
 * accepted forms.
 */
export function parseVideoId(input: string): string {
  if (input.length > MAX_INPUT_LENGTH) throw refusal(`is longer than ${MAX_INPUT_LENGTH} characters`);
  const text = input.trim().replaceAll("&amp;", "&");
  if (VIDEO_ID.test(text)) return text;
  const id = APP_LINK.exec(text)?.[1] ?? idInUrl(text, true);
  if (id === undefined) throw refusal("is a URL without a video id (in a query, `&` must be written `%26`)");
  if (!VIDEO_ID.test(id)) throw refusal("contains an id that is not 11 characters of A-Z a-z 0-9 _ -");
  return id;
}

/** As `parseVideoId`, for one of several names: the error's message quotes it. */
export function parseListedVideoId(name: string): string {
  try {
    return parseVideoId(name);
  } catch (error) {
    const { code, message } = error as RelayError;
    const quoted = name.length > MAX_QUOTED ? `${name.slice(0, MAX_QUOTED)}…` : name;
    throw new RelayError(code, message.replace(/^videoId/, `“${quoted}”`));
  }
}

function idInUrl(url: string, mayLinkOn: boolean): string | undefined {
  const match = HTTP_URL.exec(url);
  if (!match && CHANNEL.test(`/${url}`)) throw refusal(IS_CHANNEL);
  if (!match) throw refusal("is neither a video id of 11 characters nor the URL of a video");
  const [, host = "", path = "", query = "", fragment = ""] = match;
  const isShort = SHORT_HOSTS.has(host.toLowerCase());
  if (!isShort && !HOSTS.has(host.toLowerCase())) throw refusal("is a URL on a host that is not YouTube's");

  const [first = "", second] = path.split("/").filter((segment) => segment !== "");
  if (!isShort && CHANNEL.test(path)) throw refusal(IS_CHANNEL);
  const location = ID_LOCATIONS.get(first);
  if (!location) return isShort ? first : undefined;
  const parameters = new URLSearchParams(query);
  if (location.segment && second !== undefined) return NOT_IDS.has(second) ? undefined : second;
  if (location.link !== undefined) return mayLinkOn ? idInLink(parameters.get(location.link)) : undefined;
  return (parameters.get("v") ?? idInFragment(fragment, mayLinkOn)) || undefined;
}

/** The old sites have the page's path in the fragment: `#!v=…`, `#/watch?v=…`. */
function idInFragment(fragment: string, mayLinkOn: boolean): string | null | undefined {
  const page = fragment.replace(/^!/, "");
  if (page.startsWith("/")) return mayLinkOn ? idInLink(page) : undefined;
  return new URLSearchParams(page).get("v");
}

function idInLink(link: string | null): string | undefined {
  if (!link) return undefined;
  return idInUrl(/^\/(?!\/)/.test(link) ? `https://www.youtube.com${link}` : link, false);
}

function refusal(what: string): RelayError {
  return new RelayError(
    "INVALID_VIDEO_ID",
    `videoId ${what}. Send the 11-character id of a video, or its URL as the browser or the Share button shows it: ` +
      "youtube.com/watch?v=ID, youtu.be/ID, youtube.com/live/ID, studio.youtube.com/video/ID or similar.",
  );
}
