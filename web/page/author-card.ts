/**
 * The card of an author: badges, the channel, the author's stored messages of this chat, and buttons to
 * highlight and to mute. A click on a name opens it, and so does Enter: Tab leads from the log to the last
 * name in view, and the arrow keys to others.
 */
import { find, make } from "../chat/element.ts";
import type { ShownMessage } from "../chat/message.ts";
import type { Row } from "../chat/transcript.ts";
import type { MarkKind, Marks } from "./marks.ts";
import { drawResult } from "./result.ts";
import { partOf } from "./root.ts";
import { AFTER_ALL, type StoredPage, type StoredQuery } from "./stored.ts";

const PER_PAGE = 100;
/** Maximum messages in the card. */
const MAX_SAID = 1000;
const NAME = "[data-field=author][role=button]";
const CHANNEL_ID = /^UC[\w-]{22}$/;
const HANDLE = /^@[\w.\-·]+$/;

/** The stored messages of one chat. */
interface Stored {
  read(query: StoredQuery, signal: AbortSignal): Promise<StoredPage>;
  /** Applies to the row the deletions and replacements of its message. */
  apply(row: Row): void;
  /** Whether the row's words must not be shown, because they were deleted. */
  isTakenDown(row: Row): boolean;
  open(cursor: number): Promise<void>;
}

export class AuthorCard {
  readonly #marks: Marks;
  readonly #dialog = find("#author", HTMLDialogElement);
  readonly #list = find("#author ol", HTMLElement);
  readonly #words = find("#author-words", HTMLElement);
  readonly #more = find("#author-more", HTMLButtonElement);
  readonly #buttons = [...document.querySelectorAll<HTMLButtonElement>("#author [aria-pressed]")];
  /** The channel id, or the name where there is none. */
  #id = "";
  #name = "";
  #reads = new AbortController();

  constructor(marks: Marks) {
    this.#marks = marks;
    find("#author-close", HTMLButtonElement).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#reads.abort());
    this.#dialog.addEventListener("click", ({ target }) => target === this.#dialog && this.#dialog.close());
    for (const button of this.#buttons)
      button.addEventListener("click", () => {
        this.#marks.toggle(button.value as MarkKind, this.#id, this.#name);
        this.#showMarks();
      });
  }

  /** Opens at the names in a chat. */
  serve(root: HTMLElement, stored: Stored): void {
    root.addEventListener("click", ({ target }) => this.#openAt(target, stored));
    root.addEventListener("keydown", (event) => this.#press(event, stored));
    const chat = partOf(root, "chat", HTMLElement);
    chat.addEventListener("focusin", ({ target }) => target === chat && giveTabStop(chat));
  }

  show(id: string, name: string, stored: Stored): void {
    this.#id = id;
    this.#name = name;
    this.#reads.abort();
    this.#reads = new AbortController();
    find("#author-name", HTMLElement).textContent = name;
    find("#author-badges", HTMLElement).replaceChildren();
    const link = find("#author-channel", HTMLAnchorElement);
    const path = CHANNEL_ID.test(id) ? `channel/${id}` : HANDLE.test(name) ? name : undefined;
    link.hidden = path === undefined;
    link.href = `https://www.youtube.com/${path ?? ""}`;
    this.#list.replaceChildren();
    this.#showMarks();
    this.#more.hidden = true;
    if (!this.#dialog.open) this.#dialog.showModal();
    if (CHANNEL_ID.test(id)) void this.#lookOn(AFTER_ALL, stored);
    else this.#words.textContent = "The messages of an author without a channel id cannot be found.";
  }

  #showMarks(): void {
    for (const button of this.#buttons) {
      const isSet = this.#marks.has(button.value as MarkKind, this.#id);
      button.setAttribute("aria-pressed", String(isSet));
    }
  }

  async #lookOn(before: number, stored: Stored): Promise<void> {
    const { signal } = this.#reads;
    this.#more.hidden = true;
    this.#words.textContent = "Loading …";
    try {
      const query = { author: this.#id, before, limit: PER_PAGE };
      const { messages, prev } = await stored.read(query, signal);
      const newestFirst = [...messages].reverse().filter(({ author }) => author !== "");
      if (before === AFTER_ALL) this.#showBadges(newestFirst[0]);
      for (const message of newestFirst) this.#show(message, stored);
      const count = this.#list.childElementCount;
      const said = count === 1 ? "1 message" : `${count} messages`;
      this.#words.textContent = prev === null ? `${said} in all that is kept.` : `The last ${said}.`;
      this.#more.hidden = prev === null || count >= MAX_SAID;
      this.#more.textContent = "Earlier messages";
      if (prev !== null) this.#more.onclick = () => void this.#lookOn(prev, stored);
    } catch (error) {
      if (signal.aborted) return;
      this.#words.textContent = `The messages cannot be loaded: ${(error as Error).message}`;
      this.#more.hidden = false;
      this.#more.textContent = "Try again";
      this.#more.onclick = () => void this.#lookOn(before, stored);
    }
  }

  #showBadges(message: ShownMessage | undefined): void {
    const badges = (message?.details.badges ?? []).map(({ kind, label }) => {
      const sign = make("span", { class: "sign", "data-kind": kind, "aria-hidden": "true" });
      return make("li", {}, sign, label || kind);
    });
    find("#author-badges", HTMLElement).replaceChildren(...badges);
  }

  #show(message: ShownMessage, stored: Stored): void {
    const row = { message, fate: {} };
    stored.apply(row);
    if (stored.isTakenDown(row)) return;
    const open = (): Promise<void> => {
      this.#dialog.close();
      return stored.open(message.cursor);
    };
    this.#list.append(drawResult(row, { hasAuthor: false, open }));
  }

  #openAt(target: EventTarget | null, stored: Stored): void {
    const name = target instanceof Element ? target.closest(NAME) : null;
    const row = name?.closest<HTMLElement>(".row");
    const text = name?.textContent ?? "";
    if (row) this.show(row.dataset.authorId ?? text, text, stored);
  }

  #press(event: KeyboardEvent, stored: Stored): void {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || !target.matches(NAME)) return;
    const step = { ArrowUp: -1, ArrowDown: 1 }[key];
    if (key === "Enter" || key === " ") this.#openAt(target, stored);
    else if (step !== undefined) moveTabStop(target, step);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }
}

/** Tab goes from the log to the last name in view. */
function giveTabStop(chat: HTMLElement): void {
  const { bottom } = chat.getBoundingClientRect();
  const names = [...chat.querySelectorAll<HTMLElement>(NAME)];
  for (const name of names) name.tabIndex = -1;
  const last = names.reverse().find((name) => name.getBoundingClientRect().bottom <= bottom);
  if (last) last.tabIndex = 0;
}

function moveTabStop(from: HTMLElement, step: number): void {
  const names = [
    ...(from.closest("[data-part=chat], [data-part=pinned]")?.querySelectorAll<HTMLElement>(NAME) ?? []),
  ];
  const next = names[names.indexOf(from) + step];
  if (!next) return;
  from.tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}
