/** The chats of an overlay that shows several in one list, each with a mark of its own. */
import { parseListedVideoId } from "../../src/protocol/video-id.ts";
import type { Parameters } from "../chat/parameters.ts";
import type { SourceMark } from "../chat/shown-message.ts";

export const MAX_CHATS = 6;

/**
 * The labels by video. An item of `labels` is such as `id:Wide`, with an id as in `videoIds`: both are
 * URL-encoded where they contain a comma or a colon.
 */
export function readLabels(parameters: Parameters): Map<string, string> {
  return new Map(
    parameters.list("labels").map((item) => {
      const [name = "", ...label] = item.split(":");
      return [idIn(parameters, "labels", decoded(name)), decoded(label.join(":"))];
    }),
  );
}

/** By video, in the order of `videoIds`. */
export function readMarks(
  parameters: Parameters,
  labels: ReadonlyMap<string, string>,
): Map<string, SourceMark> {
  const marks = new Map<string, SourceMark>();
  for (const name of parameters.list("videoIds")) {
    const videoId = idIn(parameters, "videoIds", name);
    if (videoId === "" || marks.has(videoId)) continue;
    if (marks.size === MAX_CHATS)
      parameters.refuse("videoIds", `the overlay shows ${MAX_CHATS} chats at most`, name);
    else marks.set(videoId, { videoId, place: marks.size + 1, label: labels.get(videoId) ?? "" });
  }
  return marks;
}

function idIn(parameters: Parameters, parameter: string, name: string): string {
  try {
    return parseListedVideoId(name);
  } catch (error) {
    parameters.refuse(parameter, (error as Error).message, name);
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
