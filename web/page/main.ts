/** The viewer page: opens the chat that its URL names, and shows it according to the controls. */
import type { Init } from "../../client/index.ts";
import { find } from "../chat/element.ts";
import type { Look } from "../chat/message.ts";
import { AuthorCard } from "./author-card.ts";
import { Column } from "./column.ts";
import { Connection } from "./connection.ts";
import { startControls } from "./controls.ts";
import { offerDownloads } from "./download.ts";
import { type MarkKind, Marks } from "./marks.ts";
import { newRoot, partOf } from "./root.ts";
import type { Settings } from "./settings.ts";

class Page {
  readonly #marks = new Marks((kind, isNarrower) => this.#markAnew(kind, isNarrower));
  readonly #look: Look = {
    ...{ images: true, avatars: true, badges: true, timestamps: true, deleted: "hide", opensAuthors: true },
    isMarked: (message) => this.#marks.applies("mark", message),
  };
  readonly #column: Column;
  /** Changes the URL's parameters, and so the settings. */
  readonly #write: ReturnType<typeof startControls>;
  #settings: Settings | undefined;
  readonly #connection: Connection;

  constructor() {
    const root = newRoot();
    find("main", HTMLElement).append(root);
    this.#column = new Column({
      root,
      carrier: document.documentElement,
      look: this.#look,
      marks: this.#marks,
      card: new AuthorCard(this.#marks),
      clearWords: () => this.#write({ q: "" }),
      begun: offerDownloads,
    });
    const { status } = this.#column;
    this.#connection = new Connection({
      status,
      opened: (init, isNew) => this.#opened(init, isNew),
      take: (items) => this.#column.take(items),
    });
    partOf(root, "retry", HTMLButtonElement).addEventListener("click", () => this.#connection.goOn());
    // The same video again, after its end or a failure, resumes where it stopped.
    find("#open", HTMLFormElement).addEventListener("submit", () => {
      const { value } = find("#open input[name=videoId]", HTMLInputElement);
      const isOver = status.state === "failed" || status.state === "ended";
      if (isOver && value.trim() === this.#settings?.videoId) this.#connection.goOn();
    });
    const { content: demoVideo } = find("meta[name=demo-video]", HTMLMetaElement);
    const demo = partOf(root, "demo", HTMLElement);
    demo.hidden = demoVideo === "";
    find("a", HTMLAnchorElement, demo).href = `?videoId=${demoVideo}`;
    this.#write = startControls((settings) => this.#apply(settings));
  }

  #apply(settings: Settings): void {
    const before = this.#settings;
    this.#settings = settings;
    const name = settings.videoId || settings.channel;
    document.title = name === "" ? "Live chat" : `Live chat · ${name}`;
    const source = settings.videoId === "" ? "channel" : "videoId";
    find("#overlay-setup", HTMLAnchorElement).search = name && `${source}=${encodeURIComponent(name)}`;
    const look = {
      images: settings.images,
      timestamps: settings.timestamps !== "off",
      localTimes: settings.timestamps === "local",
      deleted: settings.deleted,
    };
    const isNew = Object.entries(look).some(([name, value]) => this.#look[name as keyof Look] !== value);
    Object.assign(this.#look, look);
    const isMarkedAnew = this.#marks.read();
    this.#column.apply(settings, isNew);
    if (isMarkedAnew) this.#markAnew("hide", false);
    const opened = ({ videoId, channel, backfill, deleted }: Settings) =>
      [videoId, channel, backfill, deleted === "remove"].join();
    if (!before || opened(before) !== opened(settings)) this.#open();
  }

  /** Other authors are highlighted or muted. */
  #markAnew(kind: MarkKind, isNarrower: boolean): void {
    this.#column.markAnew(kind, isNarrower);
  }

  #open(): void {
    const { videoId = "", channel = "", backfill } = this.#settings ?? {};
    this.#column.begin(videoId);
    this.#connection.open({ videoId, channel, backfill });
  }

  #opened(init: Init, isNew: boolean): void {
    if (isNew) this.#column.begin(init.videoId);
    this.#column.opened(init);
  }
}

// The probe has a page of its own, and had a tab here.
const address = new URL(location.href);
if (address.searchParams.get("tab") === "probe") location.replace(`probe${address.search}`);
else new Page();
