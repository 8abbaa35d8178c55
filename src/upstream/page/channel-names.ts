/** The names of a video's channel, as the video's own watch page shows them. */
import { asString, dig } from "../../base/json.ts";
import { CHANNEL_ID, parseChannel } from "../../protocol/channel.ts";
import { UpstreamError } from "../upstream-error.ts";
import { channelData } from "./initial-data.ts";
import { whyNoChat } from "./no-chat.ts";

/**
 * The id of the channel and its handle in lower case, as far as the page shows them; none for a video that
 * does not exist. Throws `UpstreamError` "unusable" if the page says nothing of the channel: it is a wall, or
 * the video is hidden now.
 */
export function channelNamesIn(html: string, videoId: string): string[] {
  const { channel: data, player } = channelData(html);
  const details = dig(player, "videoDetails");
  if (dig(details, "videoId") !== videoId) {
    const { is, why, wallOf } = whyNoChat(html, videoId, data, player);
    if (is === "none") return [];
    throw new UpstreamError("unusable", why, { wallOf });
  }
  const id = asString(dig(details, "channelId")) ?? "";
  const owner = asString(dig(player, "microformat", "playerMicroformatRenderer", "ownerProfileUrl")) ?? "";
  return [...(CHANNEL_ID.test(id) ? [id] : []), ...handleIn(owner)];
}

/** The handle in the URL of a channel, in lower case; none for a channel without a handle. */
export function handleIn(url: string): string[] {
  try {
    const name = parseChannel(url.trim());
    return name.startsWith("@") ? [name] : [];
  } catch {
    return []; // the profile of a channel without a handle
  }
}
