/** The times in queries. */
import { RelayError } from "../protocol/errors.ts";
import { parseTime } from "../protocol/time.ts";

/** The wall milliseconds that a parameter of a query names. Throws `RelayError` INVALID_REQUEST. */
export function timeIn<Name extends string>(
  query: Readonly<Partial<Record<Name, string>>>,
  name: Name,
): number | undefined {
  const { [name]: text } = query;
  if (text === undefined) return undefined;
  const time = parseTime(text);
  if (time !== undefined) return time;
  const form = "ISO 8601 with a zone, such as 2026-11-20T20:17:31Z, or milliseconds since 1970";
  throw new RelayError("INVALID_REQUEST", `${name}: must be ${form}.`);
}
