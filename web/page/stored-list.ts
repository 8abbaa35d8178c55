/** A list of stored messages, the newest first: a button shows the next page. Bounded. */
import { foldCase } from "../../src/protocol/fold-case.ts";
import type { Row } from "../chat/chat-rows.ts";
import { make } from "../chat/dom.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { AFTER_ALL, type StoredPage, type StoredQuery } from "../chat/stored.ts";
import { inReadersZone } from "../chat/zone.ts";
import { focusFirstSeen } from "./tab-stops.ts";

const PER_PAGE = 100;
/** Maximum messages in the list. */
const MAX_SHOWN = 1000;

/** The stored messages of one chat. */
export interface Stored {
  read(query: StoredQuery, signal: AbortSignal): Promise<StoredPage>;
  /** Applies to the row the deletions and replacements of its message. */
  apply(row: Row): void;
  /** Whether the row's words must not be shown, because they were deleted. */
  isTakenDown(row: Row): boolean;
  /** Opens the log at the message of this cursor. */
  open(cursor: number): Promise<void>;
}

interface ListOptions {
  list: HTMLElement;
  /** States how far the list goes. */
  words: HTMLElement;
  more: HTMLButtonElement;
  /** Has the focus while `more` is hidden. */
  leave: HTMLButtonElement;
  hasAuthors: boolean;
  texts: { loading: string; failed: string };
  /** Closes the list, because one of its messages is opened in the log. */
  close(): void;
}

type Describe = (count: number) => string;

interface Listing {
  stored: Stored;
  query: StoredQuery;
  isWanted(row: Row & { message: ShownMessage }): boolean;
  /** The words about a list that ends with this page, by the number of its messages. */
  describe(page: StoredPage, signal: AbortSignal): Promise<Describe> | Describe;
}

export class StoredList {
  readonly #options: ListOptions;
  readonly #moreLabel: string;
  readonly #shown = new Map<Row, HTMLElement>();
  /** Marks the words that were found; loaded with the first that are sought. */
  #mark: ((text: string, sought: string) => (string | HTMLElement)[]) | undefined;
  #listing: Listing | undefined;
  /** Undefined while a page is read, or if that failed. */
  #describe: Describe | undefined;
  #reads = new AbortController();
  /** The `before` of the next page. */
  #next: number | null = null;

  constructor(options: ListOptions) {
    this.#options = options;
    this.#moreLabel = options.more.textContent ?? "";
    options.more.addEventListener("click", () => void this.#readOn());
  }

  begin(listing: Listing): void {
    this.clear();
    this.#reads = new AbortController();
    this.#listing = listing;
    this.#next = AFTER_ALL;
    void this.#readOn();
  }

  clear(): void {
    this.#reads.abort();
    this.#shown.clear();
    this.#options.list.replaceChildren();
    this.#options.more.hidden = true;
  }

  /** Removes messages that were deleted after they were listed. */
  check(): void {
    for (const [row, element] of this.#shown) {
      this.#listing?.stored.apply(row);
      if (!this.#listing?.stored.isTakenDown(row)) continue;
      this.#shown.delete(row);
      element.remove();
    }
    this.#count();
  }

  #count(): void {
    if (this.#describe) this.#options.words.textContent = this.#describe(this.#shown.size);
  }

  async #readOn(): Promise<void> {
    const { words, more, leave, texts } = this.#options;
    const { signal } = this.#reads;
    if (!this.#listing || this.#next === null) return;
    const { stored, query, describe } = this.#listing;
    const hadFocus = document.activeElement === more;
    more.hidden = true;
    if (hadFocus) leave.focus();
    more.textContent = this.#moreLabel;
    this.#describe = undefined;
    words.textContent = texts.loading;
    try {
      if (query.q) this.#mark ??= (await import("./found-words.ts")).withMarks;
      const page = await stored.read({ ...query, before: this.#next, limit: PER_PAGE }, signal);
      for (const message of [...page.messages].reverse()) this.#show(message, this.#listing);
      this.#next = page.prev;
      this.#describe = await describe(page, signal);
      this.#count();
    } catch (error) {
      if (signal.aborted) return;
      words.textContent = `${texts.failed}: ${(error as Error).message}`;
      more.textContent = "Try again";
    }
    more.hidden = this.#next === null || this.#shown.size >= MAX_SHOWN;
    if (hadFocus && document.activeElement === leave) focusFirstSeen(more, leave);
  }

  #show(message: ShownMessage, { stored, isWanted }: Listing): void {
    const row = { message, fate: {} };
    stored.apply(row);
    if (stored.isTakenDown(row) || !isWanted(row) || this.#shown.size >= MAX_SHOWN) return;
    const element = this.#draw(row, stored);
    this.#shown.set(row, element);
    this.#options.list.append(element);
  }

  /** A button that opens the log at the message. */
  #draw({ message, fate }: Row & { message: ShownMessage }, stored: Stored): HTMLElement {
    const sought = foldCase(String(this.#listing?.query.q ?? ""));
    const marked = (text: string) => (sought === "" ? [text] : (this.#mark?.(text, sought) ?? [text]));
    const words = make("bdi", {}, ...marked([message.amount, message.message].filter(Boolean).join(" ")));
    const button = make(
      "button",
      { type: "button", "data-cursor": message.cursor },
      make("time", { datetime: message.details.publishedAt }, timeOf(message)),
      " ",
      ...(this.#options.hasAuthors
        ? [make("bdi", { class: "found-author" }, ...marked(message.author)), " "]
        : []),
      fate.deleted ? make("del", {}, words) : words,
    );
    button.addEventListener("click", () => {
      this.#options.close();
      void stored.open(message.cursor);
    });
    return make("li", {}, button);
  }
}

/** A live chat's moment with its date, in the reader's zone; a replay's time of the video. */
export function timeOf({ timestamp, details }: ShownMessage): string {
  const moment = new Date(details.publishedAt ?? "");
  if (details.offsetMs !== undefined) return timestamp;
  if (Number.isNaN(moment.getTime())) return inReadersZone(timestamp);
  return moment.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}
