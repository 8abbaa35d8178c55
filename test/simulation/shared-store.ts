/**
 * Replaces PostgreSQL for the instances of a run: the tables of the shared store and its statements, each
 * executed at once and durably. Each gives the rows that PostgreSQL gives: a test compares them.
 */

import assert from "node:assert/strict";
import type { Random } from "../../simulator/random.ts";
import type { Clock } from "../../src/base/clock.ts";
import { CHATS } from "../../src/protocol/chat.ts";
import { type ChatKey, chatKey } from "../../src/protocol/chat-key.ts";
import { AFTER_LEASE_MS, ORPHANS, RELEASE, SWEEP } from "../../src/store/postgres/cluster-watch.ts";
import { ONE_TOO_MANY, SPARE_ROOMS } from "../../src/store/postgres/leases.ts";
import { CHANNEL_NAME } from "../../src/store/postgres/notifications.ts";
import { type RoomRow, SQL, toMessage, toRecord } from "../../src/store/postgres/postgres-tables.ts";
import { WANTED_ELSEWHERE, WATCHED_FOR, WRITE } from "../../src/store/postgres/viewer-counts.ts";
import type { StoredMessage } from "../../src/store/stored-message.ts";
import type { Peek } from "../harness/peek.ts";
import { free, isOpen, messagesIn, type SharedRoom } from "./shared-room.ts";
import { SharedTallies } from "./shared-tallies.ts";

interface Watching {
  viewers: number;
  until: number;
}

export class SharedStore implements Peek {
  /** Receives every notification. */
  onNotify: (payload: string) => void = () => {};
  /**
   * The error of the database's clock for the times of messages and of ends, in milliseconds. Leases are not
   * affected: nothing is promised of them while this clock jumps.
   */
  contentAheadMs = 0;
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  readonly #random: Random;
  readonly #rooms = new Map<ChatKey, SharedRoom>();
  readonly #tallies = new SharedTallies((key) => this.#rooms.get(key));
  /** The viewer counts of each room, by instance. */
  readonly #interest = new Map<ChatKey, Map<string, Watching>>();
  readonly #statements: ReadonlyMap<string, (...values: never[]) => object[]>;

  constructor(clock: Pick<Clock, "now" | "monotonic">, random: Random) {
    this.#clock = clock;
    this.#random = random;
    this.#statements = this.#all();
  }

  knows(text: string): boolean {
    return this.#statementOf(text) !== undefined;
  }

  /** The rows that a statement returns. Throws for an unknown statement. */
  execute(text: string, values: readonly unknown[]): object[] {
    const statement = this.#statementOf(text) ?? assert.fail(`an unknown statement: ${text}`);
    return (statement as (...values: readonly unknown[]) => object[])(...values);
  }

  #statementOf(text: string) {
    return text.startsWith("select pg_notify(") ? this.#notify : this.#statements.get(text);
  }

  /**
   * The row of a video: of its chats, the one that somebody owns, else the replay's. If both are owned, the
   * replay's if it is open, else the live chat's.
   *
   * The live chat's also stands for the right to open the video. An instance takes it before it looks whether
   * another one reads the replay, and must not call beside that one. But nobody reads a replay that is not
   * open: an instance takes it after the last call of its opening, and calls again once its first append has
   * opened it. If the answer to the taking is lost, it never learns that it owns the replay, and the lease
   * runs out.
   */
  at(videoId: string): SharedRoom | undefined {
    const rows = CHATS.flatMap((chat) => this.#rooms.get(chatKey(videoId, chat)) ?? []);
    const owned = rows.filter(({ owner, leaseUntil }) => owner !== null && leaseUntil > this.#now);
    return owned.findLast(isOpen) ?? owned.at(0) ?? rows.at(-1);
  }

  /** Changes the checkpoints of a video's rooms regardless of their owners. */
  rewrite(videoId: string, change: (checkpoint: string) => string): void {
    for (const chat of CHATS) {
      const room = this.#rooms.get(chatKey(videoId, chat));
      if (room?.checkpoint) room.checkpoint = change(room.checkpoint);
    }
  }

  async room(key: ChatKey) {
    const [row] = this.#room(key);
    return row && toRecord(row, () => assert.fail("every row can be read"));
  }

  async account(key: ChatKey) {
    return this.#tallies.account(key);
  }

  async after(key: ChatKey, cursor: number): Promise<StoredMessage[]> {
    return this.#read(key, cursor, Number.POSITIVE_INFINITY).map(toMessage);
  }

  get #now(): number {
    return this.#clock.monotonic();
  }

  /** The time that is stored with messages and ends. */
  get #wall(): number {
    return this.#clock.now() + this.contentAheadMs;
  }

  #all(): ReadonlyMap<string, (...values: never[]) => object[]> {
    return new Map<string, (...values: never[]) => object[]>([
      [SQL.take, this.#take],
      [SQL.giveBack, this.#giveBack],
      [SQL.renew, this.#renew],
      [SQL.append, this.#append],
      [SQL.appendAndOverwrite, this.#append],
      [SQL.finish, this.#finish],
      [SQL.read, this.#read],
      [SQL.firstOfTypes, this.#ofTypes((found, limit) => found.slice(0, limit))],
      [SQL.lastOfTypes, this.#ofTypes((found, limit) => found.slice(-limit))],
      [SQL.messagesById, this.#messagesById],
      [SQL.byIdPrefix, (v: string, prefix: string) => this.#found(v, ({ id }) => id.startsWith(prefix))],
      [SQL.byText, this.#byText],
      [SQL.room, this.#room],
      [SQL.channels, (v: string) => [this.#rooms.get(v)].flatMap((room) => room ?? [])],
      [SQL.setChannels, this.#setChannels],
      [SQL.hasChannel, this.#hasChannel],
      [SQL.setVideo, this.#setVideo],
      [SQL.getFeatured, this.#getFeatured],
      [SQL.setFeatured, this.#setFeatured],
      ...this.#tallies.statements(),
      ...[SQL.touch, "listen relay", "select 1"].map((text) => [text, () => []] as const),
      [SQL.age, this.#age],
      [SQL.prune, this.#prune],
      [SQL.size, () => [{ bytes: 0 }]],
      [CHANNEL_NAME, () => [{ channel: "relay" }]],
      [WRITE, this.#watch],
      [WATCHED_FOR, this.#watchedFor],
      [WANTED_ELSEWHERE, this.#wantedElsewhere],
      [ONE_TOO_MANY, this.#oneTooMany],
      [SWEEP, this.#sweep],
      [ORPHANS, this.#orphans],
      [RELEASE, this.#release],
    ]);
  }

  readonly #take = (key: ChatKey, owner: string, leaseMs: number, other: string): object[] => {
    const now = this.#now;
    let room = this.#rooms.get(key);
    if (room && room.owner !== owner && room.leaseUntil > now) return [{ is_same: true, now, epoch: null }];
    room ??= this.#born(key, other);
    Object.assign(room, { owner, epoch: room.epoch + 1, leaseUntil: now + leaseMs });
    room.takenAt.set(owner, now);
    return [{ is_same: true, now, epoch: room.epoch, ...this.#row(room) }];
  };

  #born(key: ChatKey, other: string): SharedRoom {
    const at = this.#clock.now();
    const base = Math.max(at, (this.#rooms.get(other)?.head ?? 0) + 1);
    const room: SharedRoom = {
      ...{ key, base, head: base, epoch: at, owner: null, leaseUntil: 0, takenAt: new Map() },
      ...{ checkpoint: null, checkpointAt: 0, detail: null, finalAt: null, channels: null, video: null },
      ...{ featuredId: null, featuredAt: null },
      ...{ messages: [], byId: new Map(), times: [], finalWallAt: 0 },
    };
    this.#rooms.set(key, room);
    return room;
  }

  readonly #setChannels = (key: ChatKey, names: string): object[] => {
    const room = this.#rooms.get(key);
    if (room) room.channels = names;
    return [];
  };

  readonly #hasChannel = (channel: string, shown: string): object[] =>
    [...this.#rooms.values()].filter(
      ({ channels, video }) => channels?.split(" ").includes(channel) || video?.includes(shown),
    );

  readonly #setVideo = (key: ChatKey, video: string): object[] => {
    const room = this.#rooms.get(key);
    if (room) room.video = video;
    return [];
  };

  readonly #getFeatured = (key: ChatKey): object[] => {
    const { featuredId, featuredAt } = this.#rooms.get(key) ?? {};
    return featuredId ? [{ messageId: featuredId, at: featuredAt }] : [];
  };

  readonly #setFeatured = (key: ChatKey, featuredId: string | null): object[] => {
    const room = this.#rooms.get(key);
    if (room) Object.assign(room, { featuredId, featuredAt: featuredId === null ? null : this.#wall });
    return [];
  };

  readonly #giveBack = (keys: readonly ChatKey[], epochs: readonly number[]): object[] =>
    this.#owned(keys, epochs).flatMap((room) => {
      if (room.checkpoint === null) {
        this.#rooms.delete(room.key);
        return [];
      }
      free(room);
      return [{ video_id: room.key, is_open: room.finalAt === null }];
    });

  readonly #renew = (keys: readonly ChatKey[], epochs: readonly number[], leaseMs: number): object[] =>
    this.#owned(keys, epochs).map((room) => {
      room.leaseUntil = this.#now + leaseMs;
      return { video_id: room.key, now: this.#now };
    });

  /** The rooms that are still owned under these epochs. */
  #owned(keys: readonly ChatKey[], epochs: readonly number[]): SharedRoom[] {
    return keys.flatMap((key, i) => {
      const room = this.#rooms.get(key);
      return room && room.epoch === epochs[i] && room.owner !== null ? [room] : [];
    });
  }

  readonly #append = (
    key: ChatKey,
    epoch: number,
    expected: number,
    ids: readonly string[],
    bodies: readonly string[],
    details: readonly string[],
    checkpoint: string,
    leaseMs: number,
    written: number | null,
    earliest: number,
    storedAt: readonly (number | undefined)[],
    said: readonly (number | undefined)[],
    _offset: readonly (number | undefined)[],
    ...overwriting: (readonly string[])[]
  ): object[] => {
    const room = this.#rooms.get(key);
    if (!room) return [];
    if (room.epoch !== epoch || room.head !== expected || room.owner === null) {
      return [{ epoch: room.epoch, head: room.head, added: null, times: null }];
    }
    const now = this.#now;
    const [overIds = [], overBodies = [], overDetails = []] = overwriting;
    for (const message of messagesIn(overIds, overBodies, overDetails)) {
      const before = room.byId.get(message.id); // one of this append is not yet there for the statement
      if (before) this.#put(room, { ...before, ...message });
    }
    const added: number[] = [];
    const times: number[] = [];
    const wall = Math.max(this.#wall, earliest);
    let last = room.times.at(-1) ?? 0;
    for (const [i, message] of messagesIn(ids, bodies, details).entries()) {
      last = Math.max(last, Math.min(storedAt[i] ?? wall, wall), said[i] ?? 0);
      if (room.byId.has(message.id)) continue;
      added.push(i + 1);
      times.push(last);
      room.head += 1;
      this.#put(room, { ...message, cursor: room.head, storedAt: last });
      room.times.push(last);
    }
    const open = { detail: null, finalAt: null };
    const checkpointAt = Math.min(now, written ?? now);
    Object.assign(room, { checkpoint, checkpointAt, leaseUntil: now + leaseMs, ...open });
    return [{ epoch, head: room.head, added, times }];
  };

  #put(room: SharedRoom, message: StoredMessage): void {
    room.byId.set(message.id, message);
    room.messages[message.cursor - room.base - 1] = message;
  }

  readonly #finish = (key: ChatKey, epoch: number, final: string, detail: string): object[] => {
    const room = this.#rooms.get(key);
    if (!room) return [];
    const { owner, head } = room;
    if (room.epoch !== epoch || owner === null || room.checkpoint === null)
      return [{ epoch: room.epoch, head, outcome: "fenced" }];
    if (final === "released" && this.#others(key, owner).length > 0) {
      free(room);
      return [{ epoch: room.epoch, head, outcome: "free" }];
    }
    Object.assign(room, { detail, finalAt: this.#now, finalWallAt: this.#wall, owner: null, leaseUntil: 0 });
    return [{ epoch, head, outcome: "final" }];
  };

  readonly #read = (key: ChatKey, after: number, limit: number): StoredMessage[] => {
    const { base = 0, messages = [] } = this.#rooms.get(key) ?? {};
    const start = Math.max(0, after - base);
    return messages.slice(start, start + limit);
  };

  #ofTypes(cut: (found: StoredMessage[], limit: number) => StoredMessage[]) {
    return (key: ChatKey, types: readonly string[], after: number, to: number, limit: number): object[] => {
      const isWanted = ({ cursor, body }: StoredMessage) =>
        cursor > after && cursor <= to && types.includes(/^{"type":"([^"]+)"/.exec(body)?.[1] ?? "gap");
      return cut(this.#found(key, isWanted), limit);
    };
  }

  readonly #messagesById = (key: ChatKey, ids: readonly string[]): object[] => {
    const room = this.#rooms.get(key);
    return [...new Set(ids)].flatMap((id) => room?.byId.get(id) ?? []);
  };

  readonly #byText = (key: ChatKey, text: string, after: number, last: number): object[] =>
    this.#found(key, ({ cursor, details }) => cursor > after && cursor <= last && details.includes(text));

  #found(key: ChatKey, isWanted: (message: StoredMessage) => boolean): StoredMessage[] {
    return this.#rooms.get(key)?.messages.filter(isWanted) ?? [];
  }

  readonly #room = (key: ChatKey): RoomRow[] => {
    const room = this.#rooms.get(key);
    return room && room.checkpoint !== null ? [this.#row(room) as RoomRow] : [];
  };

  #row(room: SharedRoom) {
    const { key, base, head, checkpoint, checkpointAt, detail, finalAt, video } = room;
    const endedAgoMs = finalAt === null ? null : this.#now - finalAt;
    const readAgoMs = checkpoint === null ? null : this.#now - checkpointAt;
    const ages = { readAgoMs, endedAgoMs };
    return { key, base, floor: base, head, checkpoint, end: detail, video, ...ages };
  }

  readonly #age = (): object[] => {
    const rooms = [...this.#rooms.values()];
    const firsts = rooms.flatMap(({ times }) => times.slice(0, 1));
    const ends = rooms.flatMap(({ finalAt, finalWallAt }) => (finalAt === null ? [] : finalWallAt));
    const oldest = Math.min(...firsts, ...ends);
    return [{ now: this.#wall, oldestAt: Number.isFinite(oldest) ? oldest : null }];
  };

  /** Says what would be deleted, and deletes nothing: a run is too short for the retention. */
  readonly #prune = (keptMs: number, _limit: number, now = this.#wall): object[] => {
    const isOld = (at: number) => at < now - keptMs;
    const entries = [...this.#rooms.values()].reduce((sum, { times }) => sum + times.filter(isOld).length, 0);
    return [{ entries, behind: null }];
  };

  readonly #watch = (
    keys: readonly ChatKey[],
    instance: string,
    viewers: readonly number[],
    keepMs: readonly number[],
  ): object[] => {
    for (const [i, key] of keys.entries()) {
      const instances = this.#interest.getOrInsertComputed(key, () => new Map<string, Watching>());
      const count = viewers[i] ?? 0;
      const until = this.#now + (keepMs[i] ?? 0);
      const before = instances.get(instance)?.until ?? 0;
      instances.set(instance, { viewers: count, until: count === 0 ? until : Math.max(before, until) });
    }
    return [];
  };

  /** The instances that watch the room, or did until a moment ago. */
  #watching(key: ChatKey): [instance: string, Watching][] {
    return [...(this.#interest.get(key) ?? [])].filter(([, { until }]) => until > this.#now);
  }

  /** The other instances that have viewers of the room. */
  #others(key: ChatKey, instance: string, beyond = 0): string[] {
    const others = this.#watching(key).filter(([name, { viewers }]) => name !== instance && viewers > beyond);
    return others.map(([name]) => name);
  }

  readonly #watchedFor = (key: ChatKey): object[] => {
    const left = this.#watching(key).map(([, { until }]) => until - this.#now);
    return [{ ms: Math.max(0, ...left) }];
  };

  readonly #wantedElsewhere = (keys: readonly ChatKey[], instance: string, beyond: number): object[] =>
    keys.filter((key) => this.#others(key, instance, beyond).length > 0).map((video_id) => ({ video_id }));

  readonly #oneTooMany = (instance: string, held: number, kept: readonly string[]): object[] => {
    const firstWanted = new Map<string, string>();
    for (const { key, owner, finalAt, checkpoint } of this.#rooms.values()) {
      if (owner !== instance || finalAt !== null || checkpoint === null || kept.includes(key)) continue;
      for (const other of this.#others(key, instance)) {
        const first = firstWanted.get(other) ?? key;
        firstWanted.set(other, first < key ? first : key);
      }
    }
    const loads = [...firstWanted].map(([other, video_id]) => ({ video_id, rooms: this.readBy(other) }));
    const far = loads.filter(({ rooms }) => held > 2 * rooms + SPARE_ROOMS);
    far.sort((one, other) => one.rooms - other.rooms);
    return far.slice(0, 1).map(({ video_id }) => ({ video_id }));
  };

  /** The number of open rooms for which an instance has a valid lease. */
  readBy(instance: string): number {
    const isRead = ({ owner, finalAt, leaseUntil }: SharedRoom) =>
      owner === instance && finalAt === null && leaseUntil > this.#now;
    return this.#rooms.values().filter(isRead).toArray().length;
  }

  readonly #sweep = (keys: readonly ChatKey[]): object[] => {
    const rows = keys.flatMap((key) => {
      const room = this.#rooms.get(key);
      if (!room) return [];
      const { base, head, featuredAt: featured, checkpoint, finalAt, leaseUntil } = room;
      const standing = checkpoint && (/"absence":\{([^}]*)/.exec(checkpoint)?.[1] ?? "");
      const lease_left_ms = Math.max(0, leaseUntil - this.#now);
      const row = { is_same: true, video_id: key, base, head, featured, standing };
      return [{ ...row, is_final: finalAt !== null, lease_left_ms }];
    });
    return rows.length > 0 ? rows : [{ is_same: true, video_id: null, is_final: false, lease_left_ms: 0 }];
  };

  /** Open rooms without an owner that were read before, watched or not. */
  #unowned(isWatched: boolean): SharedRoom[] {
    const isUnowned = ({ key, finalAt, checkpoint, leaseUntil }: SharedRoom) =>
      finalAt === null &&
      checkpoint !== null &&
      leaseUntil <= this.#now - AFTER_LEASE_MS &&
      this.#watching(key).length > 0 === isWatched;
    return this.#rooms.values().filter(isUnowned).toArray();
  }

  readonly #orphans = (): object[] => {
    const drawn = this.#unowned(true).map((room) => ({ video_id: room.key, draw: this.#random.next() }));
    return drawn.sort((one, other) => one.draw - other.draw);
  };

  readonly #release = (graceMs: number, detail: string): object[] => {
    for (const room of this.#unowned(false)) {
      if (room.checkpointAt > this.#now - graceMs) continue;
      free(room);
      Object.assign(room, { detail, finalAt: this.#now, finalWallAt: this.#wall });
    }
    return [];
  };

  readonly #notify = (payloads: string | readonly string[]): object[] => {
    for (const payload of [payloads].flat()) this.onNotify(payload);
    return [];
  };
}
