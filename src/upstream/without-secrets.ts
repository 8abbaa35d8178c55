/** Blanks the secrets of a request in the upstream's words about it, which go to callers and the log. */
import { asString, dig, parseJson } from "../base/json.ts";
import type { OutgoingRequest } from "./egress/connections.ts";

/** A shorter value, such as a client's version 2.0, may be a part of ordinary words. */
const MIN_SECRET_LENGTH = 8;

/** The continuation token and the credentials of the request become "…", also if they are URL-encoded. */
export function withoutSecrets(words: string, { url, headers, body = "" }: OutgoingRequest): string {
  const sent = [
    dig(parseJson(body), "continuation"),
    new URL(url).searchParams.get("key"),
    headers["x-goog-visitor-id"],
    headers["x-youtube-client-version"],
  ];
  return sent
    .flatMap((value) => asString(value) ?? [])
    .filter(({ length }) => length >= MIN_SECRET_LENGTH)
    .flatMap(formsOf)
    .reduce((left, secret) => left.replaceAll(secret, "…"), words);
}

/** The value as it is, encoded, and decoded: most tokens are sent encoded, with `%3D` for `=`. */
function formsOf(value: string): string[] {
  try {
    return [encodeURIComponent(value), value, decodeURIComponent(value)];
  } catch {
    return [encodeURIComponent(value), value]; // it contains a `%` that encodes nothing
  }
}
