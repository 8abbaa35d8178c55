/**
 * The door of a life: what a request for a stream passes before it enters, apart from Fastify. Its rights are
 * checked by the hooks that `Access` adds to the route, and its places are taken as the route takes them.
 */
import { EventEmitter } from "node:events";
import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import { Access, type AccessSettings } from "../../src/http/access/access.ts";
import { AddressLimit } from "../../src/http/access/address-limit.ts";
import { Expiries } from "../../src/http/access/expiries.ts";
import { ViewerPlaces } from "../../src/http/access/viewer-places.ts";
import type { OriginRequest } from "../../src/origin/origin-connections.ts";
import type { Life } from "./life.ts";
import { requestStream } from "./origin-api.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimulatedSink } from "./sink.ts";

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

interface DoorParts {
  settings: AccessSettings;
  scheduler: Scheduler;
}

export class Door {
  readonly #life: Life;
  readonly #scheduler: Scheduler;
  readonly #viewerPlaces: ViewerPlaces;
  readonly #onRequest: readonly Hook[];
  readonly #preHandler: readonly Hook[];

  static async open(life: Life, { settings, scheduler }: DoorParts): Promise<Door> {
    const { videoChannels, clock, telemetry } = life;
    const parts = { settings, videoChannels, clock, telemetry };
    return new Door(life, scheduler, await scheduler.outside(() => Access.open(parts)));
  }

  private constructor(life: Life, scheduler: Scheduler, access: Access) {
    this.#life = life;
    this.#scheduler = scheduler;
    this.#viewerPlaces = new ViewerPlaces(
      new AddressLimit(Number.POSITIVE_INFINITY),
      new Expiries(life, life.rooms.stopped),
    );
    const route = { url: "/v1/stream" } as RouteOptions;
    const addHook = (event: string, add: (route: RouteOptions) => void) => {
      if (event === "onRoute") add(route);
    };
    access.guard({ addHook } as unknown as FastifyInstance);
    this.#onRequest = [route.onRequest ?? []].flat() as unknown as Hook[];
    this.#preHandler = [route.preHandler ?? []].flat() as unknown as Hook[];
  }

  /** Opens a stream as its route does. Resolves when it has begun; rejects as the route refuses. */
  async request(
    asked: Pick<OriginRequest, "path" | "headers">,
    address: string,
    open: () => SimulatedSink,
    gone: AbortSignal,
  ): Promise<void> {
    const request = requestOf(asked, address);
    await this.#life.clock.untilDeath(this.#check(request, gone)).catch((error) => {
      gone.throwIfAborted();
      throw error;
    });
    const place = await this.#viewerPlaces.take(request, gone);
    const keep = () => {
      const sink = place.keep(open());
      void sink.closed.then(place.giveBack);
      return sink;
    };
    try {
      await requestStream(this.#life, asked, address, keep, gone);
    } catch (error) {
      place.giveBack();
      throw error;
    }
  }

  async #check(request: FastifyRequest, gone: AbortSignal): Promise<void> {
    const connection = { socket: new EventEmitter(), httpVersion: "1.1" };
    const raw = Object.assign(new EventEmitter(), { req: connection }) as unknown as ServerResponse;
    gone.addEventListener("abort", () => raw.emit("close"), { once: true });
    const reply = { request, raw, header: () => reply } as unknown as FastifyReply;
    // Only the check of a signature waits for the system.
    for (const hook of this.#onRequest) await this.#scheduler.outside(() => hook(request, reply));
    for (const hook of this.#preHandler) await hook(request, reply);
  }
}

function requestOf({ path, headers }: Pick<OriginRequest, "path" | "headers">, ip: string): FastifyRequest {
  const { pathname, searchParams } = new URL(path, "http://service");
  const query = Object.fromEntries(searchParams);
  const routeOptions = { url: pathname };
  const request = { raw: { headers, url: path }, headers, query, params: {}, ip, routeOptions };
  return request as unknown as FastifyRequest;
}
