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

/** Finds a part of the page: the first object that is it. */
type Find = (part: PagePart) => JsonObject | undefined;

/**
 * The content of a video's page, and a function that finds the player's data: pages with a chat do without
 * it. Both in one pass over the page.
 */
export function videoData(html: string): {
  content: JsonObject | undefined;
  player: () => JsonObject | undefined;
} {
  const find = partsOf(html);
  return { content: find("content"), player: () => find("player") };
}

/** The content of a channel's page or of a watch page, and the player's data, in one pass over the page. */
export function channelData(html: string): {
  channel: JsonObject | undefined;
  player: JsonObject | undefined;
} {
  const find = partsOf(html);
  return { channel: find("channel"), player: find("player") };
}

/** Each search goes on where the one before it has ended, and remembers the parts that it passes. */
function partsOf(html: string): Find {
  const objects = assignedObjects(html);
  const found = new Map<PagePart, JsonObject>();
  return (part) => {
    while (!found.has(part)) {
      const { value, done } = objects.next();
      if (done) return undefined;
      for (const [passed, [name, keys]] of Object.entries(PARTS) as [PagePart, (typeof PARTS)[PagePart]][]) {
        if (name !== value.name || found.has(passed)) continue;
        if (keys.some((key) => Object.hasOwn(value.object, key))) found.set(passed, value.object);
      }
    }
    return found.get(part);
  };
}
