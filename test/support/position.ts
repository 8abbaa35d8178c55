import type { Position } from "../../src/upstream/position.ts";

/** Where the reading of some live chat stands. */
export const POSITION: Position = {
  chatType: "liveChatRenderer",
  pair: { client: "WEB", endpoint: "get_live_chat" },
  credentials: { apiKey: "key", clientVersion: "1" },
  continuation: "token",
  panels: [],
};
