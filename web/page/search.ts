/**
 * The search in all stored messages of the chat, the newest first: by the words and the types of the filters,
 * and by an author. A result opens the log at its place.
 */
import { find } from "../chat/element.ts";
import type { ShownMessage } from "../chat/message.ts";
import type { Row } from "../chat/transcript.ts";
import { drawResult, timeOf } from "./result.ts";
import { partOf } from "./root.ts";
import { AFTER_ALL, type StoredPage, type StoredQuery } from "./stored.ts";

const PER_PAGE = 100;
/** Maximum results in the document. */
const MAX_FOUND = 1000;
const CHANNEL_ID = /^UC[A-Za-z0-9_-]{22}$/;

interface SearchOptions {
  filter(): Pick<StoredQuery, "types" | "q">;
  read(query: StoredQuery, signal: AbortSignal): Promise<StoredPage>;
  /** Applies to the row what became of its message. */
  apply(row: Row): void;
  /** Whether the filters show the row. */
  isShown(row: Row): boolean;
  /** Whether the row's words must not be shown, because they were deleted. */
  isTakenDown(row: Row): boolean;
  open(cursor: number): Promise<void>;
}

export class Search {
  readonly #options: SearchOptions;
  readonly #author = find("#find input[name=author]", HTMLInputElement);
  readonly #place: HTMLElement;
  readonly #list: HTMLElement;
  readonly #words: HTMLElement;
  readonly #more: HTMLButtonElement;
  readonly #found = new Map<Row, HTMLElement>();
  #search = new AbortController();

  constructor(root: HTMLElement, options: SearchOptions) {
    this.#options = options;
    this.#place = partOf(root, "found", HTMLElement);
    this.#list = find("ol", HTMLElement, this.#place);
    this.#words = partOf(root, "found-words", HTMLElement);
    this.#more = partOf(root, "found-more", HTMLButtonElement);
    find("#find", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#begin();
    });
    partOf(root, "found-close", HTMLButtonElement).addEventListener("click", () => this.close());
    this.#place.addEventListener("keydown", ({ key }) => key === "Escape" && this.close());
  }

  close(): void {
    this.#search.abort();
    this.#found.clear();
    this.#list.replaceChildren();
    this.#place.hidden = true;
  }

  /** Removes results that were deleted after they were found. */
  check(): void {
    for (const [row, element] of this.#found) {
      this.#options.apply(row);
      if (!this.#options.isTakenDown(row)) continue;
      this.#found.delete(row);
      element.remove();
    }
  }

  #begin(): void {
    const author = this.#author.value.trim();
    const { filter } = this.#options;
    const isId = CHANNEL_ID.test(author);
    const { q = isId ? "" : author, ...others } = filter();
    const query = { ...others, ...(q !== "" && { q }), ...(isId && { author }) };
    this.close();
    this.#search = new AbortController();
    this.#place.hidden = false;
    this.#place.focus();
    void this.#lookOn(query, isId ? "" : author.toLowerCase().replace(/^@/, ""));
  }

  /** Looks at the next page, and offers the one behind it. */
  async #lookOn(query: StoredQuery, name: string): Promise<void> {
    const { signal } = this.#search;
    const { read } = this.#options;
    this.#more.hidden = true;
    this.#words.textContent = "Searching …";
    try {
      const { messages, prev } = await read({ before: AFTER_ALL, ...query, limit: PER_PAGE }, signal);
      for (const message of [...messages].reverse()) this.#show(message, name);
      const [next] = prev === null ? [] : (await read({ before: prev, limit: 1 }, signal)).messages;
      this.#say(next);
      this.#more.hidden = prev === null || this.#found.size >= MAX_FOUND;
      if (prev !== null) this.#more.onclick = () => void this.#lookOn({ ...query, before: prev }, name);
    } catch (error) {
      if (signal.aborted) return;
      this.#words.textContent = `The search failed: ${(error as Error).message}`;
      this.#more.hidden = false;
      this.#more.onclick = () => void this.#lookOn(query, name);
    }
  }

  /** `next`: the newest message that was not looked at; undefined if all were. */
  #say(next: ShownMessage | undefined): void {
    const found = this.#found.size === 1 ? "1 message found." : `${this.#found.size} messages found.`;
    const looked = next ? `Searched back to ${timeOf(next)}.` : "Searched everything that is kept.";
    this.#words.textContent = `${found} ${looked}`;
  }

  #show(message: ShownMessage, name: string): void {
    const row: Row = { message, fate: {} };
    this.#options.apply(row);
    const { isShown, isTakenDown } = this.#options;
    if (!isShown(row) || isTakenDown(row) || this.#found.size >= MAX_FOUND) return;
    if (!message.author.toLowerCase().includes(name)) return;
    const open = async (): Promise<void> => {
      this.close();
      await this.#options.open(message.cursor);
    };
    const element = drawResult({ ...row, message: row.message ?? message }, { hasAuthor: true, open });
    this.#found.set(row, element);
    this.#list.append(element);
  }
}
