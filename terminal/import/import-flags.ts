/** The flags of `import`. */

import type { Argument, Flag } from "../../src/cli/flags.ts";
import { SETTINGS } from "../../src/cli/setting-table.ts";
import { parseVideoId } from "../../src/protocol/video-id.ts";

const { RELAY_STORE, RELAY_TIMEZONE, RELAY_DELETED } = SETTINGS;

/** Undefined: the file or its name says it. */
const video: Flag<string | undefined> = {
  default: "",
  unset: "the id in the file or in its name",
  meaning: "id or URL of the video",
  read: (text) => {
    if (text === "") return undefined;
    try {
      return parseVideoId(text);
    } catch {
      throw new Error("the id or the URL of a video");
    }
  },
};

export const IMPORT_FLAGS = { video, RELAY_STORE, RELAY_TIMEZONE, RELAY_DELETED };

export const CAPTURE: Argument = {
  name: "file",
  meaning:
    "a .live_chat.json of yt-dlp, the JSON of chat-downloader, or JSON lines of export or of watch --json --details; also compressed (.gz)",
  isRepeated: true,
};
