/**
 * The egress through which a room reads its chat. A room keeps its egress, because credentials and visitor
 * data belong to an address. It moves if its egress is throttled or unreachable and another one works and has
 * capacity. Measures how long the upstream has been out for the room (`outMs`), after which another instance
 * may read it.
 */
import type { Clock } from "../../base/clock.ts";
import { Deadline } from "../../base/deadline.ts";
import { isRefusal } from "../../protocol/errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import type { MoveReason } from "../../telemetry/upstream-events.ts";
import type { LiveChat } from "../live-chat.ts";
import { isOutage, isUnanswered, isUnreached } from "../upstream-error.ts";
import type { Demand } from "./chat-load.ts";
import type { Egress } from "./egress.ts";
import type { CallOptions } from "./flights.ts";
import type { Gate } from "./gate.ts";
import type { Lane } from "./lanes.ts";
import type { EgressPool } from "./pool.ts";
import { Silence } from "./silence.ts";

/** A shorter cooldown costs less than a new page. */
const SHORT_COOLDOWN_MS = 2000;
/** Time between attempts of a room that finds no other egress. */
const CHECK_MS = 1000;
/** After this many moves without a success, the room itself may be throttled: it stays for `REST_MS`. */
const MAX_MOVES = 2;
/** Then it may move again, because a cooldown may last a day. */
const REST_MS = 5 * 60_000;
/** The calls of a room are due this much earlier if somebody has come while they failed. */
const HURRIED_MS = 1000;

export class RoomEgress {
  readonly #videoId: string;
  readonly #egresses: EgressPool;
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  #egress: Egress;
  #demand: Demand | undefined;
  /** Why it has moved since it was last ready. `down`: resumed without its own egress. */
  #moved: MoveReason | undefined;
  /** The number of consecutive failures. */
  #failures = 0;
  readonly #silence: Silence;
  /** Whether somebody has come since the calls began to fail. */
  #isHurried = false;
  /** Number of moves since the last success. */
  #moves = 0;
  #movedAt = Number.NEGATIVE_INFINITY;

  /** For a room that is opened. `leave` must follow in any case. */
  constructor(
    videoId: string,
    egress: Egress,
    egresses: EgressPool,
    { clock, telemetry }: { clock: Clock; telemetry: Telemetry },
  ) {
    this.#videoId = videoId;
    this.#egress = egress;
    this.#egresses = egresses;
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#silence = new Silence(clock);
  }

  /** For a room that was read before. `key`: of its egress; undefined if not known. */
  static resumed(
    videoId: string,
    demand: Demand,
    key: string | undefined,
    egresses: EgressPool,
    parts: { clock: Clock; telemetry: Telemetry },
  ): RoomEgress {
    const known = key === undefined ? undefined : egresses.of(key);
    const resumed = new RoomEgress(videoId, known ?? egresses.best, egresses, parts);
    if (key !== undefined && !known) resumed.#moved = "down";
    resumed.setDemand(demand);
    return resumed;
  }

  get liveChat(): LiveChat {
    return this.#egress.liveChat;
  }

  get name(): string {
    return this.#egress.name;
  }

  get key(): string {
    return this.#egress.key;
  }

  /** How the room's calls queue. */
  get queueing(): Pick<CallOptions, "lane" | "toleranceMs" | "maxCooldownMs"> {
    return {
      lane: this.#lane,
      toleranceMs: this.#egress.load.toleranceMs(this.#videoId),
      maxCooldownMs: this.#egresses.isSingle ? Number.POSITIVE_INFINITY : SHORT_COOLDOWN_MS,
    };
  }

  /** See `ChatLoad.earlierMs`. */
  get earlierMs(): number {
    return this.#egress.load.earlierMs;
  }

  /** The cooldowns of its egress. */
  get gate(): Pick<Gate, "cooldownLeftMs" | "wasHeldBetween"> {
    return this.#egress.gate;
  }

  /**
   * The result of the first egress that is neither throttled nor without a connection. The room stays with
   * that one. Rejects like the last call.
   */
  open<T>(call: (liveChat: LiveChat) => Promise<T>, signal: AbortSignal): Promise<T> {
    const use = (egress: Egress) => {
      if (egress !== this.#egress) this.leave(); // it may be carried there
      this.#egress = egress;
      return call(egress.liveChat);
    };
    return this.#egresses.call(signal, use, this.#egress);
  }

  /** The room's chat was found. Throws `RelayError` CAPACITY if it is live and could not be read in time. */
  carry(demand: Demand): void {
    this.#demand = demand;
    this.#egress.load.carry(this.#videoId, demand, this.#egresses.reservedBeside(this.#videoId));
  }

  /** The room wants to call, perhaps behind others: it is out if the upstream does not answer from now on. */
  asked(): void {
    this.#silence.asked();
  }

  /** Resolves when the room may call; if it has moved, with the reason. Rejects with the signal's reason. */
  async ready(needsPage: boolean, signal: AbortSignal): Promise<MoveReason | undefined> {
    this.asked();
    const moved = this.#moved;
    this.#moved = undefined;
    for (;;) {
      const trouble = this.#trouble(needsPage);
      if (!trouble) {
        const { breaker } = this.#egress;
        await breaker.mayCall(this.#videoId, needsPage, signal);
        if (!breaker.isLost) return moved;
        continue; // it became unreachable while the room waited
      }
      if ((trouble !== "throttled" || this.#mayMove) && this.#move(trouble)) return trouble;
      if (await this.#mayStay(needsPage, signal)) return moved;
    }
  }

  /** Sets the room's demand on its gate. */
  setDemand(demand: Demand): void {
    this.#demand = demand;
    this.#egress.load.set(this.#videoId, demand);
  }

  /**
   * For how long this instance has not reached the upstream for the room, or will be throttled, in
   * milliseconds.
   */
  get outMs(): number {
    const leftMs = this.gate.cooldownLeftMs();
    const throttledMs =
      leftMs > 0 && this.#egresses.others(new Set([this.#egress])).length === 0 ? leftMs : 0;
    return Math.max(throttledMs, this.#silence.knownBeside(this.#egress.silence, this.#egresses.chatMs));
  }

  /** Milliseconds since the upstream last answered any call of the room's egress. */
  get unreachedMs(): number {
    return this.#egress.silence.ms;
  }

  /** A call advanced the reading. */
  succeeded(): void {
    this.#moves = 0;
    this.#failures = 0;
    this.#isHurried = false;
    this.answered();
  }

  /** A working upstream answered, but with something else: a refusal, a page, nothing. */
  answered(): void {
    this.#silence.end();
    this.#egress.breaker.answered();
  }

  /** See `Breaker.failed`. */
  failed(error: Error): boolean {
    this.#failures += 1;
    if (isUnanswered(error)) this.#silence.unanswered();
    else this.#silence.end();
    const isOfEgress = this.#egress.breaker.failed(this.#videoId, error);
    // A call that reached no host (a dead proxy, a cut network) is enough for its room to leave the egress.
    const mayLeave = isUnreached(error) || (this.#moves > 0 && isOutage(error));
    if (mayLeave && this.#move("unreachable")) this.#moved = "unreachable";
    return isOfEgress;
  }

  /** The room may not call now, whatever the upstream does: this time does not count as its silence. */
  heldBack(): void {
    this.#silence.end();
  }

  /** Milliseconds by which its calls are due earlier, because somebody waits for it in an outage. */
  get hurriedMs(): number {
    return this.#isHurried ? HURRIED_MS : 0;
  }

  /** A client now waits for the room. */
  hurry(): void {
    this.#isHurried = this.#failures > 0;
    this.#egress.breaker.hurry();
  }

  /** The room is no longer read. */
  leave(): void {
    this.#egress.load.leave(this.#videoId);
    this.#egress.breaker.leave(this.#videoId);
  }

  get #lane(): Lane {
    if (this.#demand?.windowMs === Number.POSITIVE_INFINITY) return "replay";
    return (["poll", "recovery"] as const)[this.#failures] ?? "retry";
  }

  get #mayMove(): boolean {
    const restedMs = this.#clock.monotonic() - this.#movedAt;
    return this.#moves < MAX_MOVES || restedMs >= REST_MS;
  }

  /** Why the room should move. A short cooldown or a failing upstream is not a reason. */
  #trouble(needsPage: boolean): MoveReason | undefined {
    if (this.#egresses.isSingle) return undefined;
    if (this.gate.cooldownLeftMs(needsPage) > SHORT_COOLDOWN_MS) return "throttled";
    return this.#egress.breaker.isLost ? "unreachable" : undefined;
  }

  /** Moves the room to another egress. Returns false if none can carry it. */
  #move(why: MoveReason): boolean {
    const old = this.#egress;
    const next = this.#egresses.others(new Set([old])).find((egress) => this.#isCarriedBy(egress));
    if (!next) return false;
    if (why === "unreachable") this.#silence.continue(old.silence);
    // The breaker of the old egress goes on counting the room as one whose last call failed.
    if (why !== "throttled" && old.isUp) old.load.leave(this.#videoId);
    else this.leave();
    this.#egress = next;
    this.#moves += 1;
    this.#movedAt = this.#clock.monotonic();
    this.#telemetry.upstream.roomMoved(this.#videoId, old.name, next.name, why);
    return true;
  }

  #isCarriedBy(egress: Egress): boolean {
    try {
      if (this.#demand) egress.load.carry(this.#videoId, this.#demand);
      return true;
    } catch (error) {
      if (isRefusal(error, "CAPACITY")) return false;
      throw error;
    }
  }

  /** Waits until another egress may have capacity. Returns whether the room may use its own before that. */
  async #mayStay(needsPage: boolean, signal: AbortSignal): Promise<boolean> {
    if (this.#egress.isUp) {
      await this.#clock.sleep(CHECK_MS, signal);
      return false;
    }
    using limit = new Deadline(this.#clock, CHECK_MS);
    try {
      await this.#egress.breaker.mayCall(this.#videoId, needsPage, AbortSignal.any([signal, limit.signal]));
      return true;
    } catch {
      signal.throwIfAborted();
      return false;
    }
  }
}
