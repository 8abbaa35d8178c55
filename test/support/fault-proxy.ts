/**
 * A host that stands in front of the simulated upstream's main one: it passes requests on, except those that an
 * hostile was ordered for, whose connections the hostile answer has to itself. Counts whom it met, and knows when they left.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import type { Simulator } from "../../src/simulator/index.ts";
import type { RequestKind } from "../../src/simulator/requests.ts";

/**
 * Answers a request as no upstream should; `real` gives the text that the upstream itself would have answered with.
 * What a hostile answer still does once the connection is gone must end by itself.
 */
export type HostileAnswer = (response: ServerResponse, real: () => Promise<string>) => unknown;

export interface Order {
  /** How many requests the hostile answer has met. */
  readonly met: number;
  /** Resolves when the first is met. */
  readonly whenMet: Promise<void>;
}

interface Placed extends Order {
  kind: RequestKind;
  times: number;
  met: number;
  meet(request: IncomingMessage, response: ServerResponse): unknown;
}

const KINDS: readonly (readonly [start: string, kind: RequestKind])[] = [
  ["/sw.js_data", "sw.js_data"],
  ["/sw.js", "sw.js"],
  ["/live_chat", "popout"],
  ["/watch", "watch"],
  ["/youtubei/v1/live_chat/get_live_chat_replay", "get_live_chat_replay"],
  ["/youtubei/v1/live_chat/get_live_chat", "get_live_chat"],
];

export class FaultProxy implements AsyncDisposable {
  readonly #orders = new Set<Placed>();
  readonly #leaving: Promise<void>[] = [];
  readonly #server: Server;
  readonly #behind: string;

  static async before(upstream: Simulator): Promise<FaultProxy> {
    const proxy = new FaultProxy(upstream.urls.main);
    proxy.#server.listen(0, "127.0.0.1");
    await once(proxy.#server, "listening");
    return proxy;
  }

  private constructor(behind: string) {
    this.#behind = behind;
    this.#server = createServer({ keepAliveTimeout: 0 }, (request, response) => {
      this.#answer(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", (socket) => socket.on("error", () => {})); // it is left rudely
    this.#server.on("clientError", (_error, socket) => socket.destroy());
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sets a hostile answer on the next requests of a kind, the oldest order first. */
  order(kind: RequestKind, hostile: HostileAnswer, times = 1): Order {
    const { promise: whenMet, resolve } = Promise.withResolvers<void>();
    const placed: Placed = {
      kind,
      times,
      met: 0,
      whenMet,
      meet: (request, response) => {
        placed.met += 1;
        resolve();
        this.#leaving.push(closed(request.socket));
        return hostile(response, async () => (await this.#ask(request)).text());
      },
    };
    this.#orders.add(placed);
    return placed;
  }

  /** Resolves once every connection on which a hostile answer was met is closed, at whichever side. */
  async left(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const kind = KINDS.find(([start]) => request.url?.startsWith(start))?.[1];
    const order = [...this.#orders].find((one) => one.kind === kind && one.met < one.times);
    if (order) await order.meet(request, response);
    else {
      const answer = await this.#ask(request);
      response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "" });
      response.end(await answer.text());
    }
  }

  /** Asks the upstream behind the same. */
  async #ask(request: IncomingMessage): Promise<Response> {
    const { method = "GET", url = "" } = request;
    const body = method === "POST" ? await text(request) : null;
    return fetch(this.#behind + url, { method, body, headers: { "content-type": "application/json" } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

/** Resolves, whatever befell the socket before. */
export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    socket.once("close", () => resolve());
  });
}
