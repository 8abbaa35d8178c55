/** Shows which chat of the video the page has, and lets the reader choose where both are stored. */
import { find } from "../chat/dom.ts";
import type { ShownChat } from "../chat/stored.ts";

export class ChatSwitch {
  readonly #label = find("#which-chat", HTMLElement);
  readonly #select = find("#which-chat select", HTMLSelectElement);

  /** `chats`: those that are stored. Returns whether there is a choice, so that it is shown. */
  show({ chat = "live" }: ShownChat, chats: readonly string[]): boolean {
    this.#select.value = chat;
    this.#label.hidden = chats.length < 2;
    return !this.#label.hidden;
  }

  hide(): void {
    this.#label.hidden = true;
  }
}
