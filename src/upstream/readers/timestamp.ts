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
  // Not by `toISOString`, which takes longer than all the rest of a plain message.
  const date = new Date(Math.floor(usec / 1000));
  const day = `${date.getUTCFullYear()}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`;
  const time = `${twoDigits(date.getUTCHours())}:${twoDigits(date.getUTCMinutes())}:${twoDigits(date.getUTCSeconds())}`;
  return `${day}T${time}.${String(usec % 1e6).padStart(6, "0")}Z`;
}

/** Shows a wall time, in milliseconds since 1970, as `h:mm AM` in one zone. */
export type TimeOfDay = (epochMs: number) => string;

const MINUTE_MS = 60_000;
/** More than a page shows: what is read comes from a few minutes as a rule. */
const MAX_MINUTES = 100;

/** Of a zone by its IANA name; throws `RangeError` for an unknown one. Each minute is formatted once. */
export function timeOfDay(timezone: string): TimeOfDay {
  const format = new Intl.DateTimeFormat("en-US", {
    hour: "numeric",
    minute: "2-digit",
    hour12: true,
    timeZone: timezone,
  });
  const shown = new Map<number, string>();
  return (epochMs) => {
    const minute = Math.floor(epochMs / MINUTE_MS);
    const known = shown.get(minute);
    if (known !== undefined) return known;
    // Newer locale data put a narrow no-break space before AM and PM.
    const text = format.format(epochMs).replaceAll(/\s/g, " ");
    if (shown.size >= MAX_MINUTES) shown.clear();
    shown.set(minute, text);
    return text;
  };
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
  return number < 10 ? `0${number}` : `${number}`;
}
