/** The videos that the page is asked to show: none, one, or several side by side. */
import { RelayError } from "../../src/protocol/errors.ts";
import { parseListedVideoId } from "../../src/protocol/video-id.ts";

const MAX_VIDEOS = 6;

export interface Videos {
  /** As they were given. */
  names: readonly string[];
  /** The id or URL of the only video; empty if there is none, or if there are several. */
  videoId: string;
  /** The ids of several videos, each once. */
  videoIds: readonly string[];
  /** Why the names cannot be used. */
  refusal?: RelayError;
}

/** `names`: ids and URLs. A single name is not checked here; the service does that. */
export function readVideos(names: readonly string[]): Videos {
  const [videoId = "", ...others] = names;
  if (others.length === 0) return { names, videoId, videoIds: [] };
  try {
    const videoIds = [...new Set(names.map(parseListedVideoId))];
    if (videoIds.length > MAX_VIDEOS)
      throw new RelayError(
        "INVALID_REQUEST",
        `These are ${videoIds.length} videos, and the page shows ${MAX_VIDEOS} at most. Leave some out.`,
      );
    return videoIds.length === 1 ? { names, videoId, videoIds: [] } : { names, videoId: "", videoIds };
  } catch (error) {
    return { names, videoId: "", videoIds: [], refusal: error as RelayError };
  }
}
