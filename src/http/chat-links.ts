/**
 * YouTube's addresses on this host, such as `/watch?v=ID` and `/@handle`: each leads to the page of its chat.
 */
import { isChannel, parseVideoOrChannel } from "../protocol/channel.ts";
import { parseStart } from "../protocol/offset.ts";

/** The pages of YouTube that this host stands in for. Only their path and query matter. */
const YOUTUBE = "https://www.youtube.com";

/**
 * The page of the chat that a URL without its host names, relative to it, because a proxy may add a prefix.
 * Undefined if it names neither a video nor a channel.
 */
export function chatPageOf(url: string): string | undefined {
  try {
    const name = parseVideoOrChannel(YOUTUBE + url);
    const start = new URLSearchParams(url.replace(/^[^?]*/, "")).get("t") ?? "";
    const query = new URLSearchParams({
      [isChannel(name) ? "channel" : "videoId"]: name,
      ...(parseStart(start) !== undefined && { t: start }),
    });
    return `${homeFrom(url)}?${String(query).replaceAll("%40", "@")}`;
  } catch {
    return undefined;
  }
}

/** The path of the service's first page, relative to a URL without its host: `./`, `../` or similar. */
export function homeFrom(url: string): string {
  const folders = url.replace(/\?.*/s, "").split("/").length - 2;
  return folders === 0 ? "./" : "../".repeat(folders);
}
