/**
 * The exchange of rooms between lives and instances on one store: this instance adopts rooms without an
 * owner; after a start, those of its last run, too. It hands on rooms that another instance should read.
 */
import { pause } from "../base/clock.ts";
import { retry } from "../base/retry.ts";
import type { ChatKey } from "../protocol/chat-key.ts";
import { SETTLED_MS } from "../store/ownership.ts";
import { isUnavailable } from "../store/store-error.ts";
import { background } from "../telemetry/background.ts";
import { OUT_MS } from "../upstream/egress/silence.ts";
import type { VideoEntry } from "./entry.ts";
import type { OwnedRoomParts } from "./owned-room.ts";
import type { Rooms } from "./rooms.ts";

/** The interval of checks for rooms that another instance should read. */
const HAND_ON_MS = 1000;
/** The maximum time for the current poll of a room that is handed on. */
const LAST_POLL_MS = 2000;
/** How long this instance leaves the room to the others, from the beginning of the hand-on. */
const REST_MS = 2000;
/** The wait before adoption is tried again while the store fails. */
const ADOPT_RETRY = { firstMs: 1000, maxMs: 1000 };
/** After a silence of this length, a call shows before `OUT_MS` whether the upstream is reached. */
const TRY_OUT_MS = 8000;
/**
 * If this instance must take back a room within `SETTLED_MS` after it handed the room on because of the load,
 * the hand-on had no effect: no room is handed on for that reason for this long.
 */
const IN_VAIN_MS = 30_000;

type ExchangeParts = Omit<OwnedRoomParts, "census">;

export class RoomExchange {
  readonly #rooms: Rooms;
  readonly #parts: ExchangeParts;
  /**
   * When each room was handed on because of the load, on the monotonic clock; only rooms that may still come
   * back.
   */
  readonly #handedOn = new Map<ChatKey, number>();
  /** Until this time, on the monotonic clock, no room is handed on because of the load. */
  #keepsRoomsUntil = 0;

  constructor(rooms: Rooms, parts: ExchangeParts) {
    this.#rooms = rooms;
    this.#parts = parts;
  }

  /** Exchanges rooms until the service stops. */
  start(): void {
    const { stopped } = this.#rooms;
    void background("adoption of rooms", this.#parts, stopped, () => this.#adopt(stopped));
    void background("handing on of rooms", this.#parts, stopped, () => this.#handOn(stopped));
  }

  /** Adopts rooms without an owner, whose viewers may be between two connections. */
  async #adopt(signal: AbortSignal): Promise<void> {
    const { clock, egresses, settings, store } = this.#parts;
    await retry(ADOPT_RETRY, clock, signal, isUnavailable, async () => {
      for await (const keys of store.ownership.orphans(settings.graceMs, signal)) {
        await egresses.reachable(signal);
        if (this.#rooms.isDraining) continue;
        for (const key of keys) if (!this.#isLeftToOthers(key)) this.#rooms.adopt(key);
      }
    });
  }

  /**
   * Hands rooms on to other instances that have viewers of them: all rooms for which this instance cannot
   * reach the upstream, and one room at a time if this instance reads too many.
   */
  async #handOn(signal: AbortSignal): Promise<void> {
    const { clock, egresses } = this.#parts;
    while (!signal.aborted) {
      await pause(clock, HAND_ON_MS, signal);
      if (signal.aborted || this.#rooms.isDraining) continue;
      try {
        const owned = this.#rooms.ownedEntries();
        await this.#tryForAwaited(owned, signal);
        const wanted = await this.#wantedElsewhere(owned.filter(this.#isOut));
        if (wanted.length > 0) egresses.cutOff();
        const tooMany = await this.#oneTooMany();
        if (tooMany !== undefined) wanted.push(tooMany);
        await Promise.all(wanted.map((key) => this.#rooms.entryOf(key)?.handOn(LAST_POLL_MS, REST_MS)));
      } catch (error) {
        if (!isUnavailable(error)) throw error; // already reported; the next round tries again
      }
    }
  }

  /**
   * Whether the upstream was not reached for the room, or will throttle it, for longer than `OUT_MS`. One
   * whose chat is awaited asks so seldom that it learns this from other calls.
   */
  #isOut = ({ owned }: VideoEntry): boolean => {
    if (owned === undefined) return false;
    const { egresses } = this.#parts;
    const isNoneReached = egresses.isCutOff || egresses.outMs > OUT_MS;
    return owned.egress.outMs > OUT_MS || (owned.reading.isAwaited && isNoneReached);
  };

  /** Makes such calls if others want rooms whose chats are awaited, and none was answered for a while. */
  async #tryForAwaited(entries: readonly VideoEntry[], signal: AbortSignal): Promise<void> {
    const { egresses } = this.#parts;
    if (egresses.isCutOff || egresses.unreachedMs < TRY_OUT_MS) return;
    const awaited = entries.filter(({ owned }) => owned?.reading.isAwaited);
    const wanted = await this.#wantedElsewhere(awaited);
    if (wanted.length > 0) egresses.tryOut(signal);
  }

  /**
   * A room to hand on because this instance reads too many. After one came back, undefined for a while:
   * the instance that wanted it may be gone, or unable to reach the upstream.
   */
  async #oneTooMany(): Promise<ChatKey | undefined> {
    const { clock, store } = this.#parts;
    const now = clock.monotonic();
    for (const [key, at] of this.#handedOn) {
      const isBack = this.#rooms.entryOf(key)?.owned !== undefined;
      if (isBack) this.#keepsRoomsUntil = now + IN_VAIN_MS;
      if (isBack || now > at + SETTLED_MS) this.#handedOn.delete(key);
    }
    if (now < this.#keepsRoomsUntil) return undefined;
    const tooMany = await store.ownership.oneTooMany();
    if (tooMany !== undefined) this.#handedOn.set(tooMany, now);
    return tooMany;
  }

  /** Whether the room was handed on because of the load so recently that it is left to the others. */
  #isLeftToOthers(key: ChatKey): boolean {
    const at = this.#handedOn.get(key) ?? Number.NEGATIVE_INFINITY;
    return this.#parts.clock.monotonic() < at + REST_MS;
  }

  async #wantedElsewhere(entries: readonly VideoEntry[]): Promise<ChatKey[]> {
    if (entries.length === 0) return [];
    const keys = entries.flatMap(({ room }) => room?.key ?? []);
    return [...(await this.#parts.store.ownership.wantedElsewhere(keys))];
  }
}
