/**
 * The route by which a room reads its chat. It stays on one, for credentials and visitor data belong to an address, and
 * takes another where that is throttled or cannot be reached any more, if another works and has a place for it.
 */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import type { Hole } from "../../rooms/gap.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isOfAddress, isUnreached } from "../errors.ts";
import type { LiveChat } from "../live-chat.ts";
import type { Demand } from "./capacity.ts";
import { MAX_TRIES, type Route, type Routes } from "./pool.ts";

/** A cooldown that is over so soon costs less than a new page. */
const SHORT_COOLDOWN_MS = 2000;
/** How often a room that has nowhere to go looks again, and how long it waits for a place. */
const LOOK_MS = 1000;
const MAX_WAIT_MS = 10_000;
/** A room that is throttled on so many routes in a row may be what is throttled: it takes no further one along. */
const MAX_MOVES = 2;

/** Why a room takes another route. */
export type Detour = Extract<Hole["reason"], "throttled" | "unreachable" | "down">;

interface Trouble {
  why: Detour;
  /** How long it surely lasts, in milliseconds; infinite where that is not known. */
  forMs: number;
}

export interface PassageParts {
  routes: Routes;
  clock: Clock;
  telemetry: Telemetry;
}

export class Passage {
  readonly #videoId: string;
  readonly #parts: PassageParts;
  #demand: Demand;
  #route: Route;
  /** Why a room that is resumed is not read by its own egress any more. */
  #detour: Detour | undefined;
  /** Whether the last call did not reach the upstream. */
  #isUnreached = false;
  /** How many routes it took since something good last came. */
  #moves = 0;

  /**
   * For a new room, once it can be read in time. Rejects with `RelayError` CAPACITY and with the signal's reason.
   * `leave` must follow, whatever comes of it.
   */
  static async admitted(
    videoId: string,
    demand: Demand,
    parts: PassageParts,
    signal: AbortSignal,
  ): Promise<Passage> {
    return new Passage(videoId, demand, await parts.routes.admit(videoId, demand, signal), parts);
  }

  /** For a room that is read on. `name`: the egress by which it was read; undefined where that is not known. */
  static resumed(videoId: string, demand: Demand, name: string | undefined, parts: PassageParts): Passage {
    const known = name === undefined ? undefined : parts.routes.named(name);
    const passage = new Passage(videoId, demand, known ?? parts.routes.best, parts);
    if (name !== undefined && !known) passage.#detour = "down";
    passage.ask(demand);
    return passage;
  }

  private constructor(videoId: string, demand: Demand, route: Route, parts: PassageParts) {
    this.#videoId = videoId;
    this.#demand = demand;
    this.#route = route;
    this.#parts = parts;
  }

  get liveChat(): LiveChat {
    return this.#route.liveChat;
  }

  /** Whether it has taken this route from another, and nothing good has come yet. */
  get isNewcomer(): boolean {
    return this.#moves > 0;
  }

  /** The name of its egress. */
  get egress(): string {
    return this.#route.egress.name;
  }

  /** The longest cooldown that its calls sit out in the gate. */
  get maxCooldownMs(): number {
    const mayMove = !this.#parts.routes.isSingle && this.#moves < MAX_MOVES;
    return mayMove ? SHORT_COOLDOWN_MS : Number.POSITIVE_INFINITY;
  }

  /** The first answer of the room's routes, tried one after the other where one is throttled or not connected. Rejects as the last call did. */
  async open<T>(call: (liveChat: LiveChat) => Promise<T>, signal: AbortSignal): Promise<T> {
    for (const tried = new Set<Route>(); ; ) {
      try {
        return await call(this.liveChat);
      } catch (error) {
        tried.add(this.#route);
        if (!isOfAddress(error) || tried.size === MAX_TRIES) throw error;
        const route = await this.#parts.routes.another(
          this.#videoId,
          this.#demand,
          tried,
          MAX_WAIT_MS,
          signal,
        );
        if (!route) throw error;
        this.leave();
        this.#route = route;
      }
    }
  }

  /**
   * Resolves when the room may call. Why it has taken another route meanwhile, where it must begin by its page;
   * else undefined. Rejects with the signal's reason.
   */
  async ready(needsPage: boolean, signal: AbortSignal): Promise<Detour | undefined> {
    const detour = this.#detour;
    this.#detour = undefined;
    for (;;) {
      const trouble = this.#trouble(needsPage);
      if (!trouble) {
        await this.#route.egress.breaker.mayCall(this.#videoId, signal);
        return detour;
      }
      if (await this.#move(trouble, signal)) return trouble.why;
      if (await this.#mayStay(trouble, signal)) return detour;
    }
  }

  /** Why the room should take another route, and for how long; a short cooldown, or an upstream that fails, is no reason. */
  #trouble(needsPage: boolean): Trouble | undefined {
    if (this.#parts.routes.isSingle) return undefined;
    const forMs = this.liveChat.cooldownLeftMs(needsPage);
    if (forMs > this.maxCooldownMs) return { why: "throttled", forMs };
    const isLost = this.#isUnreached || this.#route.egress.breaker.isLost;
    return isLost ? { why: "unreachable", forMs: Number.POSITIVE_INFINITY } : undefined;
  }

  /** Whether another route was found. */
  async #move({ why, forMs }: Trouble, signal: AbortSignal): Promise<boolean> {
    const { routes, telemetry } = this.#parts;
    const { breaker, gate, name } = this.#route.egress;
    const tried = new Set([this.#route]);
    const limitMs = Math.min(forMs, MAX_WAIT_MS);
    const route = await routes.another(this.#videoId, this.#demand, tried, limitMs, signal);
    this.#isUnreached = false;
    if (!route) return false;
    gate.capacity.leave(this.#videoId);
    // What could not reach the upstream tells of the egress, wherever its room is now.
    if (why === "throttled" || !breaker.isUp) breaker.leave(this.#videoId);
    this.#route = route;
    this.#moves += 1;
    telemetry.roomMoved(this.#videoId, name, route.egress.name, why);
    return true;
  }

  /** Waits until another route may have a place. Whether the room may call by its own one before that. */
  async #mayStay({ forMs }: Trouble, signal: AbortSignal): Promise<boolean> {
    const { breaker } = this.#route.egress;
    this.ask(this.#demand); // it holds the place of no room that is being opened
    const waitMs = Math.min(forMs, LOOK_MS);
    if (breaker.isUp) {
      await this.#parts.clock.sleep(waitMs, signal);
      return false;
    }
    using look = new Deadline(this.#parts.clock, waitMs);
    try {
      await breaker.mayCall(this.#videoId, AbortSignal.any([signal, look.signal]));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }

  /** What the room asks of its gate from now on. */
  ask(demand: Demand): void {
    this.#demand = demand;
    this.#route.egress.gate.capacity.ask(this.#videoId, demand);
  }

  succeeded(): void {
    this.#moves = 0;
    this.#route.egress.breaker.succeeded();
  }

  /** A call of the room failed, throttling aside. Whether that is the address's failure, and not the room's. */
  failed(error: Error): boolean {
    const mayLeave = isUnreached(error) || this.isNewcomer;
    if (mayLeave && !this.#parts.routes.isSingle) this.#isUnreached = true;
    this.ask(this.#demand); // not as a room that is being opened any more: others wait for that
    return this.#route.egress.breaker.failed(this.#videoId, error);
  }

  /** Somebody waits for the room right now. */
  hurry(): void {
    this.#route.egress.breaker.hurry();
  }

  /** The room is not read any more. */
  leave(): void {
    this.#route.egress.gate.capacity.leave(this.#videoId);
    this.#route.egress.breaker.leave(this.#videoId);
  }
}
