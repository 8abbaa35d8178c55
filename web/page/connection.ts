/** The page's connection to its chat, and what the status line says of it. */
import type { ChatError, Init } from "../../client/index.ts";
import type { RelayError } from "../../src/protocol/errors.ts";
import { Batch } from "../chat/batch.ts";
import { completed, type ShownMessage } from "../chat/shown-message.ts";
import { openChat, type SourceChat, waitAfter } from "../chat/source.ts";
import type { Source } from "../chat/source-name.ts";
import { SERVICE, TOKEN } from "./own-service.ts";
import type { Status } from "./status.ts";

/** The chat to open; `backfill` is the service's if it is undefined. */
interface RequestedChat extends Source {
  /** Only the stored messages of this chat. */
  storedChat?: "" | "live" | "replay";
  backfill: number | undefined;
  /** Why nothing can be opened. */
  refusal?: RelayError | undefined;
}

interface ConnectionOptions {
  status: Status;
  /** A connection is there. `isNew`: to a channel's next stream. */
  opened(init: Init, isNew: boolean): void;
  /** Messages, and gaps that are not messages. */
  take(items: readonly (ShownMessage | "gap")[]): void;
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

  constructor(options: ConnectionOptions) {
    this.#options = options;
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
    this.#room?.close();
    const { videoId, channel, backfill, refusal } = this.#source;
    if (refusal) {
      this.#options.status.show("failed", refusal.message, refusal.code);
      return;
    }
    const isIdle = videoId === "" && channel === "";
    this.#options.status.show(isIdle ? "idle" : "connecting");
    if (!isIdle) this.#connect({ backfill, cursor: this.#room?.cursor }, this.#batch);
  }

  #connect(
    options: { backfill: number | undefined; cursor: number | string | undefined },
    batch: Batch<ShownMessage | "gap">,
  ): void {
    const { status, opened } = this.#options;
    const retry = (error: ChatError): number | undefined => {
      const waitMs = waitAfter(error);
      const state = room.state === "reconnecting" ? "reconnecting" : "connecting";
      if (this.#room === room) status.wait(state, error, waitMs);
      return waitMs;
    };
    const { storedChat, ...source } = this.#source;
    const part = storedChat ? ({ until: "now", chat: storedChat } as const) : {};
    const backfill = options.backfill ?? (storedChat ? MOST_STORED : undefined);
    const room = openChat(SERVICE, source, { ...options, ...part, backfill, token: TOKEN, retry });
    this.#room = room;
    room.on("state", (state) => {
      if (this.#room === room && state !== "closed" && state !== status.state) status.show(state);
    });
    room.on("init", (init) => {
      const isNew = this.#source.videoId === "" && init.videoId !== this.#videoId;
      if (isNew) batch.flush();
      this.#videoId = init.videoId;
      opened(init, isNew);
      status.show("open", init.chatType);
    });
    room.on("channel", (news) => status.showChannel(news));
    // A gap with details also arrives as a message.
    room.on("gap", ({ details }) => details || batch.add("gap"));
    room.on("end", ({ reason }) => {
      batch.flush();
      status.show("ended", reason === "until" ? storedChat : reason);
    });
    room.on("error", ({ code, message }) => {
      batch.flush();
      status.show("failed", message, code);
    });
    room.on("message", (message) => batch.add(completed(message)));
  }

  #newBatch(): Batch<ShownMessage | "gap"> {
    const batch: Batch<ShownMessage | "gap"> = new Batch((items) => {
      if (this.#batch === batch) this.#options.take(items);
    });
    return batch;
  }
}
