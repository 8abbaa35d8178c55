/** Formats times of messages. Reads no clock. */

/** ISO 8601 in UTC with microseconds: `2026-01-02T03:04:05.678901Z`. `usec`: microseconds since 1970. */
export function isoTime(usec: number): string {
  // `toISOString` takes longer than the whole rest of a plain message.
  const date = new Date(Math.floor(usec / 1000));
  const day = `${date.getUTCFullYear()}-${twoDigits(date.getUTCMonth() + 1)}-${twoDigits(date.getUTCDate())}`;
  const time = `${twoDigits(date.getUTCHours())}:${twoDigits(date.getUTCMinutes())}:${twoDigits(date.getUTCSeconds())}`;
  return `${day}T${time}.${String(usec % 1e6).padStart(6, "0")}Z`;
}

/** Formats a wall time, in milliseconds since 1970, as `h:mm AM` in one time zone. */
export type TimeOfDay = (epochMs: number) => string;

const MINUTE_MS = 60_000;
/** More than a page shows: messages are usually from the last few minutes. */
const MAX_MINUTES = 100;

/**
 * The formatter for an IANA time zone, which throws `RangeError` if there is no such zone. Formats each
 * minute once. The first one loads the locale data of Node.js, which take 7 MB.
 */
export function timeOfDay(timezone: string): TimeOfDay {
  let format: Intl.DateTimeFormat | undefined;
  const shown = new Map<number, string>();
  return (epochMs) => {
    const minute = Math.floor(epochMs / MINUTE_MS);
    const known = shown.get(minute);
    if (known !== undefined) return known;
    format ??= new Intl.DateTimeFormat("en-US", {
      hour: "numeric",
      minute: "2-digit",
      hour12: true,
      timeZone: timezone,
    });
    // Newer locale data have a narrow no-break space before AM and PM.
    const text = format.format(epochMs).replaceAll(/\s/g, " ");
    if (shown.size >= MAX_MINUTES) shown.clear();
    shown.set(minute, text);
    return text;
  };
}

/**
 * A replay's offset, in milliseconds, in the upstream's format: `m:ss`, `h:mm:ss`, before the start `-m:ss`.
 */
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
