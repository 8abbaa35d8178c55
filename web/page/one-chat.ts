/** The page of one chat: of a video, or of a channel's streams, one after the other. */
import { find } from "../chat/dom.ts";
import { ChatSwitch } from "./chat-switch.ts";
import { Column, type Shared } from "./column.ts";
import { Connection } from "./connection.ts";
import { offerDownloads } from "./download.ts";
import { newRoot, partOf } from "./root.ts";
import type { Settings } from "./settings.ts";
import { carryState } from "./status.ts";
import { chatIn } from "./stored.ts";

export class OneChat {
  readonly columns: readonly Column[];
  readonly #connection: Connection;
  readonly #column: Column;
  readonly #switch = new ChatSwitch();

  constructor(shared: Shared) {
    const root = newRoot();
    find("main", HTMLElement).append(root);
    this.#column = new Column({
      ...shared,
      root,
      stateChanged: (state, code) => carryState(document.documentElement, state, code),
      begun: (videoId) => {
        offerDownloads(...(videoId === "" ? [] : [{ videoId }]));
        this.#switch.hide();
      },
    });
    this.columns = [this.#column];
    const { status } = this.#column;
    this.#connection = new Connection({
      status,
      opened: (init, isNew) => {
        if (isNew) this.#column.begin(init.videoId);
        this.#column.opened(init);
        const chat = chatIn(init);
        const shown = { videoId: init.videoId, chat };
        void this.#switch.show(shown).then((hasBoth) => hasBoth && offerDownloads(shown));
      },
      take: (items) => this.#column.take(items),
    });
    partOf(root, "retry", HTMLButtonElement).addEventListener("click", () => this.#connection.goOn());
    const { content: demoVideo } = find("meta[name=demo-video]", HTMLMetaElement);
    const demo = partOf(root, "demo", HTMLElement);
    demo.hidden = demoVideo === "";
    find("a", HTMLAnchorElement, demo).href = `?videoId=${demoVideo}`;
  }

  apply(settings: Settings, isNewLook: boolean): void {
    this.#column.apply(settings, isNewLook);
  }

  /** Opens what the settings name, from its beginning. */
  open({ videoId, channel, storedChat, backfill, refusal }: Settings): void {
    this.#column.begin(videoId);
    this.#connection.open({ videoId, channel, storedChat, backfill, refusal });
  }

  /** After an end or a failure, continues where it stopped. */
  openAgain(): void {
    const { state } = this.#column.status;
    if (state === "failed" || state === "ended") this.#connection.goOn();
  }
}
