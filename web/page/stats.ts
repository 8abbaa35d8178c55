/**
 * Figures of the chat: those of the whole room from the service's totals; the messages per minute and the
 * most active authors of what this page has received. Drawn at most once a second, and only while visible,
 * but for the figures, which scripts may read at any time.
 */
import { make } from "../chat/dom.ts";
import type { ShownMessage } from "../chat/shown-message.ts";
import { EVENTS } from "../chat/transcript.ts";
import { Chart } from "./chart.ts";
import { Minutes } from "./minutes.ts";
import { readTotals, type Totals } from "./room-totals.ts";
import { partOf } from "./root.ts";
import type { ShownChat } from "./stored.ts";

const DRAW_MS = 1000;
/** The pause between two requests for the totals, which are only requested while messages come. */
const TOTALS_MS = 5000;
/** Maximum authors counted; beyond it those with the fewest messages are forgotten. */
const MAX_AUTHORS = 5000;
const TOP_AUTHORS = 10;
const NONE: Totals = {
  types: {},
  paid: [],
  unreadable: 0,
  deletedPaid: 0,
  memberships: 0,
  authors: 0,
  uncounted: 0,
  head: 0,
};

interface Author {
  name: string;
  count: number;
}

export class Stats {
  readonly #minutes = new Minutes();
  readonly #chart: Chart;
  readonly #root: HTMLElement;
  readonly #openAuthor: (id: string, name: string) => void;
  #shown: ShownChat = { videoId: "" };
  #isVisible = false;
  #totals = NONE;
  /** Messages that came after the totals. */
  #newer = 0;
  /** The cursors of those that came since the totals were last asked for; empty if they are there. */
  #late: number[] = [];
  /** When the totals may be asked for again. */
  #readAt = 0;
  #reads = new AbortController();
  #isReading = false;
  #authors = new Map<string, Author>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(root: HTMLElement, openAuthor: (id: string, name: string) => void) {
    this.#root = root;
    this.#chart = new Chart(root);
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
    this.#totals = NONE;
    this.#newer = this.#readAt = 0;
    this.#isReading = false;
    this.#minutes.clear();
    this.#authors.clear();
    this.#look();
  }

  /** Whether the figures are in view. */
  show(isVisible: boolean): void {
    if (isVisible && !this.#isVisible) this.#readAt = 0;
    this.#isVisible = isVisible;
    this.#look();
  }

  count(message: ShownMessage): void {
    const { type, author, cursor, details } = message;
    if (EVENTS.has(type) || type === "gap") return;
    // What the stream begins with is older than totals that were read before it was open.
    if (cursor > this.#totals.head) this.#newer += 1;
    if (this.#isReading) this.#late.push(cursor);
    this.#minutes.count(message);
    if (author !== "") this.#hear(details.authorId ?? author, author);
    this.#timer ??= setTimeout(() => this.#look(), DRAW_MS);
  }

  #look(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#drawFigures();
    if (!this.#isVisible) return;
    void this.#read();
    this.#draw();
  }

  async #read(): Promise<void> {
    const { signal } = this.#reads;
    const waitMs = this.#readAt - performance.now();
    if (this.#shown.videoId === "" || this.#isReading) return;
    if (waitMs > 0) {
      if (this.#newer > 0) this.#timer ??= setTimeout(() => this.#look(), waitMs);
      return;
    }
    this.#isReading = true;
    this.#late = [];
    try {
      const totals = await readTotals(this.#shown, signal);
      signal.throwIfAborted();
      if (totals) {
        this.#totals = totals;
        this.#newer = this.#late.filter((cursor) => cursor > totals.head).length;
      }
      this.#readAt = performance.now() + (totals ? TOTALS_MS : DRAW_MS);
    } catch (error) {
      if (signal.aborted) return;
      this.#readAt = performance.now() + TOTALS_MS;
      console.error("the room's totals cannot be read:", error);
    }
    this.#isReading = false;
    this.#late = [];
    if (this.#newer > 0) this.#timer ??= setTimeout(() => this.#look(), DRAW_MS);
    this.#drawFigures();
    this.#draw();
  }

  #drawFigures(): void {
    partOf(this.#root, "figures", HTMLElement).replaceChildren(...this.#figures());
  }

  #draw(): void {
    const { columns, isReplay } = this.#minutes;
    const [first, last] = [columns[0]?.label ?? "", columns.at(-1)?.label ?? ""];
    this.#chart.draw(columns, [first, isReplay ? last : "now"]);
    partOf(this.#root, "currencies", HTMLElement).replaceChildren(...this.#paid());
    const authors = partOf(this.#root, "authors", HTMLElement);
    if (!authors.contains(document.activeElement)) authors.replaceChildren(...this.#topAuthors());
    const { uncounted } = this.#totals;
    partOf(this.#root, "uncounted", HTMLElement).textContent =
      uncounted === 0 ? "" : `${uncounted.toLocaleString("en")} older messages are still being counted.`;
  }

  #hear(id: string, name: string): void {
    this.#authors.set(id, { name, count: (this.#authors.get(id)?.count ?? 0) + 1 });
    if (this.#authors.size <= MAX_AUTHORS) return;
    const kept = [...this.#authors].sort(([, a], [, b]) => b.count - a.count).slice(0, MAX_AUTHORS / 2);
    this.#authors = new Map(kept);
  }

  #figures(): HTMLElement[] {
    const { types, authors, memberships } = this.#totals;
    const said = Object.entries(types).filter(([type]) => !EVENTS.has(type) && type !== "gap");
    const messages = said.reduce((sum, [, count]) => sum + count, this.#newer);
    const rate: [string, string, number][] = this.#minutes.isReplay
      ? []
      : [["rate", "In the last minute", this.#minutes.now]];
    const figures: [string, string, number][] = [
      ["messages", "Messages", messages],
      ...rate,
      ["authors", "Authors", authors],
      ["membership", "New members", types.membership ?? 0],
      ["milestone", "Milestones", types.milestone ?? 0],
      ["gift", "Memberships given", memberships],
      ["jewels", "Gifts in jewels", types.jewels ?? 0],
    ];
    return figures.map(([name, label, count]) =>
      make(
        "div",
        { class: "figure", "data-stat": name, "data-count": count },
        make("dt", {}, label),
        make("dd", {}, count.toLocaleString("en")),
      ),
    );
  }

  #paid(): HTMLElement[] {
    const { paid, unreadable, deletedPaid } = this.#totals;
    const others = [
      ["unreadable", unreadable, "without a readable amount"],
      ["deleted-paid", deletedPaid, "deleted, not in the sums"],
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
    return rows.length > 0 ? rows : [make("li", { class: "none" }, "Nothing was paid yet.")];
  }

  #topAuthors(): HTMLElement[] {
    const top = [...this.#authors].sort(([, a], [, b]) => b.count - a.count).slice(0, TOP_AUTHORS);
    if (top.length === 0) return [make("li", { class: "none" }, "Nobody yet.")];
    return top.map(([id, { name, count }]) => {
      const button = make("button", { type: "button", class: "plain" }, make("bdi", {}, name));
      button.addEventListener("click", () => this.#openAuthor(id, name));
      return make("li", {}, button, make("span", { class: "quiet" }, String(count)));
    });
  }
}
