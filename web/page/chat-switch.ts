/** Shows which chat of the video the page has, and lets the reader choose where both are stored. */
import { find } from "../chat/dom.ts";
import { AFTER_ALL, readStored, type ShownChat } from "./stored.ts";

export class ChatSwitch {
  readonly #label = find("#which-chat", HTMLElement);
  readonly #select = find("#which-chat select", HTMLSelectElement);
  #looks = new AbortController();

  hide(): void {
    this.#looks.abort();
    this.#looks = new AbortController();
    this.#label.hidden = true;
  }

  /** Resolves to whether there is a choice, so that it is shown. */
  async show({ videoId, chat = "live" }: ShownChat): Promise<boolean> {
    this.hide();
    const { signal } = this.#looks;
    this.#select.value = chat;
    const newest = { before: AFTER_ALL, limit: 1 };
    const page = await readStored({ videoId }, newest, signal).catch(() => undefined);
    if (signal.aborted) return false;
    this.#label.hidden = !page || page.chats.length < 2;
    return !this.#label.hidden;
  }
}
