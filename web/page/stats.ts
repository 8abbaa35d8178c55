/**
 * Figures of the chat, all of the whole room: the service's totals and its activity. Asked for and drawn only
 * while visible, but for the number of messages, which scripts may read at any time.
 */

import { EVENTS } from "../chat/chat-rows.ts";
import { make } from "../chat/dom.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import type { ShownChat } from "../chat/stored.ts";
import type { Chart } from "./chart.ts";
import { type RoomFigures, readFigures } from "./room-figures.ts";
import { partOf } from "./root.ts";

const DRAW_MS = 1000;
/** The pause between two requests for the figures, which are only requested while they change. */
const READ_MS = 5000;
/** The messages whose cursors are remembered: more than come in one pause. */
const MAX_RECENT = 5000;
const UNKNOWN = "–";

export class Stats {
  /** Loaded when the figures are first seen. */
  #chart: Chart | undefined;
  readonly #root: HTMLElement;
  readonly #openAuthor: (id: string, name: string) => void;
  #shown: ShownChat = { videoId: "" };
  #isVisible = false;
  /** Undefined until they are known. */
  #figures: RoomFigures | undefined;
  /** Messages that came after those in the totals. */
  #newer = 0;
  /** The cursors of the newest messages: an answer may be of a moment before they came, or after. */
  #recent: number[] = [];
  /** When the figures may be asked for again. */
  #readAt = 0;
  #reads = new AbortController();
  #isReading = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: HTMLElement, openAuthor: (id: string, name: string) => void) {
    this.#root = root;
    this.#openAuthor = openAuthor;
  }

  /** It is known which chat of the video is shown. */
  opened(shown: ShownChat): void {
    this.#shown = shown;
  }

  /** Another chat is shown; `videoId` may be empty. */
  begin(videoId: string): void {
    this.#shown = { videoId };
    this.#reads.abort();
    this.#reads = new AbortController();
    this.#figures = undefined;
    this.#newer = this.#readAt = 0;
    this.#recent = [];
    this.#isReading = false;
    this.#update();
  }

  /** Whether the figures are in view. */
  show(isVisible: boolean): void {
    if (isVisible && !this.#isVisible) this.#readAt = 0;
    this.#isVisible = isVisible;
    if (isVisible && !this.#chart) void this.#openChart();
    this.#update();
  }

  async #openChart(): Promise<void> {
    const { Chart } = await import("./chart.ts");
    this.#chart ??= new Chart(this.#root);
    this.#draw();
  }

  count({ type, cursor }: ShownMessage): void {
    if (EVENTS.has(type) || type === "gap") return;
    if (this.#recent.push(cursor) > MAX_RECENT) this.#recent.splice(0, MAX_RECENT / 2);
    if (cursor > this.#counted) this.#newer += 1;
    this.#timer ??= setTimeout(() => this.#update(), DRAW_MS);
  }

  /** The totals count all messages up to this cursor. */
  get #counted(): number {
    return this.#figures?.totals.cursor ?? 0;
  }

  #update(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#drawFigures();
    if (!this.#isVisible) return;
    void this.#read();
    this.#draw();
  }

  async #read(): Promise<void> {
    const { signal } = this.#reads;
    if (this.#shown.videoId === "" || this.#isReading) return;
    if (this.#readAt > performance.now()) {
      this.#updateLater();
      return;
    }
    this.#isReading = true;
    this.#readAt = performance.now() + READ_MS;
    try {
      const figures = await readFigures(this.#shown, signal);
      signal.throwIfAborted();
      if (!figures) this.#readAt = performance.now() + DRAW_MS;
      this.#figures = figures ?? this.#figures;
      this.#newer = this.#recent.filter((cursor) => cursor > this.#counted).length;
    } catch (error) {
      if (signal.aborted) return;
      if (this.#figures) this.#figures = { ...this.#figures, activity: undefined };
      console.error("the room's figures cannot be read:", error);
    }
    this.#isReading = false;
    this.#updateLater();
    this.#drawFigures();
    this.#draw();
  }

  /** The rate changes also while nothing comes. */
  #updateLater(): void {
    if (!this.#isVisible || (this.#newer === 0 && !this.#figures?.activity?.lastMinute)) return;
    this.#timer ??= setTimeout(() => this.#update(), Math.max(DRAW_MS, this.#readAt - performance.now()));
  }

  #drawFigures(): void {
    partOf(this.#root, "figures", HTMLElement).replaceChildren(...this.#counts());
  }

  #draw(): void {
    const { totals, activity } = this.#figures ?? {};
    this.#chart?.draw(activity);
    partOf(this.#root, "currencies", HTMLElement).replaceChildren(...this.#paid());
    const authors = partOf(this.#root, "authors", HTMLElement);
    if (!authors.contains(document.activeElement)) authors.replaceChildren(...this.#topAuthors());
    const all = Object.values(totals?.types ?? {}).reduce((sum, each) => sum + each, 0);
    const counted = activity ? activity.cursor - activity.after : 0;
    const hints = [
      counted > 0 && all > counted
        ? `The chart and the most active authors are of the newest ${counted.toLocaleString("en")} messages.`
        : "",
      totals?.uncounted
        ? `${totals.uncounted.toLocaleString("en")} older messages are still being counted.`
        : "",
    ];
    partOf(this.#root, "uncounted", HTMLElement).textContent = hints.join(" ").trim();
  }

  #counts(): HTMLElement[] {
    const { totals, activity } = this.#figures ?? {};
    const { types } = totals ?? {};
    const said = Object.entries(types ?? {}).filter(([type]) => !EVENTS.has(type) && type !== "gap");
    const messages = said.reduce((sum, [, count]) => sum + count, this.#newer);
    const rate = this.#isVisible ? activity?.lastMinute : undefined;
    type Figure = [name: string, label: string, count: number | undefined];
    const hasRate = rate !== null && this.#shown.chat !== "replay";
    const figures: Figure[] = [
      ["messages", "Messages", messages],
      ...(hasRate ? [["rate", "In the last minute", rate] satisfies Figure] : []),
      ["authors", "Authors", totals?.authors],
      ["membership", "New members", types && (types.membership ?? 0)],
      ["milestone", "Milestones", types && (types.milestone ?? 0)],
      ["gift", "Memberships given", totals?.memberships],
      ["jewels", "Gifts in jewels", types && (types.jewels ?? 0)],
    ];
    return figures.map(([name, label, count]) => {
      const words = count?.toLocaleString("en") ?? UNKNOWN;
      const figure = make("div", { class: "figure" }, make("dt", {}, label), make("dd", {}, words));
      Object.assign(figure.dataset, { stat: name, count: count ?? "" });
      return figure;
    });
  }

  #paid(): HTMLElement[] {
    if (!this.#figures) return [none(UNKNOWN)];
    const { paid, unreadable, deletedPaid } = this.#figures.totals;
    const others = [
      ["unreadable", unreadable, "without a readable amount"],
      ["deleted-paid", deletedPaid.reduce((sum, { count }) => sum + count, 0), "deleted, not in the sums"],
    ] as const;
    const rows = [...paid]
      .sort((a, b) => b.count - a.count)
      .map(({ currency, count, sum }) =>
        make(
          "li",
          { "data-currency": currency, "data-sum": sum, "data-count": count },
          make("span", {}, currency),
          make(
            "strong",
            {},
            sum.toLocaleString("en", { minimumFractionDigits: Number.isInteger(sum) ? 0 : 2 }),
          ),
          make("span", { class: "quiet" }, count === 1 ? "1 paid message" : `${count} paid messages`),
        ),
      );
    for (const [name, count, words] of others)
      if (count > 0)
        rows.push(
          make("li", { "data-stat": name, "data-count": count, class: "quiet" }, `${count} ${words}`),
        );
    return rows.length > 0 ? rows : [none("Nothing was paid yet.")];
  }

  #topAuthors(): HTMLElement[] {
    const { authors } = this.#figures?.activity ?? {};
    if (!authors) return [none(UNKNOWN)];
    if (authors.length === 0) return [none("Nobody yet.")];
    return authors.map(({ authorId, author, messages }) => {
      const button = make("button", { type: "button", class: "plain" }, make("bdi", {}, author));
      button.addEventListener("click", () => this.#openAuthor(authorId ?? author, author));
      return make("li", {}, button, make("span", { class: "quiet" }, messages.toLocaleString("en")));
    });
  }
}

function none(words: string): HTMLElement {
  return make("li", { class: "none" }, words);
}
