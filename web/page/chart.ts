/**
 * Messages per minute as columns, in an SVG whose accessible name states the figures, with a labelled scale.
 * The pointer and the arrow keys show the figure of each column, and a table has all of them.
 */
import { find, make } from "../chat/dom.ts";
import { type Column, columnsOf } from "./minutes.ts";
import type { Activity } from "./room-figures.ts";
import { partOf } from "./root.ts";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const HEIGHT = 120;
/** Minimum columns, so that a chat that has just begun is not one broad column. */
const MIN_COLUMNS = 20;
const STEPS: Readonly<Record<string, number>> = { ArrowLeft: -1, ArrowRight: 1, Home: -1e9, End: 1e9 };

export class Chart {
  readonly #place: HTMLElement;
  readonly #value: HTMLElement;
  readonly #table: HTMLDetailsElement;
  #columns: readonly Column[] = [];
  /** The label of the column whose figure is shown. */
  #chosen: string | undefined;

  constructor(root: HTMLElement) {
    this.#place = partOf(root, "chart", HTMLElement);
    this.#value = partOf(root, "chart-value", HTMLElement);
    this.#table = partOf(root, "minutes", HTMLDetailsElement);
    this.#place.addEventListener("pointermove", ({ clientX }) => this.#choose(this.#under(clientX)));
    this.#place.addEventListener("pointerleave", () => this.#choose(undefined));
    this.#place.addEventListener("keydown", (event) => {
      const step = STEPS[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const last = this.#columns.length - 1;
      const at = this.#columns.findIndex(({ label }) => label === this.#chosen);
      const next = (at < 0 ? last : at) + step;
      this.#choose(this.#columns[Math.min(Math.max(next, 0), last)]);
    });
    this.#table.addEventListener("toggle", () => this.#drawTable());
  }

  /** `activity`: undefined until it is known. */
  draw(activity: Activity | undefined): void {
    this.#columns = activity ? columnsOf(activity) : [];
    if (!activity) {
      this.#place.replaceChildren(make("p", { class: "none" }, "–"));
      this.#drawTable();
      return;
    }
    const columns = this.#columns;
    const end = activity.lastMinute === null ? (columns.at(-1)?.label ?? "") : "now";
    const most = Math.max(1, ...columns.map(({ count }) => count));
    const places = Math.max(MIN_COLUMNS, columns.length);
    const step = WIDTH / places;
    const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" });
    chart.setAttribute("aria-label", describe(columns));
    chart.append(
      ...columns.map(({ count, label }, at) => {
        const height = (count / most) * HEIGHT;
        const x = (places - columns.length + at) * step;
        const place = { x: x + step * 0.1, y: HEIGHT - height, width: step * 0.8, height, rx: 1.5 };
        return svg("rect", { ...place, "data-label": label, "data-count": count });
      }),
    );
    this.#place.replaceChildren(
      axis(`${most.toLocaleString("en")} a minute`),
      chart,
      axis(columns[0]?.label ?? "", end),
    );
    this.#choose(columns.find(({ label }) => label === this.#chosen));
    this.#drawTable();
  }

  #under(clientX: number): Column | undefined {
    const { left, width } = this.#place.getBoundingClientRect();
    const places = Math.max(MIN_COLUMNS, this.#columns.length);
    const at = Math.floor(((clientX - left) / width) * places) - (places - this.#columns.length);
    return this.#columns[at];
  }

  #choose(column: Column | undefined): void {
    this.#chosen = column?.label;
    const words = column ? `${column.label}: ${column.count.toLocaleString("en")} a minute` : "";
    if (this.#value.textContent !== words) this.#value.textContent = words;
    for (const bar of this.#place.querySelectorAll("rect"))
      bar.toggleAttribute("data-chosen", bar.dataset.label === this.#chosen);
  }

  #drawTable(): void {
    if (!this.#table.open) return;
    const rows = [...this.#columns]
      .reverse()
      .map(({ label, count }) =>
        make("tr", {}, make("th", { scope: "row" }, label), make("td", {}, count.toLocaleString("en"))),
      );
    find("tbody", HTMLElement, this.#table).replaceChildren(...rows);
  }
}

/** Labels at both ends of one side of the chart. Screen readers use the chart's name instead. */
function axis(...words: string[]): HTMLElement {
  return make("p", { class: "axis", "aria-hidden": "true" }, ...words.map((word) => make("span", {}, word)));
}

function describe(columns: readonly Column[]): string {
  const counts = columns.map(({ count }) => count);
  const total = columns.reduce((all, { sum }) => all + sum, 0);
  const rates = counts.reduce((all, count) => all + count, 0);
  const average = Math.round((rates / Math.max(1, counts.length)) * 10) / 10;
  const from = columns[0] ? ` from ${columns[0].label} to ${columns.at(-1)?.label}` : "";
  return `Messages a minute${from}: ${counts.at(-1) ?? 0} in the last one, ${Math.max(0, ...counts)} at most, ${average} on average, ${total} in all.`;
}

function svg(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
