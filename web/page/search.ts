/**
 * The search in all stored messages of the chat, the newest first: by the words and the types of the filters,
 * and by an author. A click on a result scrolls the log to its message.
 */

import { foldCase } from "../../src/protocol/fold-case.ts";
import type { Row } from "../chat/chat-rows.ts";
import { find } from "../chat/dom.ts";
import { CHANNEL_ID, type StoredPage, type StoredQuery } from "../chat/stored.ts";
import { partOf } from "./root.ts";
import { type Stored, StoredList, timeOf } from "./stored-list.ts";
import { focusFirstSeen } from "./tab-stops.ts";

interface SearchOptions extends Stored {
  filter(): StoredQuery;
  /** Whether the filters show the row. */
  isShown(row: Row): boolean;
}

export class Search {
  readonly #options: SearchOptions;
  readonly #author = find("#find input[name=author]", HTMLInputElement);
  readonly #place: HTMLElement;
  readonly #list: StoredList;
  readonly #chat: HTMLElement;
  /** The control that had the focus before the results. */
  #opener: HTMLElement | undefined;

  constructor(root: HTMLElement, options: SearchOptions) {
    this.#options = options;
    this.#place = partOf(root, "found", HTMLElement);
    this.#chat = partOf(root, "chat", HTMLElement);
    this.#list = new StoredList({
      list: find("ol", HTMLElement, this.#place),
      words: partOf(root, "found-words", HTMLElement),
      more: partOf(root, "found-more", HTMLButtonElement),
      leave: partOf(root, "found-close", HTMLButtonElement),
      hasAuthors: true,
      texts: { loading: "Searching …", failed: "The search failed" },
      close: () => this.close(),
    });
    find("#find", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      this.#begin();
    });
    partOf(root, "found-close", HTMLButtonElement).addEventListener("click", () => this.#leave());
    this.#place.addEventListener("keydown", ({ key }) => key === "Escape" && this.#leave());
  }

  /** The focus goes to the chat if the results have it. */
  close(): void {
    const hasFocus = this.#place.contains(document.activeElement);
    this.#list.clear();
    this.#place.hidden = true;
    if (hasFocus) focusFirstSeen(this.#chat);
  }

  /** Closes the results; the focus returns to where it was. */
  #leave(): void {
    this.close();
    focusFirstSeen(this.#opener, this.#chat);
  }

  /** Removes results that were deleted after they were found. */
  check(): void {
    this.#list.check();
  }

  #begin(): void {
    const author = this.#author.value.trim();
    const { filter, isShown } = this.#options;
    const isId = CHANNEL_ID.test(author);
    const { q = isId ? "" : author, ...others } = filter();
    const name = isId ? "" : foldCase(author).replace(/^@/, "");
    this.#place.hidden = false;
    this.#takeFocus();
    this.#list.begin({
      stored: this.#options,
      query: { ...others, ...(q !== "" && { q }), ...(isId && { author }) },
      isWanted: (row) => isShown(row) && foldCase(row.message.author).includes(name),
      describe: (page, signal) => this.#describe(page, signal),
    });
  }

  #takeFocus(): void {
    const { activeElement } = document;
    // If several chats are searched, the first one in view gets the focus.
    if (!(activeElement instanceof HTMLElement) || activeElement.closest("[data-part=found]")) return;
    this.#opener = activeElement;
    this.#place.focus();
  }

  async #describe({ prev }: StoredPage, signal: AbortSignal): Promise<(count: number) => string> {
    const { read } = this.#options;
    const [next] = prev === null ? [] : (await read({ before: prev, limit: 1 }, signal)).messages;
    const searched = next ? `Searched back to ${timeOf(next)}.` : "Searched everything that is kept.";
    return (count) => `${count === 1 ? "1 message" : `${count} messages`} found. ${searched}`;
  }
}
