/** The viewer page: opens the chats that its URL names, and shows them according to the controls. */
import { foldCase } from "../../src/protocol/fold-case.ts";
import { parseVideoId } from "../../src/protocol/video-id.ts";
import { find } from "../chat/dom.ts";
import type { Display } from "../chat/shown-message.ts";
import { AuthorCard } from "./author-card.ts";
import { startControls } from "./controls.ts";
import { LiveRegions } from "./live-regions.ts";
import { type MarkKind, Marks } from "./marked-authors.ts";
import { OneChat } from "./one-chat.ts";
import { loadAgain } from "./own-service.ts";
import { readSettings, type Settings } from "./settings.ts";
import { SeveralChats } from "./several-chats.ts";

class Page {
  readonly #marks = new Marks((kind, isNarrower) => this.#marksChanged(kind, isNarrower));
  readonly #display: Display = {
    ...{ images: true, avatars: true, badges: true, timestamps: true, deleted: "hide", opensAuthors: true },
    isMarked: (message) => this.#marks.applies("mark", message),
  };
  /** Several videos, whose chats are side by side. */
  readonly #videoIds = readSettings(location.search).videoIds;
  readonly #chats: OneChat | SeveralChats;
  readonly #live = new LiveRegions();
  /** Changes the URL's parameters, and so the settings. */
  readonly #write: ReturnType<typeof startControls>;
  #settings: Settings | undefined;
  /** The title of the video that is shown, or the names of several; empty while no title is known. */
  #title = "";
  /** The name of the service. */
  readonly #name = document.title;

  constructor() {
    const shared = {
      display: this.#display,
      marks: this.#marks,
      card: new AuthorCard(this.#marks),
      live: this.#live,
      clearWords: () => this.#write({ q: "" }),
      keepPlace: (seconds: number) => this.#write({ t: String(seconds) }, "replace"),
    };
    const titled = (title: string): void => {
      this.#title = title;
      this.#showTitle();
    };
    this.#chats =
      this.#videoIds.length === 0
        ? new OneChat(shared, titled)
        : new SeveralChats(this.#videoIds, shared, titled, (chat) => this.#write({ chat }));
    // The same names again, after an end or a failure, resume where it stopped.
    find("#open", HTMLFormElement).addEventListener("submit", () => {
      const { value } = find("#open input[name=videoId]", HTMLInputElement);
      const { names = [], channel } = this.#settings ?? {};
      if (value.trim() === (names.join(", ") || channel)) this.#chats.openAgain();
    });
    this.#write = startControls((settings) => this.#apply(settings));
  }

  #apply(settings: Settings): void {
    if (settings.videoIds.join() !== this.#videoIds.join()) {
      loadAgain(); // the URL is that of another page
      return;
    }
    const before = this.#settings;
    this.#settings = settings;
    const { videoId, videoIds, channel } = settings;
    const name = videoId || videoIds.join(", ") || channel;
    this.#showTitle();
    const overlay = videoId === "" ? { channel } : { videoId };
    find("#overlay-setup", HTMLAnchorElement).search =
      name === "" || videoIds.length > 0 ? "" : new URLSearchParams(overlay).toString();
    const display = {
      images: settings.images,
      timestamps: settings.timestamps !== "off",
      localTimes: settings.timestamps === "local",
      deleted: settings.deleted,
    };
    const isNew = Object.entries(display).some(
      ([name, value]) => this.#display[name as keyof Display] !== value,
    );
    Object.assign(this.#display, display, { sought: foldCase(settings.q.trim()) });
    if (this.#display.sought && !this.#display.markFound) void this.#loadMarks();
    void this.#live.read(settings.aloud);
    const haveMarksChanged = this.#marks.read();
    this.#chats.apply(settings, isNew);
    if (haveMarksChanged) this.#marksChanged("hide", false);
    const opened = ({ names, channel, storedChat, backfill, deleted, follow }: Settings) =>
      [names, channel, storedChat, backfill, deleted === "remove", follow].join();
    if (!before || opened(before) !== opened(settings)) this.#chats.open(settings);
  }

  /** In the browser's tab: of the video, else the names that the page was given. */
  #showTitle(): void {
    const { videoId = "", videoIds = [], channel = "" } = this.#settings ?? {};
    const shown = this.#title || idIn(videoId) || videoIds.join(", ") || channel;
    document.title = shown === "" ? this.#name : `${shown} · ${this.#name}`;
  }

  async #loadMarks(): Promise<void> {
    const { markFound } = await import("./found-words.ts");
    this.#display.markFound = markFound;
    for (const column of this.#chats.columns) column.markFound();
  }

  /** Other authors are highlighted or muted. */
  #marksChanged(kind: MarkKind, isNarrower: boolean): void {
    for (const column of this.#chats.columns) column.marksChanged(kind, isNarrower);
  }
}

/** The id that a name of a video contains, or the name itself. */
function idIn(name: string): string {
  try {
    return parseVideoId(name);
  } catch {
    return name;
  }
}

new Page();
