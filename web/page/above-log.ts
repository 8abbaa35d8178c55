/**
 * What stays above the chat: paid messages and memberships for as long as on the platform, the newest
 * pinned message, and the open poll. Bounded.
 */

import { readPinned, readPoll } from "../chat/above.ts";
import type { Row } from "../chat/chat-rows.ts";
import { make } from "../chat/dom.ts";
import { pollIdOf } from "../chat/draw.ts";
import { drawPoll } from "../chat/draw-poll.ts";
import { paint } from "../chat/paint.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { AFTER_ALL, type StoredPage, type StoredQuery } from "../chat/stored.ts";
import { IN_TICKER, LONGEST_MS, standsInTickerMs } from "../chat/ticker-times.ts";
import { partOf } from "./root.ts";
import { moveFocus, setTabStop } from "./tab-stops.ts";

const CHECK_MS = 1000;
/** Maximum paid messages; beyond it the oldest leave. */
const MAX_PAID = 50;
/** Older messages are looked for once the chat itself is there. */
const FILL_AFTER_MS = 1500;

interface AboveOptions {
  /** Whether the filters show the row. */
  isShown(row: Row): boolean;
  /** Applies to the row the deletions and replacements of its message. */
  apply(row: Row): void;
  read(query: StoredQuery, signal: AbortSignal): Promise<StoredPage>;
  /** The same without later changes to the messages. */
  readAsSaid(query: StoredQuery, signal: AbortSignal): Promise<StoredPage>;
  /** Opens the log at the message of this cursor. */
  open(cursor: number): void;
  isPinned(): boolean;
  /** Shows the pinned message and the poll. `pinned`: one that is older than all that came. */
  showAbove(pinned?: Row): void;
}

/** A paid message above the chat. It has a separate row, which stays when the row in the log is dropped. */
interface Paid {
  row: Row;
  button: HTMLElement;
  /** When it leaves. */
  until: number;
}

export class AboveLog {
  readonly #options: AboveOptions;
  readonly #ticker: HTMLElement;
  readonly #pinned: HTMLElement;
  readonly #paid = new Map<string, Paid>();
  #fills = new AbortController();
  /** The names of the reads that are done or running. */
  readonly #filled = new Set<string>();
  /** The cursor of the newest state of a poll. */
  #pollAt = 0;
  #poll: { id: string; message: ShownMessage; element: HTMLElement } | undefined;

  constructor(root: HTMLElement, options: AboveOptions) {
    this.#options = options;
    this.#ticker = partOf(root, "ticker", HTMLElement);
    this.#pinned = partOf(root, "pinned", HTMLElement);
    this.#ticker.addEventListener("keydown", (event) => this.#press(event));
    setInterval(() => this.#paid.size > 0 && this.show(), CHECK_MS);
  }

  /** Another chat is shown. */
  begin(): void {
    this.#fills.abort();
    this.#fills = new AbortController();
    this.#filled.clear();
    this.#paid.clear();
    this.#pollAt = 0;
    this.#poll = undefined;
    this.#pinned.replaceChildren();
    this.show();
  }

  /** Reads once the paid messages that came before the page was opened and still stay above the chat. */
  fill(): void {
    this.#fillOnce("earlier paid messages", async (signal) => {
      const from = Date.now() - LONGEST_MS;
      const query = { types: [...IN_TICKER].join(), before: AFTER_ALL, from, limit: MAX_PAID };
      for (const message of (await this.#options.read(query, signal)).messages) this.take(message);
      this.show();
    });
  }

  /** Reads once the pinned message and the open poll. `types`: the number of stored messages by type. */
  recall({ banner, poll }: Readonly<Record<string, number>>): void {
    if (!banner && !poll) return;
    this.#fillOnce("earlier pinned messages", async (signal) => {
      const read = (query: StoredQuery) => this.#options.readAsSaid(query, signal);
      const pinned = banner && !this.#options.isPinned() ? await readPinned(read) : undefined;
      const open = poll && this.#pollAt === 0 ? await readPoll(read) : undefined;
      signal.throwIfAborted();
      if (open) this.#takePoll(open);
      this.#options.showAbove(pinned);
    });
  }

  /** Reads after a moment; what fails is read again at the next connection. */
  #fillOnce(what: string, read: (signal: AbortSignal) => Promise<void>): void {
    if (this.#filled.has(what)) return;
    this.#filled.add(what);
    const { signal } = this.#fills;
    const timer = setTimeout(async () => {
      try {
        await read(signal);
      } catch (error) {
        if (signal.aborted) return;
        console.error(`${what} cannot be loaded:`, error);
        this.#filled.delete(what);
      }
    }, FILL_AFTER_MS);
    signal.addEventListener("abort", () => clearTimeout(timer));
  }

  /** Each message once, in any order. */
  take(message: ShownMessage): void {
    if (message.details.poll) this.#takePoll(message);
    if (!IN_TICKER.has(message.type) || this.#paid.has(message.id)) return;
    const staysMs = standsInTickerMs(message, Date.now(), 0);
    if (staysMs === 0) return;
    const button = make("button", { type: "button", class: "paid", tabindex: -1 });
    button.addEventListener("click", () => this.#options.open(message.cursor));
    this.#paid.set(message.id, { row: { message, fate: {} }, button, until: Date.now() + staysMs });
  }

  /** Shows the paid messages that still stay, the newest first. */
  show(): void {
    const newestFirst = [...this.#paid].sort(([, a], [, b]) => cursorOf(b) - cursorOf(a));
    for (const [at, [id, paid]] of newestFirst.entries()) {
      this.#options.apply(paid.row);
      const { row, until } = paid;
      if (row.fate.deleted || until <= Date.now() || at >= MAX_PAID) this.#paid.delete(id);
      else drawPaid(paid);
    }
    const shown = newestFirst.filter(([id, { row }]) => this.#paid.has(id) && this.#options.isShown(row));
    const buttons = shown.map(([, { button }]) => button);
    replaceChanged(this.#ticker, buttons);
    setTabStop(buttons, buttons.find((each) => each.tabIndex === 0) ?? buttons[0]);
  }

  #press(event: KeyboardEvent): void {
    const { target, key } = event;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const buttons = [...this.#ticker.children] as HTMLElement[];
    if (step !== undefined && target instanceof HTMLElement && moveFocus(buttons, target, step))
      event.preventDefault(); // it would scroll, too
  }

  /** Shows the pinned message, if any, and below it the open poll. */
  pin(element: HTMLElement | undefined): void {
    const poll = this.#poll;
    const isShown = poll && this.#options.isShown({ message: poll.message, fate: {} });
    replaceChanged(this.#pinned, [...(element ? [element] : []), ...(isShown ? [poll.element] : [])]);
  }

  #takePoll(message: ShownMessage): void {
    const { poll } = message.details;
    const id = pollIdOf(message.id);
    if (message.cursor < this.#pollAt) return;
    this.#pollAt = message.cursor;
    if (poll?.state === "closed") {
      if (id === this.#poll?.id) this.#poll = undefined;
    } else if (poll) {
      const element = this.#poll?.id === id ? this.#poll.element : make("div", { class: "row poll-row" });
      element.replaceChildren(drawPoll(poll));
      this.#poll = { id, message, element };
    }
  }
}

function drawPaid({ row, button }: Paid): void {
  const { message } = row;
  if (!message) return;
  const { author, amount, details } = message;
  const said = amount || details.header || message.message;
  const text = `${author} ${said}`.trim();
  if (button.textContent === text && button.title === message.message) return;
  paint(button, message);
  button.title = message.message;
  button.replaceChildren(make("bdi", {}, author), " ", make("strong", {}, said));
}

function cursorOf({ row }: Paid): number {
  return row.message?.cursor ?? 0;
}

/** Replaces the children if they differ. If the child with the focus leaves, the first one gets it. */
function replaceChanged(place: HTMLElement, elements: readonly HTMLElement[]): void {
  const { children } = place;
  const isSame =
    children.length === elements.length && elements.every((element, at) => element === children[at]);
  if (isSame) return;
  const { activeElement } = document;
  const focused =
    activeElement instanceof HTMLElement && place.contains(activeElement) ? activeElement : null;
  place.replaceChildren(...elements);
  (focused?.isConnected ? focused : focused && elements[0])?.focus({ preventScroll: true });
}
