/**
 * The data that a page is rendered from, as its scripts carry it: `ytInitialData` and, on watch pages,
 * `ytInitialPlayerResponse`. Undefined where a page has none; never throws, whatever the page holds.
 */
import type { JsonObject } from "../../json.ts";
import { scriptObjects } from "./script-object.ts";

/** `var NAME =`, `NAME=`, `window["NAME"] =` */
const INITIAL_DATA = /ytInitialData(?:["']\s*\])?\s*=\s*/g;
const PLAYER_RESPONSE = /ytInitialPlayerResponse(?:["']\s*\])?\s*=\s*/g;

/** What the page shows: the first `ytInitialData` with contents. */
export function initialData(html: string): JsonObject | undefined {
  return firstWith(html, INITIAL_DATA, ["contents", "continuationContents"]);
}

/** What the page's player knows about the video: the first `ytInitialPlayerResponse` that judges whether it plays. */
export function playerResponse(html: string): JsonObject | undefined {
  return firstWith(html, PLAYER_RESPONSE, ["playabilityStatus"]);
}

function firstWith(html: string, opening: RegExp, keys: readonly string[]): JsonObject | undefined {
  for (const object of scriptObjects(html, opening)) {
    if (keys.some((key) => Object.hasOwn(object, key))) return object;
  }
  return undefined;
}
