/**
 * A token as the fragment of an address, `#token=…`: no request and no `Referer` contains a fragment.
 */

/** The token in a fragment; undefined if there is none. */
export function tokenIn(fragment: string): string | undefined {
  const [, text] = /[#&]token=([^&]+)/.exec(fragment) ?? [];
  if (text === undefined) return undefined;
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The fragment of a token; "" without one. */
export function fragmentOf(token = ""): string {
  return token && `#token=${encodeURIComponent(token)}`;
}
