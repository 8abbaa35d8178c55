/**
 * The chats of a run: their properties, their messages, and their order. Live chats that continue, one that
 * ends, and a replay; the last two are each followed by another.
 */

import { type EndShape, realisticHold, type Simulator, SPECIES } from "../../simulator/index.ts";
import type { Scenario } from "../../simulator/scenario.ts";
import type { Broadcast, Channel } from "../../simulator/simulated-channel.ts";
import { longActions } from "./long-messages.ts";
import { RoomTruth } from "./room-truth.ts";

/** A page shows the newest messages, which include all that a killed poll may have lost. */
export const PAGE = { page: 1000, overlap: 20, timeoutMs: 200 } as const;
/** The room whose tokens are reusable: a poll that was cut short costs it nothing. */
export const STEADY_ROOM = "chaos-live3";
/** The room with long messages. */
export const LONG_ROOM = "chaos-live4";
/**
 * The room whose upstream holds no more for a late reader than the real one: messages missing there are lost.
 */
export const LOSSY_ROOM = "chaos-live5";
/**
 * Every kind but the house rules, which are said again and again: nobody can know whether one that a page
 * shows is new. The simulation judges them.
 */
const KINDS = SPECIES.filter((kind) => kind !== "engagement");
interface Live {
  videoId: string;
  perSecond: number;
  scenario: Partial<Scenario>;
}

const LIVE: Live[] = [
  { videoId: "chaos-live1", perSecond: 10, scenario: { ...PAGE, kinds: ["text", "paid"] } },
  { videoId: "chaos-live2", perSecond: 6, scenario: { ...PAGE, kinds: KINDS } },
  { videoId: STEADY_ROOM, perSecond: 3, scenario: { ...PAGE, tokens: "reusable", kinds: KINDS } },
  { videoId: LONG_ROOM, perSecond: 4, scenario: { ...PAGE, kinds: ["text"] } },
  {
    videoId: LOSSY_ROOM,
    perSecond: 8,
    // Where only a page was read in time, what Top chat leaves out is missing without a gap
    // (docs/reliability.md). To the judges that is a loss, so here it leaves out nothing.
    scenario: {
      ...realisticHold,
      page: 50,
      overlap: 20,
      timeoutMs: 1000,
      kinds: ["text", "paid"],
      onlyInAll: () => false,
    },
  },
];
/** The first text in the room of long messages: more than buffers can take, less than an answer may hold. */
const LONG_CHARACTERS = 4000;
export const LONG_HISTORY = { answers: 10, messages: 300 };

const REPLAY = { kind: "replay", pageSize: 40, kinds: ["text", "paid", "sticker"] } as const;
const REPLAY_LENGTH = 2500;

/** The channel whose streams are those that end. */
export const CHANNEL = "@chaos";
/** A live chat that ends. */
const BRIEF = { perSecond: 5, scenario: { ...PAGE, kinds: ["text"] } } as const;

/** The chats of any run: they are opened, speak, and stop. */
export class Chats {
  readonly rooms: RoomTruth[] = [];
  protected readonly upstream: Simulator;
  readonly #traffic = new Map<RoomTruth, { stop(): void }>();

  constructor(upstream: Simulator) {
    this.upstream = upstream;
  }

  /** The rooms whose chats continue. */
  get liveRooms(): RoomTruth[] {
    return this.rooms.filter(({ chatType, mayEnd }) => chatType === "liveChatRenderer" && !mayEnd);
  }

  newLive({ videoId, perSecond, scenario }: Live, chat = this.upstream.chat(videoId, scenario)): RoomTruth {
    const isLossy = scenario.holdsMs !== undefined;
    const room = new RoomTruth(chat, "live", { pageLength: scenario.page ?? 0, isLossy });
    this.rooms.push(room);
    chat.say(30);
    this.#traffic.set(room, chat.speak(perSecond));
    return room;
  }

  /** Stops the messages of a room, or of all. */
  hush(...rooms: readonly RoomTruth[]): void {
    for (const room of rooms.length > 0 ? rooms : this.rooms) this.#traffic.get(room)?.stop();
  }
}

export class ChatScript extends Chats {
  /** The live room whose chat ends; a new one follows it. They are the streams of a channel. */
  brief: RoomTruth;
  readonly streams: RoomTruth[] = [];
  /** The room that is read from a recorded chat; when it has ended, a new one follows. */
  replay: RoomTruth;
  readonly #channel: Channel;
  #stream: Broadcast | undefined;
  #numbered = 0;
  #longSaid = 0;

  constructor(upstream: Simulator) {
    super(upstream);
    this.#channel = upstream.channel(CHANNEL);
    for (const live of LIVE) this.newLive(live);
    this.brief = this.newBrief();
    this.replay = this.newReplay();
  }

  /** A replay that nobody has read yet. */
  newReplay(): RoomTruth {
    const chat = this.upstream.chat(this.#nextId("r"), REPLAY);
    chat.say(REPLAY_LENGTH);
    this.replay = new RoomTruth(chat, "replay");
    this.rooms.push(this.replay);
    return this.replay;
  }

  newBrief(): RoomTruth {
    const videoId = this.#nextId("b");
    this.#stream = this.#channel.broadcast(videoId, { chat: BRIEF.scenario });
    this.brief = this.newLive({ videoId, ...BRIEF }, this.#stream.chat);
    this.streams.push(this.brief);
    return this.brief;
  }

  endBrief(shape: EndShape, lastWords: boolean): void {
    this.hush(this.brief);
    this.brief.mayEnd = true;
    this.#stream?.end(shape);
    this.brief.chat.end(shape, { lastWords });
  }

  sayLong(messages: number): void {
    const room = this.rooms.find(({ videoId }) => videoId === LONG_ROOM);
    room?.chat.say(longActions(this.#longSaid, messages, LONG_CHARACTERS, () => room.chat.nextUsec()));
    this.#longSaid += messages;
  }

  /** A video id that was not used before: `chaos-r0001`. */
  #nextId(letter: string): string {
    this.#numbered += 1;
    return `chaos-${letter}${String(this.#numbered).padStart(4, "0")}`;
  }
}
