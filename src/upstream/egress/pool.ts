/**
 * The ways out to the upstream, each with the live chats as they are read by it: what the upstream gives to one address
 * (credentials, a visitor) is used from that one alone. Chooses among them: the least loaded of those that work, and one
 * that is throttled or down only where there is no other.
 */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { RelayError } from "../../protocol/errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { UpstreamCalls, type UpstreamCallsParts } from "../calls.ts";
import { isOfAddress } from "../errors.ts";
import { LiveChat, type ReadingSettings } from "../live-chat.ts";
import type { Demand } from "./capacity.ts";
import type { Egress } from "./egress.ts";
import { Flights } from "./flights.ts";

export interface Route {
  readonly egress: Egress;
  readonly liveChat: LiveChat;
}

export interface RoutesParts extends Omit<UpstreamCallsParts, "egress" | "flights"> {
  egresses: readonly Egress[];
  reading: ReadingSettings;
  clock: Clock;
  telemetry: Telemetry;
}

/** What an address asks for that no room uses, to learn whether it reaches the upstream again. */
const SMALL_PAGE = "/sw.js";

/** Where there is another way out, one that does not answer is left sooner than a call would be given up otherwise. */
const MAX_CHAT_MS = 5000;
/** A caller waits for no more of them. */
export const MAX_TRIES = 3;

export class Routes {
  readonly #clock: Clock;
  readonly #all: readonly (Route & { calls: UpstreamCalls })[];

  constructor({ egresses, reading, clock, ...parts }: RoutesParts) {
    this.#clock = clock;
    const maxChatMs = egresses.length > 1 ? MAX_CHAT_MS : Number.POSITIVE_INFINITY;
    const deadlines = { ...parts.deadlines, chatMs: Math.min(parts.deadlines.chatMs, maxChatMs) };
    this.#all = egresses.map((egress) => {
      const calls = new UpstreamCalls({ ...parts, deadlines, egress, flights: new Flights(clock) });
      return { egress, calls, liveChat: new LiveChat(calls, reading, clock, parts.telemetry) };
    });
    if (this.isSingle) return;
    const signal = new AbortController().signal;
    const options = { lane: "probe", maxCooldownMs: Number.POSITIVE_INFINITY, signal } as const;
    for (const { egress, calls } of this.#all) {
      egress.breaker.tryItself = () => calls.page(SMALL_PAGE, options);
    }
  }

  /** Whether there is nothing to choose from. */
  get isSingle(): boolean {
    return this.#all.length === 1;
  }

  /** The one that works and is the least loaded; where none works, the one that soonest may. */
  get best(): Route {
    const [best] = this.#ranked();
    if (!best) throw new Error("there is no way out");
    return best;
  }

  named(name: string): Route | undefined {
    return this.#all.find(({ egress }) => egress.name === name);
  }

  /**
   * What the first route gives that does not turn out to be throttled or without a connection. `preferred` is tried
   * first if it works. Rejects as the last call did.
   */
  async call<T>(signal: AbortSignal, use: (route: Route) => Promise<T>, preferred?: Route): Promise<T> {
    const [first, ...others] = this.#candidates(preferred);
    let outcome = use(first ?? this.best);
    for (const route of others.slice(0, MAX_TRIES - 1)) {
      try {
        return await outcome;
      } catch (error) {
        signal.throwIfAborted();
        if (!isOfAddress(error)) throw error;
        outcome = use(route);
      }
    }
    return outcome;
  }

  /** A route by which a new room is read in time; `ask` or `leave` must follow at its capacity. Rejects as `Capacity.admit` does. */
  async admit(room: string, demand: Demand, signal: AbortSignal): Promise<Route> {
    let refusal: unknown;
    for (const route of this.#candidates()) {
      try {
        await route.egress.gate.capacity.admit(room, demand, signal);
        return route;
      } catch (error) {
        if (!isRefusal(error)) throw error;
        refusal ??= error;
      }
    }
    throw refusal;
  }

  /**
   * Another route that works and has a place for a room within `limitMs`; as after `admit`. Undefined where there is
   * none. Rejects with the signal's reason.
   */
  async another(
    room: string,
    demand: Demand,
    tried: ReadonlySet<Route>,
    limitMs: number,
    signal: AbortSignal,
  ): Promise<Route | undefined> {
    using limit = new Deadline(this.#clock, limitMs);
    for (const route of this.#ranked()) {
      if (tried.has(route) || !works(route)) continue;
      try {
        await route.egress.gate.capacity.admit(room, demand, AbortSignal.any([signal, limit.signal]));
        return route;
      } catch (error) {
        signal.throwIfAborted();
        if (!limit.signal.aborted && !isRefusal(error)) throw error;
      }
    }
    return undefined;
  }

  /** Starts no more calls, and ends those that wait. */
  async close(): Promise<void> {
    for (const { egress } of this.#all) egress.breaker.close();
    await Promise.all(this.#all.map(({ calls }) => calls.close()));
  }

  /** Those that work; where none does, the best of them. */
  #candidates(preferred?: Route): readonly Route[] {
    const ranked = this.#ranked();
    const working = ranked.filter((route) => route !== preferred && works(route));
    if (preferred && works(preferred, false)) return [preferred, ...working];
    return working.length > 0 ? working : ranked.slice(0, 1);
  }

  #ranked(): readonly Route[] {
    const ranks = new Map(this.#all.map((route) => [route as Route, rankOf(route)]));
    return [...ranks.keys()].sort((one, other) => {
      const [a = [], b = []] = [ranks.get(one), ranks.get(other)];
      const differing = a.findIndex((value, i) => value !== b[i]);
      return differing < 0 ? 0 : (a[differing] ?? 0) - (b[differing] ?? 0);
    });
  }
}

/** Whether a chat can be opened, or else read on, by it just now. */
function works({ egress, liveChat }: Route, withPages = true): boolean {
  return egress.breaker.isUp && liveChat.cooldownLeftMs(withPages) === 0;
}

/** The best has the lowest: first of what may be called, then of the load, then of what waits. */
function rankOf({ egress: { breaker, gate }, liveChat }: Route): readonly number[] {
  return [
    breaker.isUp ? 0 : 1,
    liveChat.cooldownLeftMs(true),
    gate.capacity.pollsPerSecond,
    gate.capacity.roomCount,
    gate.queued,
  ];
}

function isRefusal(error: unknown): boolean {
  return error instanceof RelayError && error.code === "CAPACITY";
}
