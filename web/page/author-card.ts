/**
 * The card of an author: badges, the channel, the author's stored messages of this chat, and buttons to
 * highlight and to mute. A click on a name opens it, and so does Enter: Tab leads from the log to the last
 * name in view, and the arrow keys to others.
 */
import { find, make } from "../chat/element.ts";
import type { ShownMessage } from "../chat/message.ts";
import type { MarkKind, Marks } from "./marks.ts";
import { partOf } from "./root.ts";
import { type Stored, StoredList } from "./stored-list.ts";

const NAME = "[data-field=author][role=button]";
const CHANNEL_ID = /^UC[\w-]{22}$/;
const HANDLE = /^@[\w.\-·]+$/;

export class AuthorCard {
  readonly #marks: Marks;
  readonly #dialog = find("#author", HTMLDialogElement);
  readonly #words = find("#author-words", HTMLElement);
  readonly #list = new StoredList({
    list: find("#author ol", HTMLElement),
    words: this.#words,
    more: find("#author-more", HTMLButtonElement),
    hasAuthors: false,
    texts: { loading: "Loading …", failed: "The messages cannot be loaded" },
    close: () => this.#dialog.close(),
  });
  readonly #buttons = [...document.querySelectorAll<HTMLButtonElement>("#author [aria-pressed]")];
  /** The channel id, or the name where there is none. */
  #id = "";
  #name = "";

  constructor(marks: Marks) {
    this.#marks = marks;
    find("#author-close", HTMLButtonElement).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => this.#list.clear());
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
    const places = ["chat", "pinned"].map((part) => partOf(root, part, HTMLElement));
    root.addEventListener("keydown", ({ key, target }) => {
      if (key === "Tab") for (const place of places) if (!isWithin(place, target)) giveTabStop(place);
    });
  }

  show(id: string, name: string, stored: Stored): void {
    this.#id = id;
    this.#name = name;
    find("#author-name", HTMLElement).textContent = name;
    find("#author-badges", HTMLElement).replaceChildren();
    const link = find("#author-channel", HTMLAnchorElement);
    const path = CHANNEL_ID.test(id) ? `channel/${id}` : HANDLE.test(name) ? name : undefined;
    link.hidden = path === undefined;
    link.href = `https://www.youtube.com/${path ?? ""}`;
    this.#list.clear();
    this.#showMarks();
    if (!this.#dialog.open) this.#dialog.showModal();
    if (CHANNEL_ID.test(id)) this.#listMessages(stored);
    else this.#words.textContent = "The messages of an author without a channel id cannot be found.";
  }

  /** Removes messages that were deleted after they were listed. */
  check(): void {
    this.#list.check();
  }

  #showMarks(): void {
    for (const button of this.#buttons) {
      const isSet = this.#marks.has(button.value as MarkKind, this.#id);
      button.setAttribute("aria-pressed", String(isSet));
    }
  }

  #listMessages(stored: Stored): void {
    let isNewest = true;
    this.#list.begin({
      stored,
      query: { author: this.#id },
      isWanted: ({ message }) => message.author !== "",
      describe: ({ messages, prev }, count) => {
        if (isNewest) this.#showBadges(messages.findLast(({ author }) => author !== ""));
        isNewest = false;
        const said = count === 1 ? "1 message" : `${count} messages`;
        return prev === null ? `${said} in all that is kept.` : `The last ${said}.`;
      },
    });
  }

  #showBadges(message: ShownMessage | undefined): void {
    const badges = (message?.details.badges ?? []).map(({ kind, label }) => {
      const sign = make("span", { class: "sign", "data-kind": kind, "aria-hidden": "true" });
      return make("li", {}, sign, label || kind);
    });
    find("#author-badges", HTMLElement).replaceChildren(...badges);
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

function isWithin(place: HTMLElement, target: EventTarget | null): boolean {
  return target !== place && target instanceof Node && place.contains(target);
}

/** Tab goes from the place to the last name in view. */
function giveTabStop(place: HTMLElement): void {
  const { bottom } = place.getBoundingClientRect();
  const names = [...place.querySelectorAll<HTMLElement>(NAME)];
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
