/** One chat on the page: its log, everything above it, its search, its statistics and its state. */
import type { Featured, Init } from "../../client/index.ts";
import { foldCase } from "../../src/protocol/fold-case.ts";
import { wholeText } from "../../src/protocol/whole-text.ts";
import { ChatRows, EVENTS, elementOf, type Row, redraw } from "../chat/chat-rows.ts";
import { passes } from "../chat/filters.ts";
import type { Display, ShownMessage } from "../chat/shown-message.ts";
import { chatIn, type ShownChat, type StoredQuery } from "../chat/stored.ts";
import { AboveLog } from "./above-log.ts";
import type { AuthorCard } from "./author-card.ts";
import type { Featuring } from "./feature-buttons.ts";
import { Folds } from "./folds.ts";
import { Follower } from "./follower.ts";
import type { Room } from "./known-room.ts";
import type { LiveRegions } from "./live-regions.ts";
import type { MarkKind, Marks } from "./marked-authors.ts";
import { ask, TOKEN } from "./own-service.ts";
import { Past } from "./past.ts";
import { partOf } from "./root.ts";
import { Log } from "./row-log.ts";
import { Search } from "./search.ts";
import type { Settings } from "./settings.ts";
import { Stats } from "./stats.ts";
import { type PageState, Status } from "./status.ts";

/** What all chats of the page share. */
export interface Shared {
  display: Display;
  marks: Marks;
  card: AuthorCard;
  live: LiveRegions;
  /** Removes the words of the filter: they would hide the neighbours of a message that is opened. */
  clearWords(): void;
  /** Writes the place in the video, in seconds, into the URL. */
  keepPlace(seconds: number): void;
}

interface ColumnOptions extends Shared {
  root: HTMLElement;
  /** The state of the connection has changed; `code`: that of an error. */
  stateChanged(state: PageState, code?: string): void;
  /** Another chat is shown; `videoId` may be empty. */
  begun?(videoId: string): void;
  /** A connection to this chat is there. */
  opened?(shown: ShownChat): void;
}

export class Column {
  readonly status: Status;
  readonly #options: ColumnOptions;
  readonly #stats: Stats;
  readonly #chat: HTMLElement;
  readonly #latest: HTMLButtonElement;
  /** Rows of the current batch. */
  readonly #fresh = new Set<Row>();
  /** Whether the filters hide a row whose content was replaced, or show it now. */
  #isMisplaced = false;
  readonly #follower: Follower;
  readonly #folds: Folds;
  readonly #log: Log;
  readonly #past: Past;
  readonly #search: Search;
  readonly #above: AboveLog;
  /** Undefined without a token. */
  readonly #featuring: Promise<Featuring> | undefined;
  #rows: ChatRows;
  #settings: Settings | undefined;

  constructor(options: ColumnOptions) {
    const { root, card, live } = options;
    // With a token, this chat has buttons of its own.
    const display: Display = TOKEN === undefined ? options.display : Object.create(options.display);
    this.#options = { ...options, display };
    const redrawAll = () => this.#redrawAll();
    if (TOKEN !== undefined)
      this.#featuring = import("./feature-buttons.ts").then(
        ({ Featuring }) => new Featuring({ root, display, ask, redrawAll, events: EVENTS }),
      );
    this.status = new Status(root, (state, code) => options.stateChanged(state, code));
    this.#chat = partOf(root, "chat", HTMLElement);
    this.#latest = partOf(root, "latest", HTMLButtonElement);
    const content = partOf(root, "rows", HTMLElement);
    this.#log = new Log({
      content,
      display,
      isShown: (row) => this.#isShown(row),
      dropped: (row) => this.#rows.drop(row),
    });
    const changed = (following: boolean): void => {
      this.#chat.dataset.following = String(following);
      if (following)
        for (const row of content.querySelectorAll<HTMLElement>("[style*=min-height]"))
          row.style.minHeight = "";
      this.#log.follow(following);
      if (following) this.#past.stop();
      this.#folds.check();
      this.#past.show();
      this.#showNews();
    };
    this.#folds = new Folds(content, (change) => this.#follower.keep(change));
    this.#follower = new Follower(this.#chat, content, changed, () => !this.#log.isAway);
    this.#past = new Past({
      root,
      log: this.#log,
      filter: () => storedBy(this.#settings),
      restore: (message) => this.#rows.restore(message, (row) => this.#past.laterChanges.apply(row)),
      keep: (change) => {
        live.opened(this.#chat);
        this.#keep(change);
      },
    });
    const stored = {
      read: (query: StoredQuery, signal: AbortSignal) => this.#past.read(query, signal),
      readAsSaid: (query: StoredQuery, signal: AbortSignal) => this.#past.readAsSaid(query, signal),
      apply: (row: Row) => this.#past.laterChanges.apply(row),
      isShown: (row: Row) => this.#isShown(row),
      isTakenDown: ({ fate }: Row) => fate.deleted !== undefined && display.deleted !== "strike",
      open: (cursor: number) => this.#openAt(cursor),
      isPinned: () => this.#rows.pinned !== undefined,
      showAbove: (pinned?: Row) => {
        if (pinned) this.#rows.recall(pinned);
        this.#showAbove();
      },
    };
    this.#search = new Search(root, { ...stored, filter: () => storedBy(this.#settings) });
    this.#above = new AboveLog(root, stored);
    card.serve(root, stored);
    this.#stats = new Stats(root, (id, name) => card.show(id, name, stored));
    this.#rows = this.#newRows();
    this.#latest.addEventListener("click", () => {
      this.#chat.focus({ preventScroll: true }); // the button is removed and would take the focus with it
      this.#follower.follow();
    });
  }

  /** `isNewDisplay`: messages look different now. */
  apply(settings: Settings, isNewDisplay: boolean): void {
    const before = this.#settings;
    this.#settings = settings;
    this.#chat.toggleAttribute("data-filtered", filterOf(settings) !== NO_FILTER);
    this.#stats.show(settings.tab === "stats");
    if (isNewDisplay) this.#redrawAll();
    if (before && filterOf(before) !== filterOf(settings)) this.#filterAgain(isNarrower(settings, before));
  }

  /** Other authors are highlighted or muted. */
  marksChanged(kind: MarkKind, isNarrower: boolean): void {
    this.#redrawAll();
    if (kind === "hide") this.#filterAgain(isNarrower);
  }

  /** Shows another chat, without any of its messages; `videoId` may be empty. */
  begin(videoId: string): void {
    this.#clear(videoId);
    this.#search.close();
    this.#options.card.close();
    this.#options.begun?.(videoId);
  }

  /** Shows the same chat from another place. */
  again(init: Init): void {
    this.#clear(init.videoId);
    this.opened(init);
  }

  #clear(videoId: string): void {
    this.#log.clear();
    this.#options.live.clear(this.#chat);
    this.#rows = this.#newRows();
    this.#above.begin();
    this.#stats.begin(videoId);
    this.#past.begin(videoId);
    this.#follower.follow();
  }

  /** A connection is there. */
  opened({ videoId, chatType, cursor }: Init): void {
    const shown = { videoId, chat: chatIn({ chatType }) };
    this.#options.opened?.(shown);
    this.#stats.opened(shown);
    if (chatType === "liveChatRenderer") this.#above.fill();
    this.#past.connected(shown, cursor, this.#settings?.backfill !== 0);
    void this.#featuring?.then((featuring) => featuring.opened(videoId));
    this.#options.live.opened(this.#chat);
  }

  /** What the service has of this chat. */
  known({ totals }: Room): void {
    this.#above.recall(totals.types);
  }

  /** Another message is featured, or none. */
  feature(featured: Featured): void {
    void this.#featuring?.then((featuring) => featuring.feature(featured));
  }

  /** Shows messages, and gaps that are not messages. */
  take(items: readonly (ShownMessage | "gap")[]): void {
    this.#keep(() => this.#take(items));
  }

  /** Changes the rows without moving those in view. */
  #keep(change: () => void): void {
    this.#follower.keep(() => {
      change();
      this.#folds.check();
    });
  }

  #filterAgain(isNarrower: boolean): void {
    this.#keep(() => {
      this.#log.filter(isNarrower);
      this.#markFound();
      this.#past.filtered();
    });
    this.#showAbove();
    this.#showNews();
  }

  #newRows(): ChatRows {
    return new ChatRows(this.#options.display, {
      taken: (message) => {
        this.#stats.count(message);
        this.#above.take(message);
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
      if (item !== "gap") this.#past.note(item);
      const row = item === "gap" ? { message: undefined, fate: {} } : this.#rows.take(item);
      if (row) this.#fresh.add(row);
    }
    if (this.#isMisplaced) this.#log.filter(true);
    this.#isMisplaced = false;
    this.#log.add(this.#fresh);
    const { live } = this.#options;
    live.came(this.#chat, this.#fresh.size);
    for (const row of this.#fresh)
      if (row.message && this.#isShown(row))
        live.say(this.#chat, row, (said) => this.#past.laterChanges.apply(said));
    this.#fresh.clear();
    this.#past.show();
    this.#search.check();
    this.#options.card.check();
    live.check();
    this.#showAbove();
    this.#showNews();
  }

  /** Opens the log at the message of this cursor. */
  async #openAt(cursor: number): Promise<void> {
    this.#options.clearWords();
    this.#follower.follow();
    if (!(await this.#past.open(cursor))) return;
    const row = this.#log.at(cursor);
    if (!row?.element) return;
    this.#follower.show(row.element);
    row.element.tabIndex = -1;
    row.element.focus({ preventScroll: true });
  }

  #isShown({ message, fate }: Row): boolean {
    if (!message || message.type === "gap") return true;
    const { types, filters = {} } = this.#settings ?? {};
    const { display, marks } = this.#options;
    if (!letsThrough(types, message.type) || marks.applies("hide", message)) return false;
    if (!passes(filters, message)) return false;
    const { sought = "" } = display;
    if (sought === "") return true;
    const words = fate.deleted && display.deleted === "hide" ? [] : [message.message, wholeText(message)];
    return [message.author, ...words].some((text) => foldCase(text).includes(sought));
  }

  #showAbove(): void {
    const { types, filters = {} } = this.#settings ?? {};
    const { marks, display } = this.#options;
    const { pinned } = this.#rows;
    const isShown =
      pinned?.message &&
      (!types || types.has("banner")) &&
      passes(filters, pinned.message) &&
      !marks.applies("hide", pinned.message);
    this.#above.pin(isShown ? elementOf(pinned, display) : undefined);
    this.#above.show();
  }

  #showNews(): void {
    const count = this.#log.news;
    this.#latest.hidden = this.#follower.following || count === 0;
    this.#latest.dataset.count = String(count);
    this.#latest.textContent = count === 1 ? "1 new message" : `${count} new messages`;
  }

  /** Keeps the rows in view at their place when a row above them, or among them, becomes shorter. */
  #redraw(row: Row): void {
    if (row.element && this.#chat.contains(row.element) && !this.#follower.following) {
      row.element.style.minHeight = `${row.element.getBoundingClientRect().height}px`;
    }
    this.#drawAgain(row);
  }

  #redrawAll(): void {
    this.#keep(() => {
      const { pinned } = this.#rows;
      for (const row of [...this.#log.rows, ...(pinned ? [pinned] : [])]) this.#drawAgain(row);
    });
  }

  /** What marks the words of the filter is loaded. */
  markFound(): void {
    this.#keep(() => this.#markFound());
  }

  /** Marks what the words of the filter have found, and nothing else. */
  #markFound(): void {
    for (const row of this.#log.rows)
      if (row.element?.isConnected && (this.#options.display.sought || row.element.querySelector("mark")))
        this.#drawAgain(row);
  }

  #drawAgain(row: Row): void {
    redraw(row, this.#options.display);
    if (row.element) this.#folds.forget(row.element);
  }
}

function letsThrough(types: Settings["types"], type: string): boolean {
  return types ? types.has(type) : !EVENTS.has(type);
}

/**
 * The query of stored messages that the filters show, but for those by links. The service takes 100
 * characters of `q` at most.
 */
function storedBy({ types, q, filters }: Pick<Settings, "types" | "q" | "filters"> = NO_SETTINGS) {
  const sought = q.trim();
  const { badges, minTier, minAmount } = filters;
  return {
    ...(badges && { badges: badges.join() }),
    ...(minTier !== undefined && { minTier }),
    ...(minAmount && { minAmount: `${minAmount.value}${minAmount.currency}` }),
    ...(types && { types: [...types].join() }),
    ...(sought !== "" && sought.length <= 100 && { q: sought }),
  };
}

/** The filters as a text: equal ones have the same. */
function filterOf({ types, q, filters }: Pick<Settings, "types" | "q" | "filters">): string {
  return JSON.stringify([types && [...types], q, filters]);
}

const NO_SETTINGS = { types: undefined, q: "", filters: {} };
const NO_FILTER = filterOf(NO_SETTINGS);

/** Whether the new filters show nothing that the old ones hid. */
function isNarrower(now: Settings, before: Settings): boolean {
  const [filters, others] = [now, before].map((each) => JSON.stringify(each.filters));
  if (filters !== others && others !== "{}") return false;
  const types = now.types ?? (before.types ? ["a type that is not known"] : []);
  return (
    [...types].every((type) => letsThrough(before.types, type)) &&
    foldCase(now.q).includes(foldCase(before.q))
  );
}
