/** The video whose chat an action is from. Only the menu of a chat item names it. */
import { VIDEO_ID_FORM } from "../../protocol/video-id.ts";
import { base64Text } from "./base64.ts";

/** As JSON text, with or without spaces. In the text of a message, the quotes would be escaped. */
const MENU = /"liveChatItemContextMenuEndpoint":\s*\{\s*"params":\s*"([\w+/=%-]+)"/;
/** Two fields of a protobuf message: a channel's id (24 characters), then a video's id. */
const CHANNEL_AND_VIDEO = new RegExp(`\\n\\p{Cc}UC[\\w-]{22}\\p{Cc}{2}(${VIDEO_ID_FORM})`, "u");

/**
 * The video's id in the JSON text of an action, or undefined if no menu names it. Wire fact: `params` is
 * base64 of the escaped base64 of a protobuf message that contains the message's id, and then the two ids.
 */
export function videoIdIn(json: string): string | undefined {
  const [, params = ""] = MENU.exec(json) ?? [];
  return CHANNEL_AND_VIDEO.exec(base64Text(base64Text(params)))?.[1];
}
