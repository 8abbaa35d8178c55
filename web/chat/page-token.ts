/**
 * The token in this page's address. A page that people share takes it out at once, and forgets it when it is
 * closed; the overlay leaves it there, because OBS knows only the address.
 */
import { tokenIn } from "./token-fragment.ts";

/** The token of the page's address, which no longer shows it afterwards. */
export function takeToken(): string | undefined {
  const token = tokenIn(location.hash);
  if (token !== undefined) history.replaceState(history.state, "", location.pathname + location.search);
  return token;
}

/**
 * The service's message in the words of a page, whose user cannot send a header, but can write the token
 * as `where` says.
 */
export function withoutHeaders(message: string, token: string | undefined, where: string): string {
  const isAskedFor = !token && /\bAuthorization\b/.test(message);
  return isAskedFor ? `This needs a token: ${where}.` : message;
}

/** A changed fragment alone loads nothing: with another token, the page begins again. */
export function beginAgainAtNewToken(): void {
  addEventListener("hashchange", () => {
    if (tokenIn(location.hash) !== undefined) location.reload();
  });
}
