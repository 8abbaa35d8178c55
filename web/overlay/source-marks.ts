/** The chats of an overlay that shows several in one list, each with a mark of its own. */
import { parseListedVideoId } from "../../src/protocol/video-id.ts";
import { refuse } from "../chat/parameters.ts";
import type { SourceMark } from "../chat/shown-message.ts";

export const MAX_CHATS = 6;

/**
 * By video, in the order of `videoIds`. `labels`: items such as `id:Wide`, with ids as in `videoIds`, both
 * URL-encoded where they contain a comma or a colon. Items that cannot be used are named in the console.
 */
export function readMarks(videoIds: readonly string[], labels: readonly string[]): Map<string, SourceMark> {
  const labelOf = new Map(
    labels.map((item) => {
      const [name = "", ...label] = item.split(":");
      return [idIn("labels", decoded(name)), decoded(label.join(":"))] as const;
    }),
  );
  const marks = new Map<string, SourceMark>();
  for (const name of videoIds) {
    const videoId = idIn("videoIds", name);
    if (videoId === "" || marks.has(videoId)) continue;
    if (marks.size === MAX_CHATS) refuse("videoIds", name, `the overlay shows ${MAX_CHATS} chats at most`);
    else marks.set(videoId, { videoId, place: marks.size + 1, label: labelOf.get(videoId) ?? "" });
  }
  return marks;
}

function idIn(parameter: string, name: string): string {
  try {
    return parseListedVideoId(name);
  } catch (error) {
    refuse(parameter, name, (error as Error).message.replace(/\.$/, ""));
    return "";
  }
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
