/** A position for tests that need any. */
import type { Position } from "../../src/upstream/position.ts";

/** A position in some live chat. */
export const POSITION: Position = {
  chatType: "liveChatRenderer",
  pair: { client: "WEB", endpoint: "get_live_chat" },
  credentials: { apiKey: "key", clientVersion: "1" },
  continuation: "token",
  view: "all",
  panels: [],
};
