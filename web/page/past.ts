/**
 * The older messages of the chat: read from the store when the reader reaches the top, and again the newer
 * ones, which were dropped to make place, when the reader scrolls down. `#beginning` marks the oldest stored
 * one.
 */

import type { Row } from "../chat/chat-rows.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { AFTER_ALL, readStored, type ShownChat, type StoredPage, type StoredQuery } from "../chat/stored.ts";
import { LaterChanges } from "./later-changes.ts";
import { ask } from "./own-service.ts";
import { partOf } from "./root.ts";
import type { Log } from "./row-log.ts";
import { focusFirstSeen } from "./tab-stops.ts";

const PER_PAGE = 200;
/**
 * Maximum number of pages to request in one search for older messages that the filters show. The service
 * looks at up to 20,000 messages for each page.
 */
const MAX_PAGES = 25;
const WORDS = {
  idle: "Older messages",
  loads: "Loading older messages …",
  failed: "Older messages could not be loaded. Try again",
};

interface PastOptions {
  root: HTMLElement;
  log: Log;
  /** The query for the messages that the filters show. */
  filter(): StoredQuery;
  restore(message: ShownMessage): Row | undefined;
  /** Changes the rows without moving those in view, and without their being announced. */
  keep(change: () => void): void;
}

export class Past {
  readonly #options: PastOptions;
  readonly #chat: HTMLElement;
  readonly #older: HTMLButtonElement;
  readonly #beginning: HTMLElement;
  #shown: ShownChat = { videoId: "" };
  laterChanges = new LaterChanges();
  /** Aborts the current load. */
  #loads = new AbortController();
  #isLoading = false;
  /** Whether messages are stored: a chat that was not opened has none, nor has one with an empty backfill. */
  #hasMessages = false;
  /** Nothing that the filters show is stored before this cursor. */
  #nothingBefore: number | undefined;
  /** Up to where a search has found nothing that the filters show, and the oldest drawn row at that time. */
  #stopped: { before: number; top: Row | undefined } | undefined;
  #words = WORDS.idle;

  constructor(options: PastOptions) {
    this.#options = options;
    const { root } = options;
    this.#chat = partOf(root, "chat", HTMLElement);
    this.#older = partOf(root, "older", HTMLButtonElement);
    this.#beginning = partOf(root, "beginning", HTMLElement);
    this.#older.addEventListener("click", () => void this.#loadOlder());
    this.#chat.addEventListener("scroll", () => this.#scrolled(), { passive: true });
  }

  /** Another chat is shown; `videoId` may be empty. */
  begin(videoId: string): void {
    this.#shown = { videoId };
    this.laterChanges = new LaterChanges();
    this.#hasMessages = false;
    this.filtered();
  }

  /** Its stream begins after this cursor. `hasBackfill`: with stored messages, if there are any. */
  connected(shown: ShownChat, cursor: number, hasBackfill: boolean): void {
    this.#shown = shown;
    this.laterChanges.begin(cursor);
    this.#hasMessages ||= !hasBackfill;
    this.show();
  }

  note(message: ShownMessage): void {
    this.#hasMessages = true;
    this.laterChanges.note(message);
  }

  /** The filters have changed. */
  filtered(): void {
    this.#nothingBefore = undefined;
    this.#stopped = undefined;
    this.stop();
  }

  /** Gives up the current load: its messages would no longer join the rows that are drawn. */
  stop(): void {
    this.#loads.abort();
    this.#loads = new AbortController();
    this.#isLoading = false;
    this.#words = WORDS.idle;
    this.show();
  }

  /**
   * Draws the rows around the message of this cursor. The newest ones must be drawn before, so that whatever
   * is not drawn is older. Resolves to false if it was given up meanwhile, and if they cannot be loaded: then
   * the focus is where that is said.
   */
  async open(cursor: number): Promise<boolean> {
    this.stop();
    const { log } = this.#options;
    const { signal: given } = this.#loads;
    if (log.oldest !== undefined && log.oldest <= cursor) return true;
    const isLoaded = await this.#load(async (signal) => {
      const { filter } = this.#options;
      const [before, after] = await Promise.all([
        this.read({ ...filter(), before: cursor + 1, limit: PER_PAGE / 2 }, signal),
        this.read({ ...filter(), after: cursor, limit: PER_PAGE / 2 }, signal),
      ]);
      this.#change(signal, () =>
        log.jump(this.#restore([...before.messages, ...after.messages].reverse()).reverse()),
      );
    });
    if (!isLoaded && !given.aborted) this.#older.focus();
    return isLoaded;
  }

  /** Shows whether there is anything older. */
  show(): void {
    const { oldest } = this.#options.log;
    const isAll = this.#nothingBefore !== undefined && !((oldest ?? 0) > this.#nothingBefore);
    const hadFocus = document.activeElement === this.#older;
    this.#older.hidden = isAll || !this.#hasMessages;
    if (hadFocus) focusFirstSeen(this.#older, this.#chat);
    this.#older.textContent = this.#words;
    this.#beginning.hidden = !isAll;
    this.#giveTabStop();
  }

  /** Tab would scroll to the button, so it leads there only where the button is in view. */
  #giveTabStop(): void {
    const { scrollTop, clientHeight } = this.#chat;
    this.#older.tabIndex = scrollTop < clientHeight / 2 ? 0 : -1;
  }

  #scrolled(): void {
    const { log } = this.#options;
    const { dataset, scrollTop, scrollHeight, clientHeight } = this.#chat;
    this.#giveTabStop();
    const isAtTop = dataset.following === "false" && scrollTop < clientHeight / 2;
    if (isAtTop && !this.#older.hidden && this.#words !== WORDS.failed) void this.#loadOlder();
    if (log.isAway && scrollHeight - scrollTop < 2 * clientHeight) void this.#loadNewer();
  }

  #loadOlder(): Promise<boolean> {
    const { log, filter } = this.#options;
    return this.#load(async (signal) => {
      const isPartial = Object.keys(filter()).length > 0;
      const top = log.at(0);
      let before = log.oldest ?? AFTER_ALL;
      if (this.#stopped && this.#stopped.top === top) before = this.#stopped.before;
      for (let pages = 0; pages < MAX_PAGES; pages += 1) {
        const page = await this.read({ ...filter(), before }, signal);
        let hasShown = false;
        this.#change(signal, () => {
          // The newest state of a poll is restored first.
          const rows = this.#restore([...page.messages].reverse()).reverse();
          hasShown = log.prepend(rows, isPartial);
        });
        if (page.prev === null) this.#nothingBefore = log.oldest ?? 0;
        if (page.prev === null || hasShown) return;
        before = page.prev;
        this.#stopped = { before, top };
      }
    });
  }

  #loadNewer(): Promise<boolean> {
    const { log, filter } = this.#options;
    return this.#load(async (signal) => {
      const { missing } = log;
      const page = missing && (await this.read({ ...filter(), ...definite(missing) }, signal));
      this.#change(signal, () =>
        log.append(page ? this.#restore(page.messages) : [], !page || page.next === null),
      );
    });
  }

  /** Changes the log. A reader who turns out to be at the bottom already has given the load up. */
  #change(signal: AbortSignal, change: () => void): void {
    this.#options.keep(() => signal.aborted || change());
    signal.throwIfAborted();
  }

  /** One load at a time; none while a chat is not open. Resolves to whether it has succeeded. */
  async #load(work: (signal: AbortSignal) => Promise<void>): Promise<boolean> {
    if (this.#isLoading || this.#shown.videoId === "") return false;
    const { signal } = this.#loads;
    this.#isLoading = true;
    this.#words = WORDS.loads;
    this.show();
    const failure = await work(signal).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (signal.aborted) return false;
    this.#isLoading = false;
    this.#words = failure ? WORDS.failed : WORDS.idle;
    if (failure) console.error("stored messages cannot be loaded:", failure);
    this.#options.keep(() => this.show());
    return failure === undefined;
  }

  /** A page of the store as it is. */
  readAsSaid(query: StoredQuery, signal: AbortSignal): Promise<StoredPage> {
    return readStored(ask, this.#shown, { limit: PER_PAGE, ...query }, signal);
  }

  /** A page of the store, and what became of its messages. */
  async read(query: StoredQuery, signal: AbortSignal): Promise<StoredPage> {
    const { videoId, chat } = this.#shown;
    const page = await this.readAsSaid(query, signal);
    await this.laterChanges.reach(videoId, page.messages, signal, chat);
    signal.throwIfAborted();
    return page;
  }

  #restore(messages: readonly ShownMessage[]): Row[] {
    const rows = messages.map((message) => this.#options.restore(message));
    return rows.filter((row) => row !== undefined);
  }
}

function definite({ after, before }: NonNullable<Log["missing"]>): Pick<StoredQuery, "after" | "before"> {
  return before === undefined ? { after } : { after, before };
}
