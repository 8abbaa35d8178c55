/**
 * Reads new messages aloud to a screen reader: the newest one each two seconds, and all paid ones, one after
 * the other.
 */
import { make } from "../chat/dom.ts";
import type { ShownMessage } from "../chat/shown-message.ts";

const PAUSE_MS = 2000;
/** Maximum paid messages that wait for their turn. */
const MAX_WAITING = 500;

export class Aloud {
  readonly #voice = make("p", { id: "aloud", class: "unseen", "aria-live": "polite" });
  readonly #paid: string[] = [];
  #newest = "";
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor() {
    document.body.append(this.#voice);
  }

  say(message: ShownMessage, isPaid: boolean): void {
    const { author, amount, message: words, details } = message;
    const said = [amount, words || (details.sticker?.label ?? "")].filter(Boolean).join(" ");
    const text = author === "" ? said : `${author}: ${said}`;
    if (!isPaid) this.#newest = text;
    else if (this.#paid.length < MAX_WAITING) this.#paid.push(text);
    if (this.#timer === undefined) this.#speak();
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#voice.remove();
  }

  #speak(): void {
    const text = this.#paid.shift() ?? this.#newest;
    this.#timer = undefined;
    if (text === "") return;
    if (text === this.#newest) this.#newest = "";
    this.#voice.textContent = text;
    this.#timer = setTimeout(() => this.#speak(), PAUSE_MS);
  }
}
