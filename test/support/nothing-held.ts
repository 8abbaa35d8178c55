/** For `resolve`: a room that holds nothing of what the items are about. */
import type { resolve } from "../../src/reading/batch/resolve.ts";

export const NOTHING_HELD: Parameters<typeof resolve>[1] = {
  messages: new Map(),
  cursors: new Map(),
  replacements: new Map(),
  notices: new Map(),
};
