/** Reads a place in a video as callers write it, and as the addresses of videos have it. */

const CLOCK = /^(-?)(?:(\d{1,3}):)?(\d{1,3}):([0-5]\d)(?:\.(\d{1,3}))?$/;
/** ISO 8601, with hours as the longest unit. */
const DURATION = /^(-?)PT(?=\d)(?:(\d{1,4})H)?(?:(\d{1,6})M)?(?:(\d{1,8})(?:\.(\d{1,3}))?S)?$/i;

/** As `t=` in the address of a video: `90`, `90s` or `1h2m3s`. */
const START = /^(?=\d)(?:(\d{1,4})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s?)?$/i;

/** The seconds since the beginning of the video that a `t` says; undefined for any other text. */
export function parseStart(text: string): number | undefined {
  const [found, hours = 0, minutes = 0, seconds = 0] = START.exec(text) ?? [];
  return found === undefined ? undefined : (Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds);
}

/**
 * The milliseconds since the beginning of the video, negative before it: of `12:30`, `1:02:03`, `-0:12` or
 * `PT12M`. Undefined for any other text.
 */
export function parseVideoOffset(text: string): number | undefined {
  const found = CLOCK.exec(text) ?? DURATION.exec(text);
  if (!found) return undefined;
  const [, sign, hours = 0, minutes = 0, seconds = 0, fraction = ""] = found;
  const ms = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000;
  const offset = ms + Number(fraction.padEnd(3, "0"));
  return sign === "-" ? 0 - offset : offset;
}
