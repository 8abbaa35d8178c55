/** The viewer page: opens the chat that its URL names, and shows it according to the controls. */
import type { Init } from "../../client/index.ts";
import { find } from "../chat/element.ts";
import type { Look, ShownMessage } from "../chat/message.ts";
import { EVENTS, elementOf, type Row, redraw, Transcript } from "../chat/transcript.ts";
import { AuthorCard } from "./author-card.ts";
import { Connection } from "./connection.ts";
import { startControls } from "./controls.ts";
import { offerDownloads } from "./download.ts";
import { Follower } from "./follower.ts";
import { LiveRegion } from "./live-region.ts";
import { Log } from "./log.ts";
import { type MarkKind, Marks } from "./marks.ts";
import { Past } from "./past.ts";
import { Search } from "./search.ts";
import type { Settings } from "./settings.ts";
import { Standing } from "./standing.ts";
import { Stats } from "./stats.ts";
import { Status } from "./status.ts";
import type { StoredQuery } from "./stored.ts";

class Page {
  readonly #marks = new Marks((kind, isNarrower) => this.#markAnew(kind, isNarrower));
  readonly #look: Look = {
    ...{ images: true, avatars: true, badges: true, timestamps: true, deleted: "hide", opensAuthors: true },
    isMarked: (message) => this.#marks.applies("mark", message),
  };
  readonly #status = new Status();
  readonly #stats: Stats;
  readonly #chat = find("#chat", HTMLElement);
  readonly #latest = find("#latest", HTMLButtonElement);
  readonly #live = new LiveRegion(this.#chat);
  /** Rows of the current batch. */
  readonly #fresh = new Set<Row>();
  /** Whether the filters hide a row whose content was replaced, or show it now. */
  #isMisplaced = false;
  readonly #follower: Follower;
  readonly #log: Log;
  readonly #past: Past;
  readonly #search: Search;
  readonly #standing: Standing;
  /** Changes the URL's parameters, and so the settings. */
  readonly #write: ReturnType<typeof startControls>;
  #transcript: Transcript;
  #settings: Settings | undefined;
  readonly #connection = new Connection({
    status: this.#status,
    opened: (init, isNew) => this.#opened(init, isNew),
    take: (items) => this.#follower.keep(() => this.#take(items)),
  });

  constructor() {
    const content = find("#rows", HTMLElement);
    this.#log = new Log({
      content,
      look: this.#look,
      isShown: (row) => this.#isShown(row),
      dropped: (row) => this.#transcript.drop(row),
    });
    const changed = (following: boolean): void => {
      this.#chat.dataset.following = String(following);
      if (following)
        for (const row of content.querySelectorAll<HTMLElement>("[style*=min-height]"))
          row.style.minHeight = "";
      this.#log.follow(following);
      this.#past.show();
      this.#showNews();
    };
    this.#follower = new Follower(this.#chat, content, changed, () => !this.#log.isAway);
    this.#past = new Past({
      log: this.#log,
      chat: this.#chat,
      filter: () => storedBy(this.#settings),
      restore: (message) => this.#transcript.restore(message, (row) => this.#past.aftermath.apply(row)),
      keep: (change) => {
        this.#live.opened();
        this.#follower.keep(change);
      },
    });
    const stored = {
      read: (query: StoredQuery, signal: AbortSignal) => this.#past.read(query, signal),
      apply: (row: Row) => this.#past.aftermath.apply(row),
      isShown: (row: Row) => this.#isShown(row),
      isTakenDown: ({ fate }: Row) => fate.deleted !== undefined && this.#look.deleted !== "strike",
      open: (cursor: number) => this.#openAt(cursor),
    };
    this.#search = new Search({ ...stored, filter: () => storedBy(this.#settings) });
    this.#standing = new Standing(stored);
    const card = new AuthorCard({ ...stored, marks: this.#marks });
    this.#stats = new Stats((id, name) => card.show(id, name));
    this.#transcript = this.#newTranscript();
    this.#latest.addEventListener("click", () => {
      this.#chat.focus({ preventScroll: true }); // the button is removed and would take the focus with it
      this.#follower.follow();
    });
    find("#retry", HTMLButtonElement).addEventListener("click", () => this.#connection.goOn());
    // The same video again, after its end or a failure, resumes where it stopped.
    find("#open", HTMLFormElement).addEventListener("submit", () => {
      const { value } = find("#open input[name=videoId]", HTMLInputElement);
      const isOver = this.#status.state === "failed" || this.#status.state === "ended";
      if (isOver && value.trim() === this.#settings?.videoId) this.#connection.goOn();
    });
    const { content: demoVideo } = find("meta[name=demo-video]", HTMLMetaElement);
    find("#demo", HTMLElement).hidden = demoVideo === "";
    find("#demo a", HTMLAnchorElement).href = `?videoId=${demoVideo}`;
    this.#write = startControls((settings) => this.#apply(settings));
  }

  #apply(settings: Settings): void {
    const before = this.#settings;
    this.#settings = settings;
    const name = settings.videoId || settings.channel;
    document.title = name === "" ? "Live chat" : `Live chat · ${name}`;
    this.#stats.show(settings.tab === "stats");
    const look = {
      images: settings.images,
      timestamps: settings.timestamps !== "off",
      localTimes: settings.timestamps === "local",
      deleted: settings.deleted,
    };
    const isNew = Object.entries(look).some(([name, value]) => this.#look[name as keyof Look] !== value);
    Object.assign(this.#look, look);
    if (isNew) this.#redrawAll();
    if (this.#marks.read()) this.#markAnew("hide", false);
    if (before && (before.types !== settings.types || before.q !== settings.q)) {
      this.#filterAnew(isNarrower(settings, before));
    }
    const opened = ({ videoId, channel, backfill, deleted }: Settings) =>
      [videoId, channel, backfill, deleted === "remove"].join();
    if (!before || opened(before) !== opened(settings)) this.#open();
  }

  #filterAnew(isNarrower: boolean): void {
    this.#follower.keep(() => this.#log.filter(isNarrower));
    this.#past.filtered();
    this.#showStanding();
    this.#showNews();
  }

  /** Other authors are highlighted or muted. */
  #markAnew(kind: MarkKind, isNarrower: boolean): void {
    this.#redrawAll();
    if (kind === "hide") this.#filterAnew(isNarrower);
  }

  #open(): void {
    const { videoId = "", channel = "", backfill } = this.#settings ?? {};
    this.#begin(videoId);
    this.#connection.open({ videoId, channel, backfill });
  }

  /** Shows another chat, without any of its messages; `videoId` may be empty. */
  #begin(videoId: string): void {
    this.#log.clear();
    this.#transcript = this.#newTranscript();
    this.#standing.begin();
    this.#stats.begin(videoId);
    this.#past.begin(videoId);
    this.#search.close();
    offerDownloads(videoId);
    this.#follower.follow();
  }

  #opened({ videoId, chatType, cursor }: Init, isNew: boolean): void {
    if (isNew) this.#begin(videoId);
    if (chatType === "liveChatRenderer") this.#standing.fill();
    this.#past.connected(cursor);
    this.#live.opened();
  }

  #newTranscript(): Transcript {
    return new Transcript(this.#look, {
      taken: (message) => {
        this.#stats.count(message);
        this.#standing.take(message);
      },
      changed: (row) => {
        this.#redraw(row);
        this.#isMisplaced ||= row.fate.replaced === true && this.#log.isMisplaced(row);
      },
      removed: (row) => {
        this.#fresh.delete(row);
        this.#log.remove(row);
        row.element?.remove();
      },
    });
  }

  #take(items: readonly (ShownMessage | "gap")[]): void {
    for (const item of items) {
      if (item !== "gap") this.#past.aftermath.note(item);
      const row = item === "gap" ? { message: undefined, fate: {} } : this.#transcript.take(item);
      if (row) this.#fresh.add(row);
    }
    if (this.#isMisplaced) this.#log.filter(true);
    this.#isMisplaced = false;
    this.#log.add(this.#fresh);
    this.#live.came(this.#fresh.size);
    this.#fresh.clear();
    this.#past.show();
    this.#search.check();
    this.#showStanding();
    this.#showNews();
  }

  /** Opens the log at the message of this cursor. The words of the filter would hide its neighbours. */
  async #openAt(cursor: number): Promise<void> {
    this.#write({ q: "" });
    this.#follower.follow();
    await this.#past.open(cursor);
    const row = this.#log.at(cursor);
    if (!row?.element) return;
    this.#follower.show(row.element);
    row.element.tabIndex = -1;
    row.element.focus({ preventScroll: true });
  }

  #isShown({ message, fate }: Row): boolean {
    if (!message || message.type === "gap") return true;
    const { types, q = "" } = this.#settings ?? {};
    if (!letsThrough(types, message.type) || this.#marks.applies("hide", message)) return false;
    const sought = q.trim().toLowerCase();
    const words = fate.deleted && this.#look.deleted === "hide" ? "" : message.message;
    return sought === "" || `${message.author}\n${words}`.toLowerCase().includes(sought);
  }

  #showStanding(): void {
    const { types } = this.#settings ?? {};
    const rows = !types || types.has("banner") ? [...this.#transcript.pinned.values()] : [];
    this.#standing.pin(rows.map((row) => elementOf(row, this.#look)));
    this.#standing.show();
  }

  #showNews(): void {
    const count = this.#log.news;
    this.#latest.hidden = this.#follower.following || count === 0;
    this.#latest.dataset.count = String(count);
    this.#latest.textContent = count === 1 ? "1 new message" : `${count} new messages`;
  }

  /** Keeps the rows in view at their place when a row above them, or among them, becomes shorter. */
  #redraw(row: Row): void {
    if (row.element?.isConnected && !this.#follower.following) {
      row.element.style.minHeight = `${row.element.getBoundingClientRect().height}px`;
    }
    redraw(row, this.#look);
  }

  #redrawAll(): void {
    this.#follower.keep(() => {
      for (const row of [...this.#log.rows, ...this.#transcript.pinned.values()]) redraw(row, this.#look);
    });
  }
}

function letsThrough(types: Settings["types"], type: string): boolean {
  return types ? types.has(type) : !EVENTS.has(type);
}

/** The query of stored messages that the filters show. The service takes 100 characters of `q` at most. */
function storedBy({ types, q }: Pick<Settings, "types" | "q"> = { types: undefined, q: "" }) {
  const sought = q.trim();
  return {
    ...(types && { types: [...types].join() }),
    ...(sought !== "" && sought.length <= 100 && { q: sought }),
  };
}

/** Whether the new filters show nothing that the old ones hid. */
function isNarrower(now: Settings, before: Settings): boolean {
  const types = now.types ?? (before.types ? ["a type that is not known"] : []);
  return [...types].every((type) => letsThrough(before.types, type)) && now.q.includes(before.q);
}

// The probe has a page of its own, and had a tab here.
const address = new URL(location.href);
if (address.searchParams.get("tab") === "probe") location.replace(`probe${address.search}`);
else new Page();
