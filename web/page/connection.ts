/** The page's connection to its chat, and what the status line says of it. */
import type { ChatError, Featured, Init } from "../../client/index.ts";
import type { RelayError } from "../../src/protocol/errors.ts";
import { Batch } from "../chat/batch.ts";
import { silentMs, watchfulFetch } from "../chat/keepalive.ts";
import { completed, type ShownMessage } from "../chat/shown-message.ts";
import { openChat } from "../chat/source.ts";
import type { SourceChat } from "../chat/source-chat.ts";
import type { Source } from "../chat/source-name.ts";
import { chatIn } from "../chat/stored.ts";
import { streamFetch } from "../chat/stream-fetch.ts";
import { waitAfter } from "../chat/waits.ts";
import { SERVICE, TOKEN } from "./own-service.ts";
import { FOLLOWED, type Status } from "./status.ts";

/** The chat to open; `backfill` is the service's if it is undefined. */
interface RequestedChat extends Source {
  /** Only the stored messages of this chat. */
  storedChat?: "" | "live" | "replay";
  backfill: number | undefined;
  /** Whether the page itself reads a replay, by the time of the video, and needs only its new messages. */
  followsVideo?: boolean;
  /** Why nothing can be opened. */
  refusal?: RelayError | undefined;
}

interface ConnectionOptions {
  status: Status;
  /** A connection is there. `isNew`: to a channel's next stream. */
  opened(init: Init, isNew: boolean): void;
  /** Messages, and gaps that are not messages. */
  take(items: readonly (ShownMessage | "gap")[]): void;
  /** Another message is featured, or none; only with a token, which may have the right to choose it. */
  feature(featured: Featured): void;
}

/** How many messages the page begins with of a chat that is only stored: the service's maximum. */
const MOST_STORED = 500;

export class Connection {
  readonly #options: ConnectionOptions;
  #source: RequestedChat = { videoId: "", channel: "", backfill: undefined };
  #room: SourceChat | undefined;
  #batch = this.#newBatch();
  /** The video of the last connection. */
  #videoId: string | undefined;
  /** Whether there is no network, and the chat goes on once there is. */
  #isSuspended = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    addEventListener("offline", () => this.#suspend());
    addEventListener("online", () => this.#isSuspended && this.goOn());
  }

  open(source: RequestedChat): void {
    this.#room?.close();
    this.#room = undefined;
    this.#videoId = undefined;
    this.#batch = this.#newBatch();
    this.#source = source;
    this.goOn();
  }

  /** Connects, and resumes after the last message shown, if any. */
  goOn(): void {
    this.#isSuspended = false;
    this.#room?.close();
    const { videoId, channel, backfill, refusal } = this.#source;
    if (refusal) {
      this.#options.status.show("failed", refusal.message, refusal.code);
      return;
    }
    const isIdle = videoId === "" && channel === "";
    this.#options.status.show(isIdle ? "idle" : this.#lost);
    if (!isIdle) this.#connect({ backfill, cursor: this.#room?.cursor }, this.#batch);
  }

  /** The device has no network: streams would notice it late. */
  #suspend(): void {
    const { status } = this.#options;
    if (!this.#room || ["idle", "ended", "failed"].includes(status.state)) return;
    this.#isSuspended = true;
    this.#room.close();
    status.show(this.#lost, "This device is offline.");
  }

  get #lost(): "connecting" | "reconnecting" {
    return this.#videoId === undefined ? "connecting" : "reconnecting";
  }

  #connect(
    options: { backfill: number | undefined; cursor: number | string | undefined },
    batch: Batch<ShownMessage | "gap">,
  ): void {
    const { status, opened } = this.#options;
    const retry = (error: ChatError, attempt: number): number | undefined => {
      const waitMs = waitAfter(error, attempt);
      if (this.#room === room)
        status.wait(error.code === "NO_LIVE_CHAT" ? "waiting" : this.#lost, error, waitMs);
      return waitMs;
    };
    const { storedChat, followsVideo = false, ...source } = this.#source;
    const part = storedChat ? ({ until: "now", chat: storedChat } as const) : {};
    const usual = options.backfill ?? (storedChat ? MOST_STORED : undefined);
    const backfill = followsVideo ? 0 : usual;
    const fetch = watchfulFetch(silentMs());
    const own = {
      token: TOKEN,
      retry,
      fetch: streamFetch(TOKEN === undefined ? "standing=on" : "standing=on&featured=on", fetch),
    };
    const room = openChat(SERVICE, source, { ...options, ...part, backfill, ...own });
    this.#room = room;
    let isOff = false;
    let shown = "";
    room.on("init", (init) => {
      if (followsVideo && chatIn(init) === "live") {
        this.open({ ...this.#source, followsVideo: false });
        return;
      }
      const isNew = this.#source.videoId === "" && init.videoId !== this.#videoId;
      if (isNew) batch.flush();
      this.#videoId = init.videoId;
      isOff = false;
      opened(init, isNew);
      shown = followsVideo ? FOLLOWED : storedChat || init.chatType;
      status.show("open", shown);
    });
    room.on("standing", ({ state }) => {
      if (isOff === (state === "waiting")) return;
      isOff = !isOff;
      status.show(isOff ? "waiting" : "open");
    });
    room.on("channel", (news) => {
      const isOpen = news.videoId === this.#videoId;
      if (!(isOff && isOpen)) status.showChannel(news, isOpen);
    });
    // A gap with details also arrives as a message.
    room.on("gap", ({ details }) => details || batch.add("gap"));
    room.on("end", ({ reason }) => {
      batch.flush();
      status.show("ended", reason === "room released" ? reason : shown);
    });
    room.on("error", ({ code, message }) => {
      batch.flush();
      status.show("failed", message, code);
    });
    room.on("featured", (featured) => this.#options.feature(featured));
    room.on("message", (message) => batch.add(completed(message)));
  }

  #newBatch(): Batch<ShownMessage | "gap"> {
    const batch: Batch<ShownMessage | "gap"> = new Batch((items) => {
      if (this.#batch === batch) this.#options.take(items);
    });
    return batch;
  }
}
