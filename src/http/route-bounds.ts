/**
 * How much of each route there may be at a time: the requests that are served, those that wait, and the bytes
 * that they hold. A route that is not in the table cannot be added. docs/operations.md prints it.
 */
import { MAX_WAITING_VIDEOS } from "../rooms/rooms.ts";
import { CHUNK_BYTES } from "../serving/tail.ts";
import { ANSWER_LIMITS, PIPED_BYTES } from "./connections/unread-responses.ts";

/** Requests that are refused with CAPACITY beyond a number. */
export interface RequestBound {
  /** How many are served at a time. */
  atOnce: number;
  /** How many more wait for their turn. */
  waiting: number;
}

/** Pages of stored messages, and all else that reads much of the store. */
export const PAGES: RequestBound = { atOnce: 4, waiting: 500 };
/** Requests that an edge passes on to its origin. */
export const PASSED_ON: RequestBound = { atOnce: 32, waiting: 500 };
/** Callers that wait for YouTube: by default, an egress makes 240 calls within a minute, their time limit. */
export const CALLERS: RequestBound = { atOnce: 200, waiting: 0 };
/** A probe makes 26 to 29 calls, after all others: ten of them take over a minute. */
export const PROBES: RequestBound = { atOnce: 10, waiting: 0 };
/** Downloads hold one piece each, of which few are made at a time. */
export const PIECES_AT_ONCE = 2;

/** The cells of a row in docs/operations.md. */
interface Row {
  atOnce: string;
  waiting: string;
  inFlight: string;
}

const KIB = 1024;
const MIB = KIB * KIB;
const ANSWERS = `${ANSWER_LIMITS.bytes / MIB} MiB in all answers together`;
const NONE = "none";

function counted({ atOnce, waiting }: RequestBound): Row {
  return { atOnce: `${atOnce}`, waiting: waiting === 0 ? NONE : `${waiting}`, inFlight: ANSWERS };
}

/** The rows, each for the requests of all its routes together. */
export const BOUNDS = {
  viewers: {
    atOnce: "`RELAY_MAX_VIEWERS`; of one address `RELAY_MAX_VIEWERS_PER_ADDRESS`",
    waiting: `\`RELAY_MAX_ROOMS\` + ${MAX_WAITING_VIDEOS} videos, 30 s each`,
    inFlight: `${CHUNK_BYTES / KIB} KiB for a connection that does not read, twice that with several chats`,
  },
  videos: {
    atOnce: "as many as chats that are looked for",
    waiting: "among the videos of the row above",
    inFlight: ANSWERS,
  },
  pages: counted(PAGES),
  downloads: {
    atOnce: `${PIECES_AT_ONCE} of their pieces`,
    waiting: `${ANSWER_LIMITS.bytes / PIPED_BYTES} downloads`,
    inFlight: `${ANSWERS}; ${PIPED_BYTES / KIB} KiB in each of these`,
  },
  callers: counted(CALLERS),
  probes: counted(PROBES),
  shared: { atOnce: "1, for all who ask meanwhile", waiting: NONE, inFlight: "one copy for all of them" },
  memory: { atOnce: "all, from memory", waiting: NONE, inFlight: "one copy for all" },
} satisfies Record<string, Row>;

type BoundName = keyof typeof BOUNDS;

/** By route: the bound of its requests, and of those that have a parameter of their own. */
export const ROUTE_BOUNDS: Readonly<Record<string, BoundName | Readonly<Record<string, BoundName>>>> = {
  "/v1/stream": "viewers",
  "/v1/merged": "viewers",
  "/v1/log/:videoId": { "": "pages", live: "viewers" },
  "/v1/messages": { "": "pages", "limit=all": "downloads" },
  "/v1/rooms/:videoId": "pages",
  "/v1/videos/:videoId": "videos",
  "/v1/rooms": "shared",
  "/v1/probe": "probes",
  "/v1/sessions": "callers",
  "/v1/poll": "callers",
  "/v1/recordings": "pages",
  "/v1/recordings/:name": "pages",
  "/v1/featured/:videoId": "pages",
  "/v1/openapi.json": "memory",
  "/healthz": "memory",
  "/readyz": "shared",
  "/metrics": "shared",
  "/": "memory",
  "/probe": "memory",
  "/overlay": "memory",
  "/overlay/setup": "memory",
  "/client.js": "memory",
  "/client-log.js": "memory",
  "/client-poll.js": "memory",
  "/client-history.js": "memory",
  "/web/*": "memory",
};

/** Throws an error if the route is not in the table. `url`: the route's pattern. */
export function assertBounded(url: string): void {
  if (!(url.replace(/(?<=.)\/$/, "") in ROUTE_BOUNDS)) throw new Error(`${url} has no bound in ROUTE_BOUNDS`);
}
