/**
 * The card of an author: badges, the channel, the author's stored messages of this chat, and buttons to
 * highlight and to mute. A click on a name opens it, and so does Enter: Tab leads from the log to the last
 * name in view, the arrow keys up and down to other names, and those to the sides to the links of the words.
 */

import { EVENTS } from "../chat/chat-rows.ts";
import { find, make } from "../chat/dom.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { CHANNEL_ID } from "../chat/stored.ts";
import type { MarkKind, Marks } from "./marked-authors.ts";
import { partOf } from "./root.ts";
import { type Stored, StoredList } from "./stored-list.ts";
import { focusFirstSeen, moveFocus, setTabStop } from "./tab-stops.ts";

const NAME = "[data-field=author][role=button]";
const NAME_OR_LINK = `${NAME}, .row a[href], .row button[data-feature]`;
const HANDLE = /^@[\w.\-·]+$/;

export class AuthorCard {
  readonly #marks: Marks;
  readonly #dialog = find("#author", HTMLDialogElement);
  readonly #words = find("#author-words", HTMLElement);
  readonly #list = new StoredList({
    list: find("#author ol", HTMLElement),
    words: this.#words,
    more: find("#author-more", HTMLButtonElement),
    leave: find("#author-close", HTMLButtonElement),
    hasAuthors: false,
    texts: { loading: "Loading …", failed: "The messages cannot be loaded" },
    close: () => this.#dialog.close(),
  });
  readonly #buttons = [...document.querySelectorAll<HTMLButtonElement>("#author [aria-pressed]")];
  /** The channel id, or the name where there is none. */
  #id = "";
  #name = "";
  /** The row whose name opened the card, and its log. */
  #opener: { row: HTMLElement; place: HTMLElement | null } | undefined;

  constructor(marks: Marks) {
    this.#marks = marks;
    find("#author-close", HTMLButtonElement).addEventListener("click", () => this.#dialog.close());
    this.#dialog.addEventListener("close", () => {
      this.#list.clear();
      this.#returnFocus();
    });
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
    addEventListener("keydown", ({ key, target }) => {
      if (key === "Tab") for (const place of places) giveTabStop(place, target);
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

  /** Another chat is shown: the messages on the card would be of the one before. */
  close(): void {
    this.#dialog.close();
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
      // A replacement is shown as its message.
      isWanted: ({ message: { author, type } }) => author !== "" && !EVENTS.has(type),
      describe: ({ messages, prev }) => {
        if (isNewest) this.#showBadges(messages.findLast(({ author }) => author !== ""));
        isNewest = false;
        return (count) => {
          const said = count === 1 ? "1 message" : `${count} messages`;
          return prev === null ? `${said} in all that is kept.` : `The last ${said}.`;
        };
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
    if (!row) return;
    this.show(row.dataset.authorId ?? text, text, stored);
    this.#opener = { row, place: placeOf(row) };
  }

  /** A name that is drawn again or hidden meanwhile cannot have the focus again. */
  #returnFocus(): void {
    const { row, place } = this.#opener ?? {};
    this.#opener = undefined;
    const { activeElement, body } = document;
    if (activeElement === body || this.#dialog.contains(activeElement))
      focusFirstSeen(row?.isConnected ? row.querySelector<HTMLElement>(NAME) : null, place);
  }

  #press(event: KeyboardEvent, stored: Stored): void {
    const { target, key } = event;
    if (!(target instanceof HTMLElement) || !target.matches(NAME_OR_LINK)) return;
    const place = placeOf(target);
    if (target.matches(NAME) && (key === "Enter" || key === " ")) this.#openAt(target, stored);
    else if (!place || !moveWithin(place, target, key)) return;
    event.preventDefault();
    event.stopPropagation();
  }
}

function placeOf(element: HTMLElement): HTMLElement | null {
  return element.closest<HTMLElement>("[data-part=chat], [data-part=pinned]");
}

function within(place: HTMLElement, selector: string): HTMLElement[] {
  return [...place.querySelectorAll<HTMLElement>(selector)];
}

/** Tab goes from the place to the last name in view, and from a name or a link within it out of the place. */
function giveTabStop(place: HTMLElement, focused: EventTarget | null): void {
  const all = within(place, NAME_OR_LINK);
  const { bottom } = place.getBoundingClientRect();
  const stop =
    all.find((each) => each === focused) ??
    all.findLast((each) => each.matches(NAME) && each.getBoundingClientRect().bottom <= bottom);
  setTabStop(all, stop);
}

/** Returns whether the key leads to another name or link. */
function moveWithin(place: HTMLElement, from: HTMLElement, key: string): boolean {
  const row = from.closest<HTMLElement>(".row");
  const name = row?.querySelector<HTMLElement>(NAME);
  const down = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (down !== undefined) return moveFocus(within(place, NAME), name ?? from, down);
  const right = { ArrowLeft: -1, ArrowRight: 1 }[key];
  return right !== undefined && row !== null && moveFocus(within(row, NAME_OR_LINK), from, right);
}
