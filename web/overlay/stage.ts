/**
 * The overlay's rows: the newest messages in cursor order, each faded out after the fade time, if one is set.
 */

import type { ShownMessage } from "../chat/message.ts";
import { EVENTS, elementOf, type Row, redraw, Transcript } from "../chat/transcript.ts";
import { bareName, type Options } from "./options.ts";

/** A hidden page's timers run once a second, so a row is gone at most 1.5 s late, the fading included. */
const CHECK_MS = 200;
const FADING_MS = 1000;

export class Stage {
  readonly #options: Options;
  readonly #chat: HTMLElement;
  readonly #pinned: HTMLElement;
  readonly #transcript: Transcript;
  /** The time at which each row was shown. */
  readonly #rows = new Map<Row, number>();

  constructor(options: Options, chat: HTMLElement, pinned: HTMLElement) {
    this.#options = options;
    this.#chat = chat;
    this.#pinned = pinned;
    this.#transcript = new Transcript(options.look, {
      changed: (row) => redraw(row, options.look),
      removed: (row) => this.#remove(row),
    });
    if (options.fadeMs > 0) setInterval(() => this.#fade(), CHECK_MS);
  }

  take(items: readonly (ShownMessage | "gap")[]): void {
    for (const item of items) {
      const row = item === "gap" ? { message: undefined, fate: {} } : this.#transcript.take(item);
      if (!row) continue;
      if (this.#isShown(row)) this.#rows.set(row, performance.now());
      else this.#transcript.drop(row);
    }
    this.#showPinned();
    this.#limit();
    const fresh = document.createDocumentFragment();
    for (const row of this.#rows.keys()) {
      if (!row.element) fresh.append(elementOf(row, this.#options.look));
    }
    this.#chat.append(fresh);
  }

  #isShown({ message }: Row): boolean {
    if (!message || message.type === "gap") return true;
    const { types, hide, commands } = this.#options;
    if (types ? !types.has(message.type) : EVENTS.has(message.type)) return false;
    if (!commands && message.type === "chat" && message.message.startsWith("!")) return false;
    return !hide.has(bareName(message.author));
  }

  /** Pinned messages count as rows, too; the newest row is always shown. */
  #limit(): void {
    const most = Math.max(1, this.#options.max - this.#pinned.childElementCount);
    for (const row of this.#rows.keys()) {
      if (this.#rows.size <= most) return;
      this.#remove(row);
      this.#transcript.drop(row);
    }
  }

  #remove(row: Row): void {
    this.#rows.delete(row);
    row.element?.remove();
  }

  #showPinned(): void {
    const rows = [...this.#transcript.pinned.values()].filter((row) => this.#isShown(row));
    const elements = rows.slice(-this.#options.max).map((row) => elementOf(row, this.#options.look));
    if (elements.length === this.#pinned.childElementCount && elements.every((each) => each.isConnected))
      return;
    this.#pinned.replaceChildren(...elements);
  }

  #fade(): void {
    const now = performance.now();
    for (const [row, shownAt] of this.#rows) {
      const overdueMs = now - shownAt - this.#options.fadeMs;
      if (overdueMs < 0) return;
      row.element?.setAttribute("data-fading", "");
      if (overdueMs < FADING_MS) continue;
      this.#remove(row);
      this.#transcript.drop(row);
    }
  }
}
