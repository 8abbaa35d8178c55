/**
 * The viewers of a run: most watch one chat, some watch several on one connection, and some watch the
 * channel, whose streams follow each other.
 */

import { Random } from "../../simulator/random.ts";
import { Client, type ClientKind } from "../harness/clients/client.ts";
import type { ClientOptions, Observer } from "../harness/clients/observer.ts";
import { EVERYTHING, FILTERS, type Filter } from "../harness/filters.ts";
import type { AudienceJudge } from "./audience-judge.ts";
import { CHANNEL } from "./chat-script.ts";
import type { RoomTruth } from "./room-truth.ts";
import { ChannelJudge, MergedJudge, type SeveralParts } from "./several-judge.ts";
import type { Verdict } from "./verdict.ts";
import { ViewerJudge } from "./viewer-judge.ts";

/** How viewers of one chat come. */
export interface Habits {
  /** Each with its weight. */
  kinds: Partial<Record<ClientKind, number>>;
  backfills: readonly number[];
  /** The share of those with a filter, and of those that come in place of another and ask for everything. */
  filters: number;
  everything: number;
}

/** One in ten is curl, three in ten an EventSource. */
const HABITS: Habits = {
  kinds: { http: 6, eventsource: 3, curl: 1 },
  backfills: [0, 1, 50, 500],
  filters: 0.2,
  everything: 0.3,
};
/** The number of chats on one connection. */
const MERGED = { least: 2, most: 4 };
/** How long a client stays away if a chat of its connection does not continue. */
const TROUBLE_MS = 1000;

export interface Viewer {
  client: Client;
  judge: AudienceJudge;
  /** The first viewer of its room, who sees all of it and stays. */
  isWitness: boolean;
  /** Another viewer of the same comes. */
  another(): Viewer;
}

interface AudienceParts {
  random: Random;
  verdict: Verdict;
  /** The URL for a viewer's next connection. */
  url(): string;
  /** Whether viewers come to several processes, of which some may be behind others. */
  isSpread: boolean;
  habits: Habits | undefined;
}

export class Audience {
  readonly viewers = new Set<Viewer>();
  readonly #parts: AudienceParts;
  readonly #habits: Habits;
  readonly #kinds: readonly ClientKind[];
  #named = 0;

  constructor(parts: AudienceParts) {
    this.#parts = parts;
    this.#habits = parts.habits ?? HABITS;
    const kinds = Object.entries(this.#habits.kinds) as [ClientKind, number][];
    this.#kinds = kinds.flatMap(([kind, weight]) => Array<ClientKind>(weight).fill(kind));
  }

  of(room: RoomTruth): Viewer[] {
    return [...this.viewers].filter(({ judge }) => judge.rooms.includes(room));
  }

  /** A viewer of one chat comes. The first one of a room asks for all of it. */
  arrive(room: RoomTruth, options: Partial<ClientOptions> = {}): Viewer {
    const { random, verdict } = this.#parts;
    const kind = random.pick(this.#kinds);
    const isWitness = room.base === undefined;
    const filter = isWitness ? EVERYTHING : this.#filter();
    const asked: ClientOptions = {
      videoId: room.videoId,
      ...this.#asked(filter),
      ...options,
      ...(isWitness && { lastEventId: 0 }),
    };
    const judge = new ViewerJudge(this.#name(kind), room, asked, verdict, filter, this.#seenHead(room));
    const { everything } = this.#habits;
    const again = () => this.arrive(room, random.chance(everything) ? { lastEventId: 0 } : {});
    return this.#enter(kind, asked, judge, { judge, isWitness, another: again });
  }

  /** A viewer of several of these live chats comes, none of which ends. */
  arriveMerged(lasting: readonly RoomTruth[]): Viewer {
    const { random } = this.#parts;
    const count = MERGED.least + random.below(MERGED.most - MERGED.least + 1);
    const rooms = new Set(Array.from({ length: count }, () => random.pick(lasting)));
    const watched = { videoIds: Array.from(rooms, ({ videoId }) => videoId) };
    const judgeOf = (parts: SeveralParts) =>
      new MergedJudge([...rooms], (room) => this.#seenHead(room), parts);
    return this.#enterSeveral(watched, judgeOf, () => this.arriveMerged(lasting));
  }

  /** A viewer of the channel comes, which has these streams so far. */
  arriveAtChannel(streams: readonly RoomTruth[]): Viewer {
    const judgeOf = (parts: SeveralParts) => new ChannelJudge(CHANNEL, streams, parts);
    return this.#enterSeveral({ channel: CHANNEL }, judgeOf, () => this.arriveAtChannel(streams));
  }

  async leave(viewer: Viewer): Promise<void> {
    this.viewers.delete(viewer);
    this.#parts.verdict.count("messages received", viewer.judge.messages);
    await viewer.client.leave();
  }

  /** What a viewer that comes now cannot be behind: with edges, nothing, as any of them may be behind. */
  #seenHead(room: RoomTruth): number {
    return this.#parts.isSpread ? 0 : room.seenHead;
  }

  #enterSeveral(
    watched: Partial<ClientOptions>,
    judgeOf: (parts: SeveralParts) => MergedJudge | ChannelJudge,
    another: () => Viewer,
  ): Viewer {
    const { random, verdict } = this.#parts;
    const kind = random.pick(this.#kinds);
    const filter = this.#filter();
    const asked = { ...watched, ...this.#asked(filter) };
    const onTrouble = () => viewer.client.drop(TROUBLE_MS);
    const judge = judgeOf({ name: this.#name(kind), asked, filter, verdict, onTrouble });
    const viewer = this.#enter(kind, asked, judge, { judge, isWitness: false, another });
    return viewer;
  }

  #enter(kind: ClientKind, asked: ClientOptions, observer: Observer, parts: Omit<Viewer, "client">): Viewer {
    const { url, verdict } = this.#parts;
    const client = new Client(kind, url, asked, observer, new Random(this.#named, "client"));
    const viewer = { client, ...parts };
    this.viewers.add(viewer);
    const { videoIds, channel, types } = asked;
    const what = videoIds ? " of several chats" : channel ? " of the channel" : "";
    verdict.count(`viewers${what} ${kind}${types && " with a filter"}`);
    return viewer;
  }

  #asked({ types }: Filter): ClientOptions {
    const { random } = this.#parts;
    return { backfill: random.pick(this.#habits.backfills), details: random.chance(0.15), types };
  }

  #filter(): Filter {
    const { random } = this.#parts;
    return random.chance(this.#habits.filters) ? random.pick(FILTERS) : EVERYTHING;
  }

  #name(kind: ClientKind): string {
    this.#named += 1;
    return `${this.#named} (${kind})`;
  }
}
