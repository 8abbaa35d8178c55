/**
 * Holds several instances to what they promise together: who polls a room owns it; while somebody watches it at an
 * instance that is well, it is read, by one that can, and not released; and in calm no instance reads far more than
 * another that has viewers of its rooms.
 */

import type { Journal } from "../harness/journal.ts";
import type { Network } from "../harness/network.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import type { UpstreamJudge } from "../harness/upstream-judge.ts";
import { DEADLINES } from "../src/upstream/calls.ts";
import type { Instance } from "./instance.ts";
import type { RoomJudge } from "./room-judge.ts";
import type { SharedRoom, SharedStore } from "./shared-store.ts";
import type { Viewer } from "./viewer.ts";

const LOOK_MS = 250;
/** A room is read again so soon after its owner's lease, or after it was given back. */
const UNREAD_MS = 2000;
/** An owner that has handed a room on leaves it to others for so long. */
const REST_MS = 2000;
/** An owner that does not reach the upstream has given its room up, and another one has it, so soon. */
const GIVEN_UP_MS = 10_000 + DEADLINES.chatMs + 5000;
/** After trouble with the store statements may hang for so long; after the first answer of the upstream a room is opened. */
const STORE_SETTLES_MS = 10_000;
const UPSTREAM_SETTLES_MS = 10_000;
/** After an outage the store's word on who watches is doubted, and then given anew, within so long. */
const INTEREST_SETTLES_MS = 30_000;
const WATCHED_MS = 3000;
/** What of a lease is not used. */
const MARGIN_MS = 2000;

/** Since when things are as they are, in virtual milliseconds. */
class Since {
  readonly #at = new Map<string, number>();

  /** For how long it has been so, by the looks until now. */
  held(key: string, isSo: boolean, now: number): number {
    if (!isSo || !this.#at.has(key)) this.#at.set(key, now);
    return now - (this.#at.get(key) ?? now);
  }
}

/** What of a run they are in. */
export interface ClusterWorld {
  seed: number;
  scheduler: Scheduler;
  journal: Journal;
  network: Network;
  upstreamJudge: UpstreamJudge;
  instances: readonly Instance[];
  rooms: readonly RoomJudge[];
  viewers: readonly Viewer[];
}

/** For how long an instance has been well, in milliseconds. */
interface State {
  instance: Instance;
  storeMs: number;
  upstreamMs: number;
}

export class ClusterJudge {
  /** A call that goes out just before a lease can no longer be proved is over by its end if it takes no longer. */
  readonly marginMs: number;
  readonly #world: ClusterWorld;
  readonly #store: SharedStore;
  readonly #storeWell = new Since();
  readonly #upstreamWell = new Since();
  /** When an instance could last not call the upstream. */
  readonly #outAt = new Map<string, number>();
  readonly #watched = new Since();
  readonly #unread = new Since();
  readonly #cutOff = new Since();
  /** When each instance last owned each room. */
  readonly #owned = new Map<string, Map<Instance, number>>();
  readonly #isFinal = new Map<string, boolean>();
  #lookedAt = 0;

  constructor(world: ClusterWorld, store: SharedStore, leaseMs: number) {
    this.#world = world;
    this.#store = store;
    this.marginMs = Math.min(MARGIN_MS, leaseMs / 5);
  }

  /** To be called whenever something may have happened. */
  look(): void {
    const { scheduler, instances, rooms } = this.#world;
    const now = scheduler.monotonic();
    if (now - this.#lookedAt < LOOK_MS) return;
    this.#lookedAt = now;
    const states = instances.map((instance): State => {
      const storeMs = this.#storeWellMs(instance, now);
      return { instance, storeMs, upstreamMs: this.#upstreamWellMs(instance, now) };
    });
    const watching = this.#watching();
    for (const room of rooms) {
      const there = states.filter(({ instance }) => watching.get(room)?.has(instance));
      const isWatched = there.some(({ storeMs }) => storeMs > INTEREST_SETTLES_MS);
      this.#judgeReleased(room.videoId, isWatched, now);
      const able = there.filter(
        ({ storeMs, upstreamMs }) => storeMs > STORE_SETTLES_MS && upstreamMs > UPSTREAM_SETTLES_MS,
      );
      this.#judgeRead(room.videoId, able, states, now);
    }
  }

  /** A call of the room goes out from an instance, which must own it. */
  called(videoId: string, instance: string): void {
    const now = this.#world.scheduler.monotonic();
    const stored = this.#store.at(videoId);
    const owner = stored && this.#ownerOf(stored, now);
    if (owner?.name === instance) return;
    this.#violate(videoId, `instance ${instance} polls it, and ${owner?.name ?? "nobody"} has a good lease`);
  }

  #storeWellMs({ name, life, line }: Instance, now: number): number {
    const isWell = life !== undefined && line?.isWell === true;
    return this.#storeWell.held(name, isWell, now);
  }

  /** For how long it can call the upstream, and knows that it can. */
  #upstreamWellMs({ name, life, addresses, pausedUntil }: Instance, now: number): number {
    const { network, upstreamJudge } = this.#world;
    const isReached = addresses.every((address) => network.reaches(address)) && now >= pausedUntil;
    if (!isReached) this.#outAt.set(name, now);
    const isKnown = upstreamJudge.answeredAt(name) >= (this.#outAt.get(name) ?? Number.NEGATIVE_INFINITY);
    return this.#upstreamWell.held(name, life !== undefined && isReached && isKnown, now);
  }

  /** Where each room is watched just now. */
  #watching(): Map<RoomJudge, Set<Instance>> {
    const watching = new Map<RoomJudge, Set<Instance>>();
    for (const { room, instance, isWatching } of this.#world.viewers) {
      if (isWatching && instance?.life)
        watching.getOrInsertComputed(room, () => new Set<Instance>()).add(instance);
    }
    return watching;
  }

  /** Who has a good lease of the room. */
  #ownerOf({ videoId, owner, leaseUntil }: SharedRoom, now: number): Instance | undefined {
    if (owner === null || leaseUntil <= now) return undefined;
    const found = this.#world.instances.find(({ line }) => line?.instance === owner);
    if (found) this.#owned.getOrInsertComputed(videoId, () => new Map<Instance, number>()).set(found, now);
    return found;
  }

  /** Whether it is read, and by one that can, where `able` could and want to. */
  #judgeRead(videoId: string, able: readonly State[], states: readonly State[], now: number): void {
    const stored = this.#store.at(videoId);
    const open = stored && stored.checkpoint !== null && stored.finalAt === null ? stored : undefined;
    const owner = open && this.#ownerOf(open, now);
    const owned = this.#owned.get(videoId);
    const wanting = able.filter(
      ({ instance }) => now - (owned?.get(instance) ?? Number.NEGATIVE_INFINITY) > REST_MS + UNREAD_MS,
    );
    const isUnread = open !== undefined && open.leaseUntil <= now && wanting.length > 0;
    const unreadMs = this.#unread.held(videoId, isUnread, now);
    if (unreadMs > UNREAD_MS + LOOK_MS)
      this.#violate(videoId, `nobody reads it for ${Math.round(unreadMs)} ms, though others want it`);
    const state = states.find(({ instance }) => instance === owner);
    const isCutOff =
      state !== undefined && state.storeMs > STORE_SETTLES_MS && this.#isCutOff(state.instance);
    const cutOffMs = this.#cutOff.held(videoId, isCutOff && able.length > 0, now);
    if (cutOffMs > GIVEN_UP_MS)
      this.#violate(videoId, `its owner is cut off for ${Math.round(cutOffMs)} ms, and others want it`);
  }

  #isCutOff({ addresses }: Instance): boolean {
    return addresses.every((address) => !this.#world.network.reaches(address));
  }

  #judgeReleased(videoId: string, isWatched: boolean, now: number): void {
    const stored = this.#store.at(videoId);
    const wasFinal = this.#isFinal.get(videoId) ?? true;
    const isFinal = stored?.finalAt !== null;
    const watchedMs = this.#watched.held(videoId, isWatched, now);
    this.#isFinal.set(videoId, isFinal);
    if (!isFinal || wasFinal || watchedMs <= WATCHED_MS) return;
    if (stored?.detail?.includes('"released"')) this.#violate(videoId, "it is released while it is watched");
  }

  /** An instance that reads more than twice the rooms, and four more, of one that has viewers of its rooms. */
  overloaded(): { room: RoomJudge; what: string } | undefined {
    const now = this.#world.scheduler.monotonic();
    for (const [room, there] of this.#watching()) {
      const stored = this.#store.at(room.videoId);
      const owner = stored && stored.finalAt === null ? this.#ownerOf(stored, now) : undefined;
      if (!owner) continue;
      const held = this.#readBy(owner);
      const idle = [...there].find((instance) => held > 2 * this.#readBy(instance) + 4);
      if (idle)
        return { room, what: `instance ${owner.name} reads ${held}, ${idle.name} ${this.#readBy(idle)}` };
    }
    return undefined;
  }

  #readBy({ line }: Instance): number {
    return this.#store.readBy(line?.instance ?? "");
  }

  #violate(videoId: string, what: string): void {
    this.#world.journal.violate(videoId, what);
  }
}
