/**
 * The chats of a run. Busy ones have viewers on all instances, quiet ones on one each. Some hold no more for
 * a late reader than the real upstream, so that messages are lost there. Some have only visitors. Some are
 * the streams of a channel, which follow each other.
 */

import type { Simulator } from "../../../simulator/index.ts";
import type { Random } from "../../../simulator/random.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import type { Broadcast, Channel } from "../../../simulator/simulated-channel.ts";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import type { Setup } from "./setup.ts";

type RoomKind = "busy" | "lossy" | "quiet" | "visited" | "stream";

export interface Room {
  videoId: string;
  kind: RoomKind;
  chat: ReturnType<Simulator["chat"]>;
  /** Its chat has ended. */
  isOver: boolean;
}

const BUSY = 4;
const LOSSY = 2;
const BUSY_PER_SECOND = 15;
const LOSSY_PER_SECOND = 3;
const STREAM_PER_SECOND = 3;
const FIRST_WORDS = 5;
/** Between two messages in a quiet room or another. */
const WORD_MS = 150;
/** All messages of a run. */
const WHOLE_PAGE = 5000;
/** The messages of 13 seconds there. */
const LOSSY_PAGE = 40;
/** A room that is opened repeatedly takes some time for it, in which much can happen. */
const SLOW_PAGE = { on: ["popout", "watch"], times: Number.POSITIVE_INFINITY, as: { delayMs: 700 } } as const;
/** How long the upstream keeps messages for the token of an answer. */
export const HOLDS_MS = 10_000;
const HOLDS = { holdsMs: HOLDS_MS, holdsMessages: 200 };

export const CHANNEL = "@cluster";

export function videoIdOf(name: string, n: number): string {
  return `${name}-${String(n).padStart(10 - name.length, "0")}`;
}

export class Rooms {
  readonly all: Room[] = [];
  /** The newest stream of the channel. */
  stream: Room;
  readonly #upstream: Simulator;
  readonly #setup: Setup;
  readonly #random: Random;
  readonly #talks: { stop(): void }[] = [];
  readonly #channel: Channel;
  #broadcast: Broadcast | undefined;
  #speech: { stop(): void } | undefined;

  constructor(upstream: Simulator, setup: Setup, random: Random) {
    this.#upstream = upstream;
    this.#setup = setup;
    this.#random = random;
    this.#channel = upstream.channel(CHANNEL);
    this.stream = this.open("stream");
    for (let n = 0; n < BUSY; n++) this.open("busy");
    for (let n = 0; n < LOSSY; n++) this.open("lossy");
    for (let n = 0; n < setup.quietRooms; n++) this.open("quiet");
  }

  of(...kinds: readonly RoomKind[]): Room[] {
    return this.all.filter(({ kind }) => kinds.includes(kind));
  }

  /** Opens a new room. */
  open(kind: RoomKind): Room {
    const { busyMs, quietMs } = this.#setup;
    const videoId = videoIdOf(kind, this.of(kind).length);
    const isLossy = kind === "lossy";
    const chat = this.#newChat(kind, videoId, {
      kinds: ["text"],
      // What Top chat leaves out comes late while an instance's line fails: the judges know of no such order.
      onlyInAll: () => false,
      timeoutMs: kind === "busy" ? busyMs : quietMs,
      page: isLossy ? LOSSY_PAGE : WHOLE_PAGE,
      // Half of them refuse a token that a former owner has used: their page shows all messages since. The
      // page of a stream shows none once that is over.
      tokens: isLossy || kind === "stream" || this.all.length % 2 === 0 ? "reusable" : "strict",
      ...(isLossy && HOLDS),
    });
    if (kind === "visited") this.#upstream.fault({ ...SLOW_PAGE, videoId });
    chat.say(FIRST_WORDS);
    const room: Room = { videoId, kind, chat, isOver: false };
    this.all.push(room);
    return room;
  }

  end(room: Room): void {
    room.isOver = true;
    room.chat.end("continuations-absent");
  }

  /** The channel speaks in another stream. */
  beginStream(): void {
    if (this.stream.isOver) this.stream = this.open("stream");
    this.#speech = this.stream.chat.speak(STREAM_PER_SECOND);
  }

  endStream(): Room {
    this.#speech?.stop();
    this.stream.isOver = true;
    this.#broadcast?.end("continuations-absent");
    return this.stream;
  }

  /** Chats speak until `hush`. */
  talk(): void {
    for (const { chat } of this.of("busy")) this.#talks.push(chat.speak(BUSY_PER_SECOND));
    for (const { chat } of this.of("lossy")) this.#talks.push(chat.speak(LOSSY_PER_SECOND));
    const words = setInterval(() => {
      const room = this.#random.pick(this.of("quiet", "visited"));
      if (!room.isOver) room.chat.say(1);
    }, WORD_MS);
    this.#talks.push({ stop: () => clearInterval(words) });
  }

  hush(): void {
    for (const talk of this.#talks.splice(0)) talk.stop();
    this.#speech?.stop();
  }

  #newChat(kind: RoomKind, videoId: string, scenario: Partial<Omit<Scenario, "kind">>): Chat {
    if (kind !== "stream") return this.#upstream.chat(videoId, scenario);
    this.#broadcast = this.#channel.broadcast(videoId, { chat: scenario });
    return this.#broadcast.chat;
  }

  get said(): ReadonlyMap<string, readonly string[]> {
    return new Map(this.all.map(({ videoId, chat }) => [videoId, chat.ledger.map(({ id }) => id)]));
  }
}
