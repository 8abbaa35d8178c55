/**
 * Times: the upstream's microseconds since 1970, and the texts in which a message shows when it was written. No
 * clock is read here.
 */
import { asNumber } from "../../json.ts";

/** `timestampUsec`: microseconds since 1970; undefined where there is none (the upstream also writes 0 for that). */
export function microseconds(value: unknown): number | undefined {
  const number = asNumber(value);
  return number !== undefined && Number.isSafeInteger(number) && number > 0 ? number : undefined;
}

/** ISO 8601 in UTC, microseconds kept: `2026-01-02T03:04:05.678901Z`. */
export function isoTime(usec: number): string {
  const toMilliseconds = new Date(Math.floor(usec / 1000)).toISOString().slice(0, -1);
  return `${toMilliseconds}${String(usec % 1000).padStart(3, "0")}Z`;
}

/**
 * Makes what shows a wall time (milliseconds since 1970) as `h:mm AM` in a zone (an IANA name; throws
 * `RangeError` for an unknown one). Making it is expensive, using it is cheap.
 */
export function timeOfDay(timezone: string): (epochMs: number) => string {
  const format = new Intl.DateTimeFormat("en-US", {
    hour: "numeric",
    minute: "2-digit",
    hour12: true,
    timeZone: timezone,
  });
  // Newer locale data put a narrow no-break space before AM and PM.
  return (epochMs) => format.format(epochMs).replaceAll(/\s/g, " ");
}

/** A replay's offset, in milliseconds, as the upstream shows it: `m:ss`, `h:mm:ss`, before the start `-m:ss`. */
export function offsetText(offsetMs: number): string {
  const seconds = Math.trunc(Math.abs(offsetMs) / 1000);
  const hours = Math.floor(seconds / 3600);
  const minutes = Math.floor(seconds / 60) % 60;
  const shown = hours > 0 ? `${hours}:${twoDigits(minutes)}` : `${minutes}`;
  return `${offsetMs < 0 && seconds > 0 ? "-" : ""}${shown}:${twoDigits(seconds % 60)}`;
}

function twoDigits(number: number): string {
  return String(number).padStart(2, "0");
}
