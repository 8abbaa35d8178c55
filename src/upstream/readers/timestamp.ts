/** Formats times of messages. Reads no clock. */

const MINUTE_MS = 60_000;

/** The minute that `isoTime` has shown last, and its text up to the seconds. */
let shownMinute: number | undefined;
let minuteText = "";

/**
 * ISO 8601 in UTC with microseconds: `2026-01-02T03:04:05.678901Z`. `usec`: microseconds since 1970. Messages
 * of one answer are of the same minute or two, and a date's fields take longer than the rest of a message.
 */
export function isoTime(usec: number): string {
  const minute = Math.floor(usec / 1000 / MINUTE_MS);
  if (minute !== shownMinute) {
    minuteText = new Date(minute * MINUTE_MS).toISOString().slice(0, "2026-01-02T03:04:".length);
    shownMinute = minute;
  }
  const inMinute = usec - minute * MINUTE_MS * 1000;
  const seconds = Math.floor(inMinute / 1e6);
  return `${minuteText}${twoDigits(seconds)}.${String(inMinute % 1e6).padStart(6, "0")}Z`;
}

/** Formats a wall time, in milliseconds since 1970, as `h:mm AM` in one time zone. */
export type TimeOfDay = (epochMs: number) => string;

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
