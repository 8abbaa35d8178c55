/**
 * The data from which a page is rendered, as its scripts contain it: `ytInitialData` and, on watch pages,
 * `ytInitialPlayerResponse`. Undefined if a page has none. Never throws.
 */
import type { JsonObject } from "../../base/json.ts";
import { type Assigned, assignedObjects } from "./script-object.ts";

/** For each part: the name of its object, and keys. The object counts only if it has one of the keys. */
const PARTS = {
  content: ["ytInitialData", ["contents", "continuationContents"]],
  player: ["ytInitialPlayerResponse", ["playabilityStatus"]],
  /** If there is no such channel, the data has an alert and no contents. */
  channel: ["ytInitialData", ["contents", "alerts"]],
} as const satisfies Record<string, [Assigned["name"], readonly string[]]>;

type PagePart = keyof typeof PARTS;

/** The page's content: the first `ytInitialData` with contents. */
export function initialData(html: string): JsonObject | undefined {
  return firstOf(html, ["content"]).content;
}

/** The player's data about the video: the first `ytInitialPlayerResponse` with a playability status. */
export function playerResponse(html: string): JsonObject | undefined {
  return firstOf(html, ["player"]).player;
}

/** The content of a channel's page or of a watch page, and the player's data, in one pass over the page. */
export function channelData(html: string): { channel?: JsonObject; player?: JsonObject } {
  return firstOf(html, ["channel", "player"]);
}

function firstOf(html: string, parts: readonly PagePart[]): Partial<Record<PagePart, JsonObject>> {
  const found: Partial<Record<PagePart, JsonObject>> = {};
  const missing = new Set(parts);
  for (const { name, object } of assignedObjects(html)) {
    for (const part of missing) {
      const [wanted, keys] = PARTS[part];
      if (name !== wanted || !keys.some((key) => Object.hasOwn(object, key))) continue;
      found[part] = object;
      missing.delete(part);
    }
    if (missing.size === 0) break;
  }
  return found;
}
