/** The service of this page, and the token with which the page asks it: in memory alone. */
import { beginAgainAtNewToken, takeToken } from "../chat/page-token.ts";
import { fragmentOf } from "../chat/token-fragment.ts";

/** Its base URL. */
export const SERVICE = new URL(".", location.href).href;

/** Undefined if the page's address had none. */
export const TOKEN = takeToken();

beginAgainAtNewToken();
if (TOKEN !== undefined) document.addEventListener("click", follow);

/** Asks for a path of the service, or for its URL. Rejects as `fetch` does. */
export function ask(
  path: string,
  signal: AbortSignal | null = null,
  { headers, ...request }: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Response> {
  const token = TOKEN === undefined ? {} : { authorization: `Bearer ${TOKEN}` };
  return fetch(path, { signal, ...request, headers: { ...headers, ...token } });
}

/** Loads the page of the current address with a token; a reload alone would forget it. */
export function loadAgain(token = TOKEN): void {
  history.replaceState(history.state, "", location.pathname + location.search + fragmentOf(token));
  location.reload();
}

/** Takes the token along to another page of the service: no link shows it, so that none is shared with it. */
function follow(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const isUsual = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
  if (!link || !isUsual || event.defaultPrevented || !link.href.startsWith(SERVICE)) return;
  event.preventDefault();
  location.assign(link.href.replace(/#.*/, "") + fragmentOf(TOKEN));
}
