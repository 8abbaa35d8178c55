/** Continuation tokens. They are opaque, except that a whole one names its video. */
import { asString, dig } from "../base/json.ts";

/** A token must fit into a later request. Real ones have up to 1000 characters. */
const TOKEN = /^[\x21-\x7e]+$/;
const MAX_TOKEN_LENGTH = 8192;

/** Whether the text can be sent on as a continuation token. */
export function isToken(text: string): boolean {
  return text.length <= MAX_TOKEN_LENGTH && TOKEN.test(text);
}

/** The token of a continuation's data; undefined if it has none that can be sent on. */
export function tokenIn(data: unknown): string | undefined {
  const token = asString(dig(data, "continuation"));
  return token !== undefined && isToken(token) ? token : undefined;
}

/**
 * Levels of base64 in base64 to decode. Today's tokens hold the id two levels down; those of popout pages in
 * 2020 held it three levels down.
 */
const TOKEN_LEVELS = 3;

/**
 * Whether a continuation token contains the id of this video: it is base64 of binary fields, some of which
 * are base64 again. A field's length byte can look like a base64 digit, so each run of digits is
 * decoded from four offsets.
 */
export function namesVideo(token: string, videoId: string): boolean {
  let texts = [token];
  for (let level = 0; level < TOKEN_LEVELS; level++) {
    if (texts.some((text) => text.includes(videoId))) return true;
    texts = texts.flatMap(decodedRuns);
  }
  return texts.some((text) => text.includes(videoId));
}

/** Padding (`=` or `%3D`) ends a run, and decoding does not need it. */
function decodedRuns(text: string): string[] {
  const runs = text.match(/[\w+/-]{16,}/g) ?? [];
  return runs.flatMap((run) =>
    [0, 1, 2, 3].map((skipped) => Buffer.from(run.slice(skipped), "base64url").toString("latin1")),
  );
}
