/**
 * The egress by which a room reads its chat. A room stays with one, for credentials and visitor data belong to an
 * address, and moves where that is throttled or cannot be reached any more, if another works and can carry it.
 */
import type { Clock } from "../../clock.ts";
import { Deadline } from "../../deadline.ts";
import { RelayError } from "../../protocol/errors.ts";
import type { MoveReason } from "../../telemetry/metrics.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { isOutage, isUnanswered, isUnreached } from "../errors.ts";
import type { LiveChat } from "../live-chat.ts";
import type { Demand } from "./capacity.ts";
import type { Egress } from "./egress.ts";
import type { CallOptions } from "./flights.ts";
import type { Lane } from "./lanes.ts";
import type { EgressPool } from "./pool.ts";

/** A cooldown that is over so soon costs less than a new page. */
const SHORT_COOLDOWN_MS = 2000;
/** How often a room that has nowhere to go looks again. */
const LOOK_MS = 1000;
/** A room that is throttled by so many egresses in a row may be what is throttled: it takes no further one along... */
const MAX_MOVES = 2;
/** ... before it has stayed for so long: a cooldown may last a day. */
const REST_MS = 5 * 60_000;

interface Trouble {
  why: MoveReason;
  /** How long it surely lasts, in milliseconds; infinite where that is not known. */
  forMs: number;
}

export interface RoomEgressParts {
  egresses: EgressPool;
  clock: Clock;
  telemetry: Telemetry;
}

export class RoomEgress {
  readonly #videoId: string;
  readonly #parts: RoomEgressParts;
  #egress: Egress;
  #demand: Demand | undefined;
  /** Set where a room that is resumed is not read by its own egress any more. */
  #moved: MoveReason | undefined;
  /** How many calls failed in a row, and whether the room shall leave for the last one, which did not reach the upstream. */
  #failures = 0;
  #isUnreached = false;
  /** When the upstream last answered, and whether no answer to the last call began. */
  #answeredAt: number;
  #isCutOff = false;
  /** How many times it moved since something good last came. */
  #moves = 0;
  #movedAt = Number.NEGATIVE_INFINITY;

  /** For a room that is opened. `leave` must follow, whatever comes of it. */
  static opened(videoId: string, egress: Egress, parts: RoomEgressParts): RoomEgress {
    return new RoomEgress(videoId, egress, parts);
  }

  /** For a room that is read on. `name`: the egress by which it was read; undefined where that is not known. */
  static resumed(
    videoId: string,
    demand: Demand,
    name: string | undefined,
    parts: RoomEgressParts,
  ): RoomEgress {
    const known = name === undefined ? undefined : parts.egresses.named(name);
    const resumed = new RoomEgress(videoId, known ?? parts.egresses.best, parts);
    if (name !== undefined && !known) resumed.#moved = "down";
    resumed.setDemand(demand);
    return resumed;
  }

  private constructor(videoId: string, egress: Egress, parts: RoomEgressParts) {
    this.#videoId = videoId;
    this.#egress = egress;
    this.#parts = parts;
    this.#answeredAt = parts.clock.monotonic();
  }

  get liveChat(): LiveChat {
    return this.#egress.liveChat;
  }

  get name(): string {
    return this.#egress.name;
  }

  /** How the room's calls queue. */
  get queueing(): Pick<CallOptions, "lane" | "toleranceMs" | "maxCooldownMs"> {
    return {
      lane: this.#lane,
      toleranceMs: this.#egress.toleranceMs(this.#videoId),
      maxCooldownMs: this.#parts.egresses.isSingle ? Number.POSITIVE_INFINITY : SHORT_COOLDOWN_MS,
    };
  }

  /** Milliseconds until chat calls, or pages, start again; 0 outside a cooldown. */
  cooldownLeftMs(isPage: boolean): number {
    return this.#egress.cooldownLeftMs(isPage);
  }

  /** What the first egress gives that is neither throttled nor without a connection; the room is read by it. Rejects as the last call did. */
  open<T>(call: (liveChat: LiveChat) => Promise<T>, signal: AbortSignal): Promise<T> {
    const use = (egress: Egress) => {
      if (egress !== this.#egress) this.leave(); // it may have been admitted there
      this.#egress = egress;
      return call(egress.liveChat);
    };
    return this.#parts.egresses.call(signal, use, this.#egress);
  }

  /** The room's chat was found. Throws `RelayError` CAPACITY where it is live and could not be read in time. */
  admit(demand: Demand): void {
    this.#demand = demand;
    this.#egress.admit(this.#videoId, demand);
  }

  /**
   * Resolves when the room may call. Why it has moved meanwhile, where it must begin by its page; else undefined.
   * Rejects with the signal's reason.
   */
  async ready(needsPage: boolean, signal: AbortSignal): Promise<MoveReason | undefined> {
    const moved = this.#moved;
    this.#moved = undefined;
    for (;;) {
      const trouble = this.#trouble(needsPage);
      if (!trouble) {
        await this.#egress.mayCall(this.#videoId, needsPage, signal);
        if (!this.#egress.isLost) return moved;
        continue; // it was lost while the room waited
      }
      if ((trouble.why !== "throttled" || this.#mayMove) && this.#move(trouble.why)) return trouble.why;
      if (await this.#mayStay(trouble.forMs, needsPage, signal)) return moved;
    }
  }

  /** What the room asks of its gate from now on. */
  setDemand(demand: Demand): void {
    this.#demand = demand;
    this.#egress.setDemand(this.#videoId, demand);
  }

  /** For how long the room cannot be read from here, or surely will not be, in milliseconds: not reached, or throttled. */
  get outMs(): number {
    const { clock, egresses } = this.#parts;
    const isThrottled = egresses.others(new Set([this.#egress])).length === 0;
    const throttledMs = isThrottled ? this.#egress.cooldownLeftMs(false) : 0;
    const unansweredMs = clock.monotonic() - this.#answeredAt;
    // A room whose call waits behind others that get no answer need not learn it by itself.
    return Math.max(throttledMs, this.#isCutOff ? unansweredMs : Math.min(unansweredMs, this.#egress.outMs));
  }

  /** A call brought the reading on. */
  succeeded(): void {
    this.#moves = 0;
    this.#failures = 0;
    this.answered();
  }

  /** The upstream gave an answer in order, though not what was asked for: a token that it refuses, a page, nothing. */
  answered(): void {
    this.#isCutOff = false;
    this.#answeredAt = this.#parts.clock.monotonic();
    this.#egress.answered();
    this.#parts.egresses.reached();
  }

  /** A call of the room failed, throttling aside. Whether that is the address's failure, and not the room's. */
  failed(error: Error): boolean {
    this.#failures += 1;
    this.#isCutOff = isUnanswered(error);
    if (!isOutage(error)) {
      this.#egress.excuse(this.#videoId);
      return false;
    }
    const mayLeave = isUnreached(error) || this.#moves > 0;
    if (mayLeave && !this.#parts.egresses.isSingle) this.#isUnreached = true;
    return this.#egress.failed(this.#videoId, error);
  }

  /** Somebody waits for the room right now. */
  hurry(): void {
    this.#egress.hurry();
  }

  /** The room is not read any more. */
  leave(): void {
    this.#egress.leave(this.#videoId);
  }

  get #lane(): Lane {
    if (this.#demand?.windowMs === Number.POSITIVE_INFINITY) return "replay";
    return (["poll", "recovery"] as const)[this.#failures] ?? "retry";
  }

  get #mayMove(): boolean {
    const restedMs = this.#parts.clock.monotonic() - this.#movedAt;
    return this.#moves < MAX_MOVES || restedMs >= REST_MS;
  }

  /** Why the room should move, and for how long; a short cooldown, or an upstream that fails, is no reason. */
  #trouble(needsPage: boolean): Trouble | undefined {
    if (this.#parts.egresses.isSingle) return undefined;
    const forMs = this.#egress.cooldownLeftMs(needsPage);
    if (forMs > this.queueing.maxCooldownMs) return { why: "throttled", forMs };
    const isLost = this.#isUnreached || this.#egress.isLost;
    return isLost ? { why: "unreachable", forMs: Number.POSITIVE_INFINITY } : undefined;
  }

  /** Whether another egress could take the room in. */
  #move(why: MoveReason): boolean {
    const { egresses, telemetry } = this.#parts;
    const old = this.#egress;
    this.#isUnreached = false;
    const next = egresses.others(new Set([old])).find((egress) => this.#isAdmitted(egress));
    if (!next) return false;
    // Who could not reach the upstream tells of its egress, wherever it is now.
    old.leave(this.#videoId, why !== "throttled" && old.isUp);
    this.#egress = next;
    this.#moves += 1;
    this.#movedAt = this.#parts.clock.monotonic();
    telemetry.roomMoved(this.#videoId, old.name, next.name, why);
    return true;
  }

  #isAdmitted(egress: Egress): boolean {
    try {
      if (this.#demand) egress.admit(this.#videoId, this.#demand);
      return true;
    } catch (error) {
      if (error instanceof RelayError && error.code === "CAPACITY") return false;
      throw error;
    }
  }

  /** Waits until another egress may have a place. Whether the room may call by its own one before that. */
  async #mayStay(forMs: number, needsPage: boolean, signal: AbortSignal): Promise<boolean> {
    const waitMs = Math.min(forMs, LOOK_MS);
    if (this.#egress.isUp) {
      await this.#parts.clock.sleep(waitMs, signal);
      return false;
    }
    using look = new Deadline(this.#parts.clock, waitMs);
    try {
      await this.#egress.mayCall(this.#videoId, needsPage, AbortSignal.any([signal, look.signal]));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}
