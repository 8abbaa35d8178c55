/** Messages per minute as bars, in an SVG whose accessible name states the figures, with a labelled scale. */
import { make } from "../chat/element.ts";

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 600;
const HEIGHT = 120;
/** Minimum bars, so that a chat that has just begun is not one broad bar. */
const MIN_BARS = 20;

/** `counts`: oldest minute first; the last minute is still running. */
export function drawChart(counts: readonly number[]): Element[] {
  const most = Math.max(1, ...counts);
  const bars = Math.max(MIN_BARS, counts.length);
  const step = WIDTH / bars;
  const chart = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", preserveAspectRatio: "none" });
  chart.setAttribute("aria-label", describe(counts));
  chart.append(
    ...counts.map((count, at) => {
      const height = (count / most) * HEIGHT;
      const x = (bars - counts.length + at) * step;
      return svg("rect", { x: x + step * 0.1, y: HEIGHT - height, width: step * 0.8, height, rx: 1.5 });
    }),
  );
  return [axis(`${most} a minute`), chart, axis(`${bars} minutes ago`, "now")];
}

/** Labels at both ends of one side of the chart. Screen readers use the chart's name instead. */
function axis(...words: string[]): HTMLElement {
  return make("p", { class: "axis", "aria-hidden": "true" }, ...words.map((word) => make("span", {}, word)));
}

function describe(counts: readonly number[]): string {
  const total = counts.reduce((sum, count) => sum + count, 0);
  const average = Math.round((total / Math.max(1, counts.length)) * 10) / 10;
  const minutes = counts.length === 1 ? "the last minute" : `the last ${counts.length} minutes`;
  return `Messages a minute in ${minutes}: ${counts.at(-1) ?? 0} in this minute, ${Math.max(0, ...counts)} at most, ${average} on average, ${total} in all.`;
}

function svg(name: string, attributes: Record<string, string | number>): SVGElement {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
}
