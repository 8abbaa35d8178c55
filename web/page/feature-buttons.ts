/**
 * The featured message of a chat, for readers whose token may choose it: each row has a button that features
 * its message, and that of the featured one takes it away. Only a page with a token loads this.
 */
import type { Featured } from "../../client/index.ts";
import { setAttributes } from "../chat/dom.ts";
import type { Display } from "../chat/shown-message.ts";
import type { ask } from "./own-service.ts";

const BUTTON = "button[data-feature]";

interface FeaturingOptions {
  root: HTMLElement;
  /** Gets the buttons. */
  display: Display;
  /** The types of rows that have none. */
  events: ReadonlySet<string>;
  ask: typeof ask;
  /** Draws the rows again, as they have other buttons. */
  redrawAll(): void;
}

export class Featuring {
  readonly #options: FeaturingOptions;
  #videoId = "";
  /** Whether the token has the right. */
  #isAllowed = false;
  #messageId: string | null = null;
  /** How often the stream has said which message is featured. */
  #news = 0;

  constructor(options: FeaturingOptions) {
    this.#options = options;
    const { root, display, events } = options;
    display.finish = (row, { id, type }, { deleted }) => {
      const element = row as HTMLElement;
      element.toggleAttribute("data-featured", false);
      if (!this.#isAllowed || deleted || type === "gap" || events.has(type)) return;
      const button = document.createElement("button");
      button.type = "button";
      element.append(button);
      this.#label(element, button, id);
    };
    root.addEventListener("click", ({ target }) => {
      const button = target instanceof Element ? target.closest<HTMLButtonElement>(BUTTON) : null;
      if (button) void this.#change(button);
    });
  }

  /** A connection is there. The first one of each video asks for the right. */
  async opened(videoId: string): Promise<void> {
    if (videoId === this.#videoId) return;
    this.#videoId = videoId;
    this.#isAllowed = false;
    this.#messageId = null;
    const before = this.#news;
    const answer = await this.#options.ask(`v1/featured/${videoId}`).catch(() => undefined);
    if (this.#videoId !== videoId) return;
    if (!answer) this.#videoId = ""; // the next connection asks again
    if (!answer?.ok || !/\bPUT\b/.test(answer.headers.get("allow") ?? "")) return;
    this.#isAllowed = true;
    const { messageId } = await answer.json();
    if (this.#news === before) this.#messageId = messageId;
    this.#options.redrawAll();
  }

  /** The stream says which message is featured from now on. */
  feature({ message }: Pick<Featured, "message">): void {
    this.#news += 1;
    this.#messageId = message?.id ?? null;
    for (const button of this.#options.root.querySelectorAll<HTMLButtonElement>(BUTTON)) {
      const row = button.closest<HTMLElement>(".row");
      if (row) this.#label(row, button, row.dataset.messageId);
    }
  }

  #label(row: HTMLElement, button: HTMLButtonElement, id: string | undefined): void {
    const isFeatured = id === this.#messageId;
    const words = isFeatured ? "Stop featuring" : "Feature";
    row.toggleAttribute("data-featured", isFeatured);
    setAttributes(button, { "data-feature": isFeatured ? "off" : "on", "aria-label": words, title: words });
  }

  async #change(button: HTMLButtonElement): Promise<void> {
    const id = button.closest<HTMLElement>(".row")?.dataset.messageId ?? "";
    const isOn = button.dataset.feature === "on";
    const path = `v1/featured/${this.#videoId}`;
    const body = JSON.stringify({ messageId: id });
    const json = { headers: { "content-type": "application/json" }, body };
    const request = isOn ? { method: "PUT", ...json } : { method: "DELETE" };
    const answer = await this.#options.ask(path, null, request).catch(() => undefined);
    if (answer?.ok) this.feature({ message: isOn ? ({ id } as Featured["message"]) : null });
    else {
      const { message = "The service does not answer." } = (await answer?.json().catch(() => {})) ?? {};
      setAttributes(button, { "aria-label": message, title: message, "data-failed": "true" });
    }
  }
}
