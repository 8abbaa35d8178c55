/**
 * Checks the joint promises of several instances. Only a room's owner polls it. A room with a viewer at a
 * healthy instance is read by an instance that can read it, and is not released. In calm, no instance reads
 * far more rooms than another that has viewers of them.
 */

import type { ChatKey } from "../../src/protocol/chat-key.ts";
import type { PostgresSettings } from "../../src/store/postgres/postgres.ts";
import { DEADLINES } from "../../src/upstream/calls.ts";
import type { Journal } from "../harness/journal.ts";
import type { Network } from "../harness/network.ts";
import type { Promised } from "../harness/promises.ts";
import type { Scheduler } from "../harness/scheduler.ts";
import type { UpstreamJudge } from "../harness/upstream-judge.ts";
import type { Instance } from "./instance.ts";
import type { Watcher } from "./log-reader.ts";
import type { RoomJudge } from "./room-judge.ts";
import { isOpen, type SharedRoom } from "./shared-room.ts";
import type { SharedStore } from "./shared-store.ts";

const INSPECT_MS = 250;
/** Maximum time until a room is read again after its lease has expired or it was given back. */
const UNREAD_MS = 2000;
/** An owner that has handed a room on leaves it to others for this long. */
const REST_MS = 2000;
/** Maximum time until a room has another owner if its own cannot reach the upstream. */
const GIVEN_UP_MS = 10_000 + DEADLINES.chatMs + 5000;
/**
 * After trouble with the store, statements may hang for up to this long; a room opens after the upstream's
 * first answer.
 */
const STORE_SETTLES_MS = 10_000;
const UPSTREAM_SETTLES_MS = 10_000;
/** Maximum time after an outage until the viewer counts in the store are distrusted, and then renewed. */
const INTEREST_SETTLES_MS = 30_000;
const WATCHED_MS = 3000;
/** The part of a lease that its owner does not use. */
const MARGIN_MS = 2000;

/** Records since when a condition has held, in virtual milliseconds. */
class Since {
  readonly #at = new Map<string, number>();

  /** How long the condition has held without interruption, in milliseconds. */
  held(key: string, holds: boolean, now: number): number {
    if (!holds || !this.#at.has(key)) this.#at.set(key, now);
    return now - (this.#at.get(key) ?? now);
  }
}

/** The parts of the world that the judge uses. */
export interface ClusterWorld {
  seed: number;
  scheduler: Scheduler;
  journal: Journal;
  network: Network;
  upstreamJudge: UpstreamJudge;
  instances: readonly Instance[];
  rooms: readonly RoomJudge[];
  viewers: readonly Watcher[];
}

/** How long an instance has been healthy, in milliseconds. */
interface State {
  instance: Instance;
  storeMs: number;
  upstreamMs: number;
}

export class ClusterJudge {
  /**
   * Maximum duration of a call that begins while the lease can still be proved and ends before the lease
   * does.
   */
  readonly marginMs: number;
  readonly #world: ClusterWorld;
  readonly #store: SharedStore;
  readonly #storeWell = new Since();
  readonly #upstreamWell = new Since();
  /** The last time at which an instance could not call the upstream. */
  readonly #outAt = new Map<string, number>();
  readonly #watched = new Since();
  readonly #unread = new Since();
  readonly #cutOff = new Since();
  /** The last time at which each instance owned each room. */
  readonly #owned = new Map<ChatKey, Map<Instance, number>>();
  readonly #isFinal = new Map<string, boolean>();
  #inspectedAt = 0;

  readonly #graceMs: number;

  constructor(world: ClusterWorld, store: SharedStore, { leaseMs, graceMs }: PostgresSettings) {
    this.#world = world;
    this.#store = store;
    this.#graceMs = graceMs;
    this.marginMs = Math.min(MARGIN_MS, leaseMs / 5);
  }

  /** Call it after everything that may change the state. */
  inspect(): void {
    const { scheduler, instances, rooms } = this.#world;
    const now = scheduler.monotonic();
    if (now - this.#inspectedAt < INSPECT_MS) return;
    this.#inspectedAt = now;
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

  /** A call of the room leaves an instance, which must own the room. */
  called(videoId: string, instance: string): void {
    const now = this.#world.scheduler.monotonic();
    const stored = this.#store.at(videoId);
    const owner = stored && this.#ownerOf(stored, now);
    if (owner?.name === instance) return;
    this.#violate(
      "poller",
      videoId,
      `instance ${instance} polls it, and ${owner?.name ?? "nobody"} has a good lease`,
    );
  }

  #storeWellMs({ name, life, line }: Instance, now: number): number {
    const isWell = life !== undefined && line?.isWell === true;
    return this.#storeWell.held(name, isWell, now);
  }

  /** How long it has been able to call the upstream and has known it. A 5xx answer does not show it. */
  #upstreamWellMs({ name, life, addresses, pausedUntil }: Instance, now: number): number {
    const { network, upstreamJudge } = this.#world;
    const isReached = addresses.every((address) => network.reaches(address)) && now >= pausedUntil;
    if (!isReached) this.#outAt.set(name, now);
    const isKnown = upstreamJudge.answeredAt(name) >= (this.#outAt.get(name) ?? Number.NEGATIVE_INFINITY);
    return this.#upstreamWell.held(name, life !== undefined && isReached && isKnown, now);
  }

  /** The instances at which each room is watched now. */
  #watching(): Map<RoomJudge, Set<Instance>> {
    const watching = new Map<RoomJudge, Set<Instance>>();
    for (const { watching: rooms, host } of this.#world.viewers) {
      const instance = this.#world.instances.find((each) => each === host);
      if (!instance?.life) continue;
      for (const room of rooms) watching.getOrInsertComputed(room, () => new Set<Instance>()).add(instance);
    }
    return watching;
  }

  /** The instance with a valid lease of the room. */
  #ownerOf({ key, owner, leaseUntil }: SharedRoom, now: number): Instance | undefined {
    if (owner === null || leaseUntil <= now) return undefined;
    const found = this.#world.instances.find(({ line }) => line?.instance === owner);
    if (found) this.#owned.getOrInsertComputed(key, () => new Map<Instance, number>()).set(found, now);
    return found;
  }

  /** Checks that the room is read, by an instance that can read it, if one in `able` could and should. */
  #judgeRead(videoId: string, able: readonly State[], states: readonly State[], now: number): void {
    const stored = this.#store.at(videoId);
    const open = stored && isOpen(stored) ? stored : undefined;
    const owner = open && this.#ownerOf(open, now);
    const owned = stored && this.#owned.get(stored.key);
    // An instance can take a room and hand it on between two inspections.
    const heldAt = (instance: Instance) =>
      Math.max(owned?.get(instance) ?? 0, stored?.takenAt.get(instance.line?.instance ?? "") ?? 0);
    const wanting = able.filter(({ instance }) => now - heldAt(instance) > REST_MS + UNREAD_MS);
    // After the grace time, a chat that nobody follows is opened by its page, which may have to wait.
    const isGoingOn = open !== undefined && now - open.checkpointAt <= this.#graceMs;
    const isUnread = isGoingOn && open.leaseUntil <= now && wanting.length > 0;
    const unreadMs = this.#unread.held(videoId, isUnread, now);
    if (unreadMs > UNREAD_MS + INSPECT_MS)
      this.#violate(
        "reading",
        videoId,
        `nobody reads it for ${Math.round(unreadMs)} ms, though others want it`,
      );
    // The next owner may be cut off, too. It has the same time for itself, and all together have a limit.
    const isCutOff = ({ instance, storeMs }: State) =>
      instance === owner && storeMs > STORE_SETTLES_MS && this.#isCutOff(instance) && able.length > 0;
    const cutOffMs = states.map((state) =>
      this.#cutOff.held(`${videoId} of ${state.instance.name}`, isCutOff(state), now),
    );
    const togetherMs = this.#cutOff.held(videoId, states.some(isCutOff), now);
    const longestMs = Math.max(...cutOffMs, togetherMs / states.length);
    if (longestMs > GIVEN_UP_MS)
      this.#violate(
        "reading",
        videoId,
        `its owner is cut off for ${Math.round(longestMs)} ms, and others want it`,
      );
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
    if (stored?.detail?.includes('"released"'))
      this.#violate("reading", videoId, "it is released while it is watched");
  }

  /**
   * An instance that reads more than twice as many rooms, and at least four more, than one that has viewers
   * of its rooms.
   */
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

  #violate(promise: Promised, videoId: string, what: string): void {
    this.#world.journal.violate(promise, videoId, what);
  }
}
