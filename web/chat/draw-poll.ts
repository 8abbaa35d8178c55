/** A poll: its question and its choices, each with its share as text and bar if the share is known. */
import type { Details } from "../../src/protocol/kinds.ts";
import { make } from "./dom.ts";

type Poll = NonNullable<Details["poll"]>;

export function drawPoll({ question, choices, votes, state }: Poll): HTMLElement {
  const counted =
    votes === undefined ? "" : `${votes.toLocaleString("en")} ${votes === 1 ? "vote" : "votes"}`;
  return make(
    "div",
    { class: "poll" },
    question ? make("bdi", { "data-field": "question" }, question) : undefined,
    ...choices.map(drawChoice),
    make(
      "div",
      { class: "poll-foot" },
      counted ? make("span", { "data-field": "votes" }, counted) : undefined,
      `${counted && " · "}${state === "closed" ? "Poll closed" : "Poll open"}`,
    ),
  );
}

function drawChoice({ text, ratio, percent }: Poll["choices"][number]): HTMLElement {
  const share = ratio ?? (percent === undefined ? undefined : percent / 100);
  const words = make("bdi", { class: "choice-text" }, text);
  if (share === undefined) return make("div", { "data-field": "choice" }, words);
  const rounded = Math.round(share * 100);
  const shown = `${percent ?? (rounded === 0 && share !== 0 ? "<1" : rounded)}%`;
  const meter = make("meter", { min: 0, max: 1, value: share, "aria-label": text || "choice" }, shown);
  meter.style.setProperty("--share", `${share * 100}%`);
  return make("div", { "data-field": "choice" }, words, " ", make("span", { class: "share" }, shown), meter);
}
