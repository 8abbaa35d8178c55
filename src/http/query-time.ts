/** Reads the times in queries, and refuses a text of another form with INVALID_REQUEST. */
import { invalidRequest } from "../protocol/errors.ts";
import { parseVideoOffset } from "../protocol/offset.ts";
import { parseTime } from "../protocol/time.ts";
import type { SaidTime } from "../serving/history/history.ts";

/** The wall milliseconds that a parameter of a query names. Throws `RelayError` INVALID_REQUEST. */
export function queriedTime<Name extends string>(
  query: Readonly<Partial<Record<Name, string>>>,
  name: Name,
): number | undefined {
  const { [name]: text } = query;
  if (text === undefined) return undefined;
  const time = parseTime(text);
  if (time !== undefined) return time;
  throw invalidRequest(`${name}: must be ${FORM}.`);
}

const FORM = "ISO 8601 with a zone, such as 2026-11-20T20:17:31Z, or milliseconds since 1970";
const PLACE = "a place in the video, such as 12:30, 1:02:03, -0:12 or PT12M";

/** The time of the chat's own that a parameter names. Throws `RelayError` INVALID_REQUEST. */
export function saidTimeIn<Name extends string>(
  query: Readonly<Partial<Record<Name, string>>>,
  name: Name,
): SaidTime | undefined {
  const { [name]: text } = query;
  if (text === undefined) return undefined;
  const offset = parseVideoOffset(text);
  if (offset !== undefined) return { kind: "offset", ms: offset };
  const ms = parseTime(text, "down");
  if (ms !== undefined) return { kind: "said", ms };
  throw invalidRequest(`${name}: must be ${FORM}; or, of a replay, ${PLACE}.`);
}
