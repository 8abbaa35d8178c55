/**
 * Figures of the stream since the chat was opened: messages per minute, amounts by currency, members and
 * gifts, the most active authors. Drawn at most once a second, and only while visible.
 */
import { find, make } from "../chat/element.ts";
import type { ShownMessage } from "../chat/message.ts";
import { EVENTS } from "../chat/transcript.ts";
import { drawChart } from "./chart.ts";

const DRAW_MS = 1000;
const MINUTE_MS = 60_000;
/** Minutes in the chart. */
const MINUTES = 60;
/** Maximum authors counted; beyond it those with the fewest messages are forgotten. */
const MAX_AUTHORS = 5000;
const TOP_AUTHORS = 10;
/** Amounts are summed as integers in the smallest unit: no currency has more decimals. */
const UNITS = 1000;
const PAID: ReadonlySet<string> = new Set(["superchat", "supersticker"]);

/** Further counts, by the message type that they count. */
const COUNTS = {
  membership: "New members",
  milestone: "Milestones",
  gift: "Memberships given",
  jewels: "Gifts in jewels",
} as const;

interface Author {
  name: string;
  count: number;
}

export class Stats {
  #messages = 0;
  #perMinute = new Map<number, number>();
  #sums = new Map<string, { units: number; count: number }>();
  #counts = new Map<string, number>();
  #authors = new Map<string, Author>();
  #timer: ReturnType<typeof setTimeout> | undefined;

  clear(): void {
    this.#messages = 0;
    for (const counted of [this.#perMinute, this.#sums, this.#counts, this.#authors]) counted.clear();
    this.draw();
  }

  count(message: ShownMessage): void {
    const { type, details } = message;
    if (EVENTS.has(type) || type === "gap") return;
    this.#messages += 1;
    const said = Date.parse(details.publishedAt ?? "") || Date.now();
    add(this.#perMinute, Math.floor(said / MINUTE_MS), 1);
    add(this.#counts, type, type === "gift" ? (details.gift?.count ?? 1) : 1);
    const { value, currency } = details.amount ?? {};
    if (PAID.has(type) && typeof value === "number" && currency) this.#pay(currency, value);
    if (message.author !== "") this.#hear(details.authorId ?? message.author, message.author);
    this.#timer ??= setTimeout(() => this.draw(), DRAW_MS);
  }

  draw(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    find("#figures", HTMLElement).replaceChildren(...this.#figures());
    find("#chart", HTMLElement).replaceChildren(...drawChart(this.#lastMinutes()));
    find("#currencies", HTMLElement).replaceChildren(...this.#currencies());
    find("#authors", HTMLElement).replaceChildren(...this.#topAuthors());
  }

  #pay(currency: string, value: number): void {
    const paid = this.#sums.get(currency) ?? { units: 0, count: 0 };
    this.#sums.set(currency, { units: paid.units + Math.round(value * UNITS), count: paid.count + 1 });
  }

  #hear(id: string, name: string): void {
    this.#authors.set(id, { name, count: (this.#authors.get(id)?.count ?? 0) + 1 });
    if (this.#authors.size <= MAX_AUTHORS) return;
    const kept = [...this.#authors].sort(([, a], [, b]) => b.count - a.count).slice(0, MAX_AUTHORS / 2);
    this.#authors = new Map(kept);
  }

  #figures(): HTMLElement[] {
    const figure = (name: string, label: string, count: number) =>
      make(
        "div",
        { class: "figure", "data-stat": name, "data-count": count },
        make("dt", {}, label),
        make("dd", {}, count.toLocaleString("en")),
      );
    const counts = Object.entries(COUNTS).map(([type, label]) =>
      figure(type, label, this.#counts.get(type) ?? 0),
    );
    return [figure("messages", "Messages", this.#messages), ...counts];
  }

  #currencies(): HTMLElement[] {
    if (this.#sums.size === 0) return [make("li", { class: "none" }, "No Super Chats yet.")];
    const byCount = [...this.#sums].sort(([, a], [, b]) => b.count - a.count);
    return byCount.map(([currency, { units, count }]) =>
      make(
        "li",
        { "data-currency": currency, "data-sum": units / UNITS, "data-count": count },
        make("span", {}, currency),
        make(
          "strong",
          {},
          (units / UNITS).toLocaleString("en", { minimumFractionDigits: units % UNITS === 0 ? 0 : 2 }),
        ),
        make("span", { class: "quiet" }, count === 1 ? "1 paid message" : `${count} paid messages`),
      ),
    );
  }

  #topAuthors(): HTMLElement[] {
    const top = [...this.#authors.values()].sort((a, b) => b.count - a.count).slice(0, TOP_AUTHORS);
    if (top.length === 0) return [make("li", { class: "none" }, "Nobody yet.")];
    return top.map(({ name, count }) =>
      make("li", {}, make("bdi", {}, name), make("span", { class: "quiet" }, String(count))),
    );
  }

  /** Messages of each of the last minutes, from the first minute that has any. */
  #lastMinutes(): number[] {
    const newest = Math.max(...this.#perMinute.keys(), Math.floor(Date.now() / MINUTE_MS));
    for (const minute of this.#perMinute.keys()) {
      if (minute <= newest - MINUTES) this.#perMinute.delete(minute);
    }
    const oldest = Math.min(newest, ...this.#perMinute.keys());
    return Array.from({ length: newest - oldest + 1 }, (_, at) => this.#perMinute.get(oldest + at) ?? 0);
  }
}

function add<K>(counts: Map<K, number>, key: K, by: number): void {
  counts.set(key, (counts.get(key) ?? 0) + by);
}
