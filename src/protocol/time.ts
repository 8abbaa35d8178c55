/** Reads a point in time as callers write it. */

/** The last millisecond that `Date` can show. */
const MAX_MS = 8.64e15;
/** A blank before the offset is a plus sign that was not percent-encoded in a query. */
const ISO =
  /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d{1,20}))?)?(?:Z|([+\- ])(\d\d)(?::?(\d\d))?)$/i;

/**
 * The milliseconds since 1970 of a text: these milliseconds themselves, or ISO 8601 with a zone. Fractions of
 * a millisecond are rounded up, so that nothing stored before the time is at or after it; or down, as the
 * times of messages are. Undefined for any other text.
 */
export function parseTime(text: string, rounding: "up" | "down" = "up"): number | undefined {
  if (/^\d{1,16}$/.test(text)) return Number(text) <= MAX_MS ? Number(text) : undefined;
  const [, date = "", time, seconds = "00", fraction = "", sign = "+", hours = "00", minutes = "00"] =
    ISO.exec(text) ?? [];
  // `Date.parse` takes the 30th of February for the 2nd of March.
  const midnight = Date.parse(`${date}T00:00Z`);
  if (Number.isNaN(midnight) || !new Date(midnight).toISOString().startsWith(date)) return undefined;
  const offset = `${sign.replace(" ", "+")}${hours}:${minutes}`;
  const ms = Date.parse(`${date}T${time}:${seconds}.${fraction.slice(0, 3).padEnd(3, "0")}${offset}`);
  const isBehind = rounding === "up" && /[1-9]/.test(fraction.slice(3));
  return Number.isNaN(ms) ? undefined : ms + (isBehind ? 1 : 0);
}
