/** A stored message in a list of results: a button that opens the log at its place. */
import { make } from "../chat/element.ts";
import type { ShownMessage } from "../chat/message.ts";
import type { Row } from "../chat/transcript.ts";

interface ResultOptions {
  hasAuthor: boolean;
  open(): Promise<void> | void;
}

export function drawResult(
  { message, fate }: Row & { message: ShownMessage },
  options: ResultOptions,
): HTMLElement {
  const words = make("bdi", {}, [message.amount, message.message].filter(Boolean).join(" "));
  const button = make(
    "button",
    { type: "button", "data-cursor": message.cursor },
    make("time", { datetime: message.details.publishedAt }, timeOf(message)),
    options.hasAuthor ? make("bdi", { class: "found-author" }, message.author) : undefined,
    fate.deleted ? make("del", {}, words) : words,
  );
  button.addEventListener("click", () => void options.open());
  return make("li", {}, button);
}

/** A live chat's moment with its date, in the reader's zone; a replay's time of the video. */
export function timeOf({ timestamp, details }: ShownMessage): string {
  const moment = new Date(details.publishedAt ?? "");
  if (details.offsetMs !== undefined || Number.isNaN(moment.getTime())) return timestamp;
  return moment.toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
}
