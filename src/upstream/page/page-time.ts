/** The times that pages name. One outside the years of the upstream is a mistake, and counts as none. */
import { asString } from "../../base/json.ts";

const MIN_TIME = Date.UTC(2005, 0);
const MAX_TIME = Date.UTC(2100, 0);

/** The time, in milliseconds since 1970, if it can be that of a broadcast. */
export function plausibleTime(ms: number): number | undefined {
  return ms >= MIN_TIME && ms < MAX_TIME ? ms : undefined;
}

/** The time of a text in ISO 8601; undefined for anything else. */
export function timeIn(value: unknown): number | undefined {
  return plausibleTime(Date.parse(asString(value) ?? ""));
}
