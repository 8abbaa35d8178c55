/**
 * Reads new messages aloud to a screen reader: the newest one each two seconds, and all paid ones, one after
 * the other. A message that is deleted before its turn is not read, and deleted words leave the document;
 * both hold for rows that have left the page, too.
 */
import { isPaid } from "../chat/amounts.ts";
import type { Row } from "../chat/chat-rows.ts";
import { make } from "../chat/dom.ts";

const PAUSE_MS = 2000;
/** Maximum paid messages that wait for their turn. */
const MAX_WAITING = 500;

interface Spoken {
  /** The list that shows the row. */
  log: HTMLElement;
  row: Row;
  /** Changes the row as later messages ask for it. */
  apply(row: Row): void;
}

export class Aloud {
  readonly #voice = make("p", { id: "aloud", class: "unseen", "aria-live": "polite" });
  #paid: Spoken[] = [];
  #newest: Spoken | undefined;
  /** Whose words the document has. */
  #said: Spoken | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    document.body.append(this.#voice);
  }

  say(spoken: Spoken): void {
    const { row } = spoken;
    if (!row.message || !isPaid(row.message)) this.#newest = spoken;
    else if (this.#paid.length < MAX_WAITING) this.#paid.push(spoken);
    if (this.#timer === undefined) this.#speak();
  }

  /** Takes words that were deleted or replaced out of the document. */
  check(): void {
    if (!this.#said || wordsOf(this.#said) === this.#voice.textContent) return;
    this.#said = undefined;
    this.#voice.textContent = "";
  }

  /** Forgets the messages of a list. */
  clear(log: HTMLElement): void {
    this.#paid = this.#paid.filter((spoken) => spoken.log !== log);
    if (this.#newest?.log === log) this.#newest = undefined;
    if (this.#said?.log !== log) return;
    this.#said = undefined;
    this.#voice.textContent = "";
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#voice.remove();
  }

  #speak(): void {
    const next = this.#paid.shift() ?? this.#newest;
    this.#timer = undefined;
    if (!next) return;
    if (next === this.#newest) this.#newest = undefined;
    const words = wordsOf(next);
    if (words === "") {
      this.#speak();
      return;
    }
    this.#said = next;
    this.#voice.textContent = words;
    this.#timer = setTimeout(() => this.#speak(), PAUSE_MS);
  }
}

/** The text to read; empty once the message is deleted. */
function wordsOf({ row, apply }: Spoken): string {
  apply(row);
  const { message: said, fate } = row;
  if (!said || fate.deleted) return "";
  const { author, amount, message, details } = said;
  const words = [amount, message || (details.sticker?.label ?? "")].filter(Boolean).join(" ");
  return author === "" ? words : `${author}: ${words}`;
}
