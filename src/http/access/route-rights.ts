/** The right that each route needs. A route that is not in the table cannot be added. */
import type { Right } from "../../protocol/rights.ts";

/** `open`: for everybody, whatever is public. */
export const ROUTE_RIGHTS: Readonly<Record<string, Right | "open">> = {
  "/v1/stream": "watch",
  "/v1/merged": "watch",
  "/v1/messages": "watch",
  "/v1/log/:videoId": "watch",
  "/v1/rooms/:videoId": "watch",
  "/v1/videos/:videoId": "watch",
  "/v1/rooms": "rooms",
  "/v1/probe": "probe",
  "/v1/sessions": "poll",
  "/v1/poll": "poll",
  "/v1/recordings": "record",
  "/v1/recordings/:name": "record",
  "/v1/featured/:videoId": "feature",
  "/v1/openapi.json": "open",
  "/healthz": "open",
  "/readyz": "open",
  "/metrics": "open",
  "/": "open",
  "/probe": "open",
  "/overlay": "open",
  "/overlay/setup": "open",
  "/client.js": "open",
  "/client-log.js": "open",
  "/client-poll.js": "open",
  "/client-history.js": "open",
  "/web/*": "open",
};

/** A further right that is enough to read from a route. */
const RIGHTS_TO_READ: Readonly<Record<string, Right>> = { "/v1/featured/:videoId": "watch" };

/** The rights to what an edge does not serve, or, with `feature`, only for reading. */
const OF_READING: ReadonlySet<string> = new Set(["record", "probe", "poll", "feature"] satisfies Right[]);

/** Whether an edge serves the routes of this right, with all their methods. */
export function isAtEdges(right: Right | "open"): boolean {
  return !OF_READING.has(right);
}

/** The form of the paths that a route's pattern matches. */
export function formOf(route: string): RegExp {
  return new RegExp(`^${route.replaceAll(".", "\\.").replaceAll("*", ".*").replaceAll(/:\w+/g, "[^/]+")}$`);
}

/** Throws an error if the route is not in the table. `url`: the route's pattern. */
export function rightOfRoute(url: string): Right | "open" {
  const right = ROUTE_RIGHTS[url.replace(/(?<=.)\/$/, "")];
  if (right === undefined) throw new Error(`${url} has no right in ROUTE_RIGHTS`);
  return right;
}

/** The rights of which one is enough for a method of a route; undefined if it is for everybody. */
export function rightsOfRoute(url: string, method: string | string[]): Right[] | undefined {
  const right = rightOfRoute(url);
  if (right === "open") return undefined;
  const isReading = [method].flat().every((each) => each === "GET" || each === "HEAD");
  return [right, ...(isReading ? [RIGHTS_TO_READ[url] ?? []] : [])].flat();
}

/** The route of the table that a path is of, and its right; undefined if there is none, or it is open. */
export function routeOf(path: string): { route: string; right: Right } | undefined {
  for (const [route, right] of Object.entries(ROUTE_RIGHTS)) {
    if (right !== "open" && formOf(route).test(path)) return { route, right };
  }
  return undefined;
}
