/**
 * The data that a page is rendered from, as its scripts carry it: `ytInitialData` and, on watch pages,
 * `ytInitialPlayerResponse`. Undefined where a page has none; never throws, whatever the page holds.
 */
import type { JsonObject } from "../../json.ts";
import { type Assigned, assignedObjects } from "./script-object.ts";

/** What the page shows: the first `ytInitialData` with contents. */
export function initialData(html: string): JsonObject | undefined {
  return firstWith(html, "ytInitialData", ["contents", "continuationContents"]);
}

/** What the page's player knows about the video: the first `ytInitialPlayerResponse` that judges whether it plays. */
export function playerResponse(html: string): JsonObject | undefined {
  return firstWith(html, "ytInitialPlayerResponse", ["playabilityStatus"]);
}

function firstWith(html: string, wanted: Assigned["name"], keys: readonly string[]): JsonObject | undefined {
  for (const { name, object } of assignedObjects(html)) {
    if (name === wanted && keys.some((key) => Object.hasOwn(object, key))) return object;
  }
  return undefined;
}
