/**
 * Reduces the names of a channel to one form: its id (`UC…`), its handle (`@name`, in lower case), or the
 * name of an old URL (`c/name`, `user/name`, as it is written). Permissive in form, strict in host and
 * length. Looks nothing up, so the id and the handle of one channel stay two names.
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
import { parseVideoId, VIDEO_ID_FORM } from "./video-id.ts";

/** The form of a channel's id. */
export const CHANNEL_ID = /^UC[\w-]{22}$/;
/** A place in the chats of a channel: a video, and a cursor of its chat. */
export const CHANNEL_PLACE = new RegExp(String.raw`^(${VIDEO_ID_FORM})\.(\d+)$`);

/**
 * The forms of a name, each with or without a tab of the channel's page such as `live`. Handles have 3 to 30
 * characters, in some scripts fewer, and in some scripts joiners between letters. A name of dots would be
 * another path.
 */
const FORMS = [
  /^(?:channel\/)?(UC[\w-]{22})(?:\/[a-z]+)?$/,
  /^(@(?!\p{Join_Control})[\p{L}\p{M}\p{N}\p{Join_Control}_.·-]{1,30}(?<!\p{Join_Control}))(?:\/[a-z]+)?$/u,
  /^((?:c|user)\/(?!\.+(?:\/|$))[\p{L}\p{M}\p{N}_.·-]{1,100})(?:\/[a-z]+)?$/u,
];

const JOINERS = /\p{Join_Control}/gu;

/** The states of `ChannelState`. */
export const CHANNEL_STATES = ["live", "upcoming", "waiting"] as const;

/** The latest state of a channel: the data of a stream's `channel` event. */
export interface ChannelState {
  /** As `parseChannel` returns it. */
  channel: string;
  /** `UC…` and the display name, once the upstream has shown them. */
  channelId?: string;
  title?: string;
  /**
   * `live`, `upcoming`: the state of the broadcast `videoId`. `waiting`: there is no broadcast that can be
   * read; or, with `videoId`, the chat of this broadcast is not there. If a client is in that chat, it goes
   * on without another `init`.
   */
  state: (typeof CHANNEL_STATES)[number];
  videoId?: string;
  /** When a broadcast that is `upcoming` is scheduled to begin, ISO 8601 in UTC; absent if unknown. */
  startsAt?: string;
  /** All its broadcasts that are live, if there are several; only sent to clients that ask for it. */
  live?: readonly string[];
  /** Why the service waits although there may be a broadcast: a sentence without a full stop. */
  reason?: string;
}

/**
 * The channel that the input names: an id, a handle, `c/name`, `user/name`, or the URL of any of the
 * channel's pages. Throws `RelayError` INVALID_REQUEST; its message lists the accepted forms.
 */
export function parseChannel(input: string): string {
  try {
    return channelIn(pasted(input));
  } catch (error) {
    if (!(error instanceof NameFault)) throw error;
    throw new RelayError(
      "INVALID_REQUEST",
      `channel ${error.message}: ${quoted(input)}. Send a handle such as @name, a channel id (UC and 22 characters), or ` +
        `the URL of a channel: youtube.com/@name, youtube.com/channel/UC…, youtube.com/c/name, each with or without /live.${handleMeant(input)}`,
    );
  }
}

/** The video id, or the name of the channel, that the input names. Throws `RelayError` INVALID_REQUEST. */
export function parseVideoOrChannel(input: string): string {
  for (const parse of [parseVideoId, parseChannel]) {
    try {
      return parse(input);
    } catch {} // the other parser may know it
  }
  throw new RelayError(
    "INVALID_REQUEST",
    `The name is neither the id or URL of a video nor the handle, id or URL of a channel: ${quoted(input)}.`,
  );
}

/** Whether a name, as `parseVideoOrChannel` returns it, is that of a channel. */
export function isChannel(name: string): boolean {
  return /^@|^(?:c|user)\/|^UC.{22}$/.test(name);
}

function channelIn(name: string): string {
  const path = decoded(pathIn(name));
  const isHandle = path.startsWith("@");
  if (isPartlyInvisible(isHandle ? path.replace(JOINERS, "") : path))
    throw new NameFault("contains an invisible character");
  const found = FORMS.map((form) => form.exec(path)?.[1]).find((found) => found !== undefined);
  if (found !== undefined) return found;
  throw new NameFault(
    isHandle
      ? "has a handle that is not 1 to 30 letters, digits, _ - . or ·"
      : "is neither a handle nor the id or URL of a channel",
  );
}

/** The path of a URL, or a name without a host, without empty segments. */
function pathIn(name: string): string {
  const address = addressIn(name);
  if (address?.isShort) throw new NameFault("is a URL on a host that is not YouTube's");
  const segments = address?.segments.map(upToEnd) ?? name.split("/").filter((segment) => segment !== "");
  // The Studio has pages below those of a channel.
  return segments.slice(0, address?.host === "studio.youtube.com" ? 2 : segments.length).join("/");
}

/** Without percent-encoding, and a handle in lower case: handles differ by more than their case. */
function decoded(path: string): string {
  try {
    const name = decodeURIComponent(path).replace(/^＠/, "@");
    return (name.startsWith("@") ? name.toLowerCase() : name).normalize("NFC");
  } catch {
    throw new NameFault("has a percent-encoding that is not UTF-8");
  }
}
