/**
 * The connection to several chats at once. Each has its own state: if one ends or fails, the others continue.
 * For a chat that cannot be opened, this tries again as the page of one chat does. Once the chat can be
 * opened, all are requested on a new connection, on which the others resume.
 */
import {
  type ChatError,
  type Featured,
  type Init,
  type MergedChats,
  type MessageType,
  merged,
} from "../../client/index.ts";
import { vectorOf } from "../../src/protocol/merged-id.ts";
import { Batch } from "./batch.ts";
import { silentMs, watchfulFetch } from "./keepalive.ts";
import { register, type Sharable, sharedStream } from "./sharing.ts";
import { completed, type ShownMessage } from "./shown-message.ts";
import { openChat } from "./source.ts";
import type { SourceChat } from "./source-chat.ts";
import { streamFetch } from "./stream-fetch.ts";
import { waitAfter } from "./waits.ts";

type ShownState = "connecting" | "reconnecting" | "waiting" | "open" | "ended" | "failed";

/** Where one of the chats is shown. */
export interface ChatPlace {
  /** A connection is there. */
  opened(init: Init): void;
  /** Messages, and gaps that are not messages. */
  take(items: readonly (ShownMessage | "gap")[]): void;
  /** Another message is featured, or none. */
  feature?(featured: Featured): void;
  readonly status: {
    /** `detail`: the reason of an end, the type of a chat, or a message. */
    show(state: ShownState, detail?: string, code?: string): void;
    /** `waitMs`: until the next attempt; undefined: soon. */
    wait(state: "connecting" | "reconnecting" | "waiting", error: ChatError, waitMs?: number): void;
  };
}

interface MergedService {
  /** The service's base URL. */
  service: string;
  token: string | undefined;
  /** Types and groups; undefined: all. */
  types?: readonly string[] | undefined;
  /** Whether the places hear of featured messages. */
  hasFeatured?: boolean | undefined;
}

/** One of the chats. */
class ConnectedChat {
  readonly videoId: string;
  readonly place: ChatPlace;
  readonly #service: MergedService;
  /** The cursor of the last message that came; before it, of the last `init`. */
  cursor: number | undefined;
  /**
   * `asked`: requested, but not begun on the current connection. `absent`: not found; it is tried separately.
   * `over`: ended or failed, and only requested again if the user wants it.
   */
  state: "asked" | "open" | "absent" | "over" = "asked";
  #isOff = false;
  #alone: SourceChat | undefined;
  #isClosed = false;
  readonly #batch = new Batch<ShownMessage | "gap">((items) => {
    if (!this.#isClosed) this.place.take(items);
  });

  constructor(videoId: string, place: ChatPlace, service: MergedService) {
    this.videoId = videoId;
    this.place = place;
    this.#service = service;
  }

  get isAsked(): boolean {
    return this.state === "asked" || this.state === "open";
  }

  begin(init: Init): void {
    this.#alone?.close();
    this.state = "open";
    this.#isOff = false;
    this.cursor = init.cursor;
    this.place.opened(init);
    this.place.status.show("open", init.chatType);
  }

  /** The chat is switched off or hidden, or back. */
  switch(isOff: boolean): void {
    if (isOff === this.#isOff) return;
    this.#isOff = isOff;
    this.place.status.show(isOff ? "waiting" : "open");
  }

  take(item: ShownMessage | "gap"): void {
    if (item !== "gap") this.cursor = item.cursor;
    this.#batch.add(item);
  }

  /** `detail`: the reason of an end, or the words of a failure. */
  end(state: "ended" | "failed", detail: string, code?: string): void {
    this.#alone?.close();
    this.#batch.flush();
    this.state = "over";
    this.place.status.show(state, detail, code);
  }

  /** Asks for this chat alone until it is there. */
  askAlone(found: () => void): void {
    this.#alone?.close();
    this.state = "absent";
    const retry = (error: ChatError, attempt: number): number | undefined => {
      const waitMs = waitAfter(error, attempt);
      if (this.#alone === alone) this.wait(error, waitMs);
      return waitMs;
    };
    const source = { videoId: this.videoId, channel: "" };
    const { service, token } = this.#service;
    const alone = openChat(service, source, { backfill: 0, token, retry });
    this.#alone = alone;
    alone.on("init", () => {
      alone.close();
      this.state = "asked";
      found();
    });
    alone.on("error", ({ code, message }) => this.end("failed", message, code));
    alone.on("message", () => {}); // without it, there is no connection
  }

  /** `waitMs`: until the next attempt; undefined: soon. */
  wait(error: ChatError, waitMs: number | undefined): void {
    this.place.status.wait(error.code === "NO_LIVE_CHAT" ? "waiting" : this.lost, error, waitMs);
  }

  /** `why`: for the user. */
  lose(why: string): void {
    this.state = "asked";
    this.place.status.show(this.lost, why);
  }

  get lost(): "connecting" | "reconnecting" {
    return this.cursor === undefined ? "connecting" : "reconnecting";
  }

  close(): void {
    this.#isClosed = true;
    this.#alone?.close();
  }
}

export class MergedConnection implements Sharable {
  readonly #places: ReadonlyMap<string, ChatPlace>;
  readonly #service: MergedService;
  #lines = new Map<string, ConnectedChat>();
  #backfill: number | undefined;
  #room: MergedChats<ShownMessage> | undefined;

  /** `places`: by video. */
  constructor(places: ReadonlyMap<string, ChatPlace>, service: MergedService) {
    this.#places = places;
    this.#service = service;
  }

  get isOver(): boolean {
    return false; // the page keeps it
  }

  suspend(): void {
    this.#room?.close();
  }

  changeOver(): void {
    this.#connect();
  }

  /** Closes the connection until `changeOver`. `why`: for the user. */
  lose(why: string): void {
    this.suspend();
    for (const line of this.#lines.values()) if (line.isAsked) line.lose(why);
  }

  /** Opens all chats from their beginning; `backfill` is the service's if it is undefined. */
  open(backfill: number | undefined): void {
    for (const line of this.#lines.values()) line.close();
    this.#backfill = backfill;
    register(this, this.#service.service, this.#service.token);
    this.#lines = new Map(
      [...this.#places].map(([videoId, place]) => [
        videoId,
        new ConnectedChat(videoId, place, this.#service),
      ]),
    );
    this.#connect();
  }

  /** Adds a chat, which begins with the backfill; the others go on. */
  add(videoId: string, place: ChatPlace): void {
    this.#lines.get(videoId)?.close();
    this.#lines.set(videoId, new ConnectedChat(videoId, place, this.#service));
    this.#connect();
  }

  /** Continues a chat at once. */
  goOn(videoId: string): void {
    const line = this.#lines.get(videoId);
    if (line?.state === "absent") this.#askAlone(line);
    else if (line) this.#ask([line]);
  }

  /** Continues the chats that have ended or failed. */
  openAgain(): void {
    this.#ask([...this.#lines.values()].filter(({ state }) => state === "over"));
  }

  #ask(lines: readonly ConnectedChat[]): void {
    for (const line of lines) line.state = "asked";
    if (lines.length > 0) this.#connect();
  }

  #askAlone(line: ConnectedChat): void {
    line.askAlone(() => this.#connect());
  }

  /** Opens a new connection, on which the chats resume after the last messages that came. */
  #connect(): void {
    this.#room?.close();
    const asked = [...this.#lines.values()].filter(({ isAsked }) => isAsked);
    if (asked.length === 0) return;
    for (const line of asked) {
      if (line.state !== "open") line.place.status.show(line.lost);
      line.state = "asked";
    }
    this.#room = this.#merge(asked);
    const room = this.#room;
    room.on("init", (init) => this.#lines.get(init.videoId)?.begin(init));
    room.on("message", (message) => this.#lines.get(message.videoId)?.take(completed(message)));
    room.on("gap", ({ videoId, details }) => details || this.#lines.get(videoId)?.take("gap"));
    room.on("featured", (featured) => this.#lines.get(featured.videoId)?.place.feature?.(featured));
    room.on("standing", ({ videoId, state }) => this.#lines.get(videoId)?.switch(state === "waiting"));
    room.on("end", ({ videoId, reason }) => {
      this.#lines.get(videoId)?.end("ended", reason);
      this.#closeUnused();
    });
    room.on("error", (error) => {
      for (const line of asked) if (line.videoId === (error.videoId ?? line.videoId)) this.#fail(line, error);
      this.#closeUnused();
    });
  }

  #merge(asked: readonly ConnectedChat[]): MergedChats<ShownMessage> {
    const retry = (error: ChatError, attempt: number): number | undefined => {
      const waitMs = waitAfter(error, attempt);
      if (this.#room === opened)
        for (const line of asked)
          if (line.isAsked) {
            line.state = "asked";
            line.wait(error, waitMs);
          }
      return waitMs;
    };
    const cursors = asked.map(({ cursor }) => cursor);
    const videoIds = asked.map(({ videoId }) => videoId);
    const { service, token, types, hasFeatured } = this.#service;
    const chosen = types && { types: types as MessageType[] };
    const watchful = watchfulFetch(silentMs());
    const fetch = streamFetch(hasFeatured ? "standing=on&featured=on" : "standing=on", watchful);
    const backfill = this.#backfill;
    const isResumed = cursors.some((cursor) => cursor !== undefined);
    const opened: MergedChats<ShownMessage> =
      sharedStream()?.openSeveral(videoIds, cursors, { backfill, token, trouble: retry, ...chosen }) ??
      (merged(service, {
        ...{ videoIds, backfill, token, retry, fetch, ...chosen },
        cursor: isResumed ? vectorOf(cursors) : undefined,
        details: true,
      }) as unknown as MergedChats<ShownMessage>);
    return opened;
  }

  /** A chat that has not begun may be there later, unless the service refuses the whole connection. */
  #fail(line: ConnectedChat, { videoId, code, message }: ChatError): void {
    if (line.state === "open" || !videoId) line.end("failed", message, code);
    else if (line.state === "asked") this.#askAlone(line);
  }

  /** The SDK would ask again for a chat that is asked for here. */
  #closeUnused(): void {
    if (![...this.#lines.values()].some(({ isAsked }) => isAsked)) this.#room?.close();
  }
}
