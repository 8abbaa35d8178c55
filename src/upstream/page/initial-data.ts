/**
 * The data from which a page is rendered, as its scripts contain it: `ytInitialData` and, on watch pages,
 * `ytInitialPlayerResponse`. Undefined if a page has none. Never throws.
 */
import type { JsonObject } from "../../json.ts";
import { type Assigned, assignedObjects } from "./script-object.ts";

/** The page's content: the first `ytInitialData` with contents. */
export function initialData(html: string): JsonObject | undefined {
  return firstWith(html, "ytInitialData", ["contents", "continuationContents"]);
}

/** The player's data about the video: the first `ytInitialPlayerResponse` with a playability status. */
export function playerResponse(html: string): JsonObject | undefined {
  return firstWith(html, "ytInitialPlayerResponse", ["playabilityStatus"]);
}

function firstWith(html: string, wanted: Assigned["name"], keys: readonly string[]): JsonObject | undefined {
  for (const { name, object } of assignedObjects(html)) {
    if (name === wanted && keys.some((key) => Object.hasOwn(object, key))) return object;
  }
  return undefined;
}
