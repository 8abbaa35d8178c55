/** The page of one chat: of a video, or of a channel's streams, one after the other. */
import type { Init } from "../../client/index.ts";
import { find } from "../chat/dom.ts";
import { chatIn, readStored, type ShownChat } from "../chat/stored.ts";
import { ChatSwitch } from "./chat-switch.ts";
import { Column, type Shared } from "./column.ts";
import { Connection } from "./connection.ts";
import { offerDownloads } from "./download.ts";
import { learnRoom, type Room, readRoom } from "./known-room.ts";
import { ask } from "./own-service.ts";
import { newRoot, partOf } from "./root.ts";
import type { Settings } from "./settings.ts";
import { carryState } from "./status.ts";
import { offerToken } from "./token-field.ts";
import type { VideoClock } from "./video-clock.ts";
import { drawVideo, oneLine } from "./video-line.ts";

export class OneChat {
  readonly columns: readonly Column[];
  readonly #connection: Connection;
  readonly #column: Column;
  readonly #switch = new ChatSwitch();
  readonly #root: HTMLElement;
  readonly #line: HTMLElement;
  readonly #shared: Shared;
  readonly #titled: (title: string) => void;
  readonly #follow = find("#follow", HTMLElement);
  #learning = new AbortController();
  /** Where the video begins, in seconds, if the chat is to follow it; a live chat follows nothing. */
  #start: number | undefined;
  #openings = 0;
  /** Shows the replay that is opened. */
  #clock: Promise<VideoClock | undefined> | undefined;
  /** The video, and the facts about it. */
  #known: { videoId: string; room: Pick<Room, "title" | "channel"> } = { videoId: "", room: {} };

  /** `titled` gets the title of the video; empty while it is not known. */
  constructor(shared: Shared, titled: (title: string) => void) {
    const root = newRoot();
    find("main", HTMLElement).append(root);
    this.#root = root;
    this.#line = partOf(root, "video", HTMLElement);
    [this.#shared, this.#titled] = [shared, titled];
    this.#column = new Column({
      ...shared,
      root,
      stateChanged: (state, code) => {
        carryState(document.documentElement, state, code);
        offerToken(code);
        if (code === "NO_LIVE_CHAT" || code === "NOT_STORED")
          void import("./kept-chat.ts").then(({ offerKept }) =>
            offerKept(root, this.#known.videoId, readRoom),
          );
        if (state === "ended") void this.#clock?.then((clock) => clock?.over());
      },
      begun: (videoId) => {
        offerDownloads(...(videoId === "" ? [] : [{ videoId }]));
        this.#learning.abort();
        this.#switch.hide();
        this.#follow.hidden = true;
        this.#name(videoId, {});
      },
    });
    this.columns = [this.#column];
    const { status } = this.#column;
    this.#connection = new Connection({
      status,
      opened: (init, isNew) => {
        if (isNew) this.#column.begin(init.videoId);
        this.#column.opened(init);
        const shown = { videoId: init.videoId, chat: chatIn(init) };
        this.#follow.hidden = shown.chat === "live";
        if (shown.chat === "replay" && this.#start !== undefined)
          this.#clock ??= this.#startClock(init, shown, this.#start);
        this.#learn(shown);
      },
      feature: (featured) => this.#column.feature(featured),
      take: (items) => {
        if (!this.#clock) this.#column.take(items);
        else void this.#clock.then((clock) => clock?.came(items.filter((item) => item !== "gap")));
      },
    });
    partOf(root, "retry", HTMLButtonElement).addEventListener("click", () => this.#connection.goOn());
    const { content: demoVideo } = find("meta[name=demo-video]", HTMLMetaElement);
    const demo = partOf(root, "demo", HTMLElement);
    demo.hidden = demoVideo === "";
    find("a", HTMLAnchorElement, demo).href = `?videoId=${demoVideo}`;
  }

  apply(settings: Settings, isNewDisplay: boolean): void {
    this.#column.apply(settings, isNewDisplay);
    if (isNewDisplay) this.#name(this.#known.videoId, this.#known.room);
  }

  /** Resolves to undefined if it was given up meanwhile. */
  async #startClock(init: Init, shown: ShownChat, start: number): Promise<VideoClock | undefined> {
    const opening = this.#openings;
    const { VideoClock } = await import("./video-clock.ts");
    if (opening !== this.#openings) return undefined;
    return new VideoClock({
      place: find("footer", HTMLElement, this.#root),
      start,
      read: (query, signal) => readStored(ask, shown, query, signal),
      isOver: () => this.#column.status.state === "ended",
      cleared: () => this.#column.again(init),
      take: (messages) => this.#column.take(messages),
      stopped: (seconds) => this.#shared.keepPlace(seconds),
    });
  }

  /** Asks for the stored chats and the title, until the title is known. */
  #learn(shown: ShownChat): void {
    this.#learning.abort();
    this.#learning = new AbortController();
    void learnRoom(shown, this.#learning.signal, (room) => {
      if (this.#switch.show(shown, room.chats)) offerDownloads(shown);
      if (shown.chat === "live") this.#column.known(room);
      if (room.title !== undefined) this.#name(shown.videoId, room);
    });
  }

  #name(videoId: string, room: Pick<Room, "title" | "channel">): void {
    this.#known = { videoId, room };
    drawVideo(this.#line, videoId, room, this.#shared.display.images);
    this.#titled(oneLine(room.title));
  }

  /** Opens what the settings name, from its beginning. */
  open({ videoId, channel, storedChat, backfill, refusal, follow, start }: Settings): void {
    void this.#clock?.then((clock) => clock?.close());
    this.#clock = undefined;
    this.#openings += 1;
    const followsVideo = follow === "video";
    this.#start = followsVideo ? start : undefined;
    this.#column.begin(videoId);
    this.#connection.open({ videoId, channel, storedChat, backfill, refusal, followsVideo });
  }

  /** After an end or a failure, continues where it stopped. */
  openAgain(): void {
    const { state } = this.#column.status;
    if (state === "failed" || state === "ended") this.#connection.goOn();
  }
}
