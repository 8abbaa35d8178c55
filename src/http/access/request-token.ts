/**
 * The token that a request brings, in its header or its query. It is cut out of the URL before anything else
 * reads that, so it reaches neither the log nor an error.
 */
import type { IncomingMessage } from "node:http";

const queryToken = Symbol("token in the query");

interface Asked extends IncomingMessage {
  [queryToken]?: string;
}

const IN_QUERY = /(?<=[?&])access_token=([^&#]*)&?/g;

/**
 * The request's URL without the token in its query [RFC 6750, 2.3], which is kept beside it: so no code that
 * reads the URL can show it. Several tokens count as one that is not valid.
 */
export function withoutToken(raw: IncomingMessage, url: string): string {
  if (!url.includes("access_token=")) return url;
  const tokens: string[] = [];
  const rest = url.replace(IN_QUERY, (_, token: string) => {
    tokens.push(token);
    return "";
  });
  if (tokens.length > 0) (raw as Asked)[queryToken] = tokens.join();
  return rest.replace(/[?&](?=$|#)/, "");
}

/** The URL with the token that was cut out of it, for another process of this service. */
export function withToken(raw: IncomingMessage, url: string): string {
  const token = (raw as Asked)[queryToken];
  return token === undefined ? url : `${url}${url.includes("?") ? "&" : "?"}access_token=${token}`;
}

export function tokenInQuery(raw: IncomingMessage): string | undefined {
  const token = (raw as Asked)[queryToken];
  try {
    return token && decodeURIComponent(token);
  } catch {
    return token; // which is not valid either
  }
}

/** The token of the header `Authorization`: "" if `Bearer` is all of it, undefined without this word. */
export function tokenInHeader({ headers }: IncomingMessage): string | undefined {
  const [scheme, token] = /^Bearer(?: +(.*))?$/i.exec(headers.authorization?.trim() ?? "") ?? [];
  return scheme === undefined ? undefined : (token ?? "");
}
