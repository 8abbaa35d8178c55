/**
 * Extracts the 11-character video id from an id or from any usual form of a video's URL. Permissive in form,
 * strict in host and length. Truncates nothing, and looks nothing up.
 */
import { RelayError } from "./errors.ts";
import {
  addressIn,
  handleMeant,
  isPartlyInvisible,
  NameFault,
  pasted,
  quoted,
  upToEnd,
} from "./pasted-name.ts";

/** The form of a video's id, for patterns of texts that contain one. */
export const VIDEO_ID_FORM = String.raw`[\w-]{11}`;
export const VIDEO_ID = new RegExp(`^${VIDEO_ID_FORM}$`);
/** An id without a URL, and what may follow it: the rest of the URL that contained it. */
const BARE_ID = new RegExp(`^(${VIDEO_ID_FORM})(?:[?&#/>].*)?$`, "s");
const APP_LINK = /^vnd\.youtube:(?:\/\/)?([\w-]*)(?:[?&#/].*)?$/is;

/** The first segments of a path that the id follows, if there is a second segment. */
const BEFORE_ID: ReadonlySet<string> = new Set(["watch", "live", "shorts", "embed", "v", "e", "w", "video"]);
/** The first segments of the pages whose id is the parameter `v` of the query or of the fragment alone. */
const PAGES: ReadonlySet<string> = new Set(["", "watch_popup", "live_chat", "live_chat_replay"]);

/** Segments that look like ids, but name a player without a fixed video. */
const NOT_IDS: ReadonlySet<string> = new Set(["videoseries", "live_stream"]);

/**
 * The path of a channel's URL, or a handle or an id without a host. A channel can have several streams; only
 * a page of the upstream shows which ones are live.
 */
const CHANNEL = /^\/([@＠][^/]|(channel|c|user)\/|UC[\w-]{22}$)/;
const IS_CHANNEL =
  "is a channel, not a video: request it alone, as channel=…, or send the URL of one of its streams";

/**
 * The id of the video that the input names. Throws `RelayError` INVALID_VIDEO_ID; its message lists the
 * accepted forms.
 */
export function parseVideoId(input: string): string {
  return parsed(input, (what) => `videoId ${what}: ${quoted(input)}`);
}

/** As `parseVideoId`, for one of several names: the error's message begins with it. */
export function parseListedVideoId(input: string): string {
  return parsed(input, (what) => `${quoted(input)} ${what}`);
}

function parsed(input: string, sentence: (what: string) => string): string {
  try {
    return idIn(pasted(input));
  } catch (error) {
    if (!(error instanceof NameFault)) throw error;
    throw new RelayError(
      "INVALID_VIDEO_ID",
      `${sentence(error.message)}. Send the 11-character id of a video, or its URL as the browser or the Share button ` +
        `shows it: youtube.com/watch?v=ID, youtu.be/ID, youtube.com/live/ID, studio.youtube.com/video/ID or similar.${handleMeant(input)}`,
    );
  }
}

function idIn(name: string): string {
  if (isPartlyInvisible(name)) throw new NameFault("contains an invisible character");
  if (/\s/.test(name)) throw new NameFault("contains a space");
  const bare = BARE_ID.exec(name)?.[1];
  if (bare !== undefined) return bare;
  const id = APP_LINK.exec(name)?.[1] ?? idInUrl(name);
  if (id === undefined)
    throw new NameFault("is a URL without a video id (in a query, `&` must be written `%26`)");
  if (!VIDEO_ID.test(id)) throw new NameFault("contains an id that is not 11 characters of A-Z a-z 0-9 _ -");
  return id;
}

function idInUrl(url: string): string | undefined {
  const address = addressIn(url);
  if (!address && CHANNEL.test(`/${url}`)) throw new NameFault(IS_CHANNEL);
  if (!address) throw new NameFault("is neither a video id of 11 characters nor the URL of a video");
  const { isShort, segments, query, fragment } = address;
  if (!isShort && CHANNEL.test(`/${segments.join("/")}`)) throw new NameFault(IS_CHANNEL);
  const [first = "", second] = segments;
  const isPath = BEFORE_ID.has(first) && second !== undefined;
  if (!isPath && !BEFORE_ID.has(first) && !PAGES.has(first)) return isShort ? upToEnd(first) : undefined;
  const page = new URLSearchParams(fragment.replace(/^!/, ""));
  const id = upToEnd((isPath ? second : (query.get("v") ?? page.get("v"))) ?? "");
  return NOT_IDS.has(id) ? undefined : id || undefined;
}
