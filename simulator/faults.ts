/**
 * Faults on request: which requests each one hits, how often, and its effect on the exchange. A fault that
 * prevents the answer leaves the request's token valid; a fault that loses a finished answer (`lost`,
 * `truncated`) uses the token up.
 */
import { ServerResponse } from "node:http";
import type { Clock } from "../src/base/clock.ts";
import { type Answer, errorObject, html, json, OLD_ERROR_OBJECT } from "./answers.ts";
import type { Outgoing } from "./in-process.ts";
import { WALLS, type Wall } from "./pages.ts";
import type { JsonObject } from "./plain-json.ts";
import type { RequestKind, RequestRecord } from "./requests.ts";

export type Failure =
  | keyof typeof BODIES
  | keyof typeof CONNECTIONS
  /** Replaces a page, or the answer of `next`. */
  | Wall
  /** Any status; without a body, the upstream's usual one for it. Header names are sent as given. */
  | { status: number; headers?: Record<string, string>; body?: string | JsonObject }
  /** The right answer, delayed. */
  | { delayMs: number }
  /** The right answer, in pieces. */
  | { drip: { bytes: number; everyMs: number } }
  | { redirect: string; status?: number }
  /** Any other treatment of the response, which must be one over HTTP; `real` makes the right answer. */
  | { answer: (response: ServerResponse, real: () => Answer) => unknown };

export interface FaultOrder {
  on: RequestKind | readonly RequestKind[];
  videoId?: string;
  /** The channel of a channel's page. */
  channel?: string;
  /** The address from which the request comes. */
  from?: string;
  /** The number of requests to hit; may be infinite. */
  times: number;
  as: Failure;
}

/** An active fault. */
export interface Fault {
  /** The number of requests hit so far. */
  readonly fired: number;
  /** Hits no further request. */
  cancel(): void;
}

/** One request, as a fault sees it. */
export interface Exchange {
  response: Outgoing;
  /** Takes the request's token and returns the function that makes the answer. */
  accept(): () => Answer;
  /** The wall that replaces the requested page. */
  wall(wall: Wall): Answer;
  /** True if errors are JSON, as at the chat endpoints. */
  api: boolean;
  clock: Clock;
  signal: AbortSignal;
}

/** Wrong bodies with status 200. */
const BODIES = {
  /** An error object that signals a quota. */
  quota: json(200, errorObject(429)),
  /** An error object that does not signal a quota. */
  "invalid-argument": json(200, errorObject(400)),
  /** The older form of an error object. */
  "response-errors": json(200, OLD_ERROR_OBJECT),
  html: html(
    200,
    "<!DOCTYPE html><html><head><title>YouTube</title></head><body>Something went wrong</body></html>",
  ),
  captcha: html(
    200,
    "<!DOCTYPE html><html><head><title>Sorry...</title></head><body><h1>We're sorry...</h1>" +
      "<p>Our systems have detected unusual traffic from your computer network.</p>" +
      '<form id="captcha-form" action="index" method="post"><div id="recaptcha" class="g-recaptcha"></div></form>' +
      "</body></html>",
  ),
  empty: { ...json(200, {}), body: "" },
  null: { ...json(200, {}), body: "null" },
  array: { ...json(200, {}), body: "[]" },
  object: json(200, {}),
  "no-contents": json(200, { responseContext: { serviceTrackingParams: [] }, trackingParams: "CAAQ0b4B" }),
} satisfies Record<string, Answer>;

/** Broken connections. */
const CONNECTIONS = {
  /** Reset before any byte; no answer was made. */
  reset: ({ response }) => void response.socket?.resetAndDestroy(),
  /** Reset before any byte, but the answer was made. */
  lost: ({ response, accept }) => {
    accept()();
    response.socket?.resetAndDestroy();
  },
  /** Half of the answer, then the end of the connection. */
  truncated: ({ response, accept, clock }) => {
    const bytes = writeHead(response, accept()(), clock);
    response.write(bytes.subarray(0, bytes.length / 2), () => response.socket?.destroy());
  },
  /** Never an answer; the connection stays open. */
  silent: () => undefined,
} satisfies Record<string, (exchange: Exchange) => void>;

/** The failures that have a name, without the walls. */
export const NAMED_FAILURES: readonly string[] = [...Object.keys(BODIES), ...Object.keys(CONNECTIONS)];

interface Order extends FaultOrder, Fault {
  fired: number;
}

export class Faults {
  readonly #orders = new Set<Order>();

  order(order: FaultOrder): Fault {
    const placed: Order = { ...order, fired: 0, cancel: () => void this.#orders.delete(placed) };
    this.#orders.add(placed);
    return placed;
  }

  /** The failure for this request, if any: that of the oldest fault that matches. */
  meet({
    kind,
    videoId,
    channel,
    from,
  }: Pick<RequestRecord, "kind" | "videoId" | "channel" | "from">): Failure | undefined {
    for (const order of this.#orders) {
      if (![order.on].flat().includes(kind)) continue;
      if (order.videoId !== undefined && order.videoId !== videoId) continue;
      if (order.channel !== undefined && order.channel !== channel) continue;
      if (order.from !== undefined && order.from !== from) continue;
      if (order.fired >= order.times) continue;
      order.fired += 1;
      return order.as;
    }
    return undefined;
  }
}

export function send(response: Outgoing, answer: Answer, clock: Clock): void {
  response.end(writeHead(response, answer, clock));
}

/** Sends the head of an answer, with the time at which it is sent, and returns its body. */
function writeHead(response: Outgoing, { status, headers, body }: Answer, clock: Clock): Buffer {
  const bytes = Buffer.from(body);
  const date = new Date(clock.now()).toUTCString();
  response.writeHead(status, { date, ...headers, "content-length": bytes.length });
  return bytes;
}

/** Carries out a fault. Rejects if the simulator closes meanwhile. */
export async function fail(failure: Failure, exchange: Exchange): Promise<void> {
  const { response, api, clock, signal } = exchange;
  if (typeof failure === "string") {
    const wall = WALLS.find((name) => name === failure);
    if (wall) send(response, exchange.wall(wall), clock);
    else if (failure in BODIES) send(response, BODIES[failure as keyof typeof BODIES], clock);
    else CONNECTIONS[failure as keyof typeof CONNECTIONS](exchange);
  } else if ("answer" in failure) {
    if (!(response instanceof ServerResponse)) throw new TypeError("this fault is for HTTP alone");
    await failure.answer(response, () => exchange.accept()());
  } else if ("redirect" in failure) {
    send(response, { ...html(failure.status ?? 302, ""), headers: { location: failure.redirect } }, clock);
  } else if ("status" in failure) {
    const usual = api ? json(failure.status, errorObject(failure.status)) : errorPage(failure.status);
    const { body = usual.body } = failure;
    const answer = typeof body === "string" ? { ...usual, body } : json(failure.status, body);
    send(response, { ...answer, headers: { ...answer.headers, ...failure.headers } }, clock);
  } else if ("delayMs" in failure) {
    const answer = exchange.accept();
    await clock.sleep(failure.delayMs, signal);
    send(response, answer(), clock);
  } else {
    await drip(response, exchange.accept()(), failure.drip, clock, signal);
  }
}

export function errorPage(status: number): Answer {
  return html(
    status,
    `<!DOCTYPE html><html lang=en><title>Error ${status}!!1</title><p><b>${status}.</b></p></html>`,
  );
}

async function drip(
  response: Outgoing,
  answer: Answer,
  { bytes: step, everyMs }: { bytes: number; everyMs: number },
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  const bytes = writeHead(response, answer, clock);
  for (let offset = 0; offset < bytes.length && !response.destroyed; offset += step) {
    response.write(bytes.subarray(offset, offset + step));
    await clock.sleep(everyMs, signal);
  }
  response.end();
}
