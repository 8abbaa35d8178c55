/** The links that download the stored messages of the video, as `GET /v1/messages` writes them. */
import { find, make } from "../chat/element.ts";

/** The offered files, each with its query. */
const FILES = [
  ["CSV, for spreadsheets", { format: "csv", bom: "true" }],
  ["JSON lines, with all details", { format: "ndjson", details: "true" }],
  ["Text", { format: "text" }],
  ["What was paid, as CSV", { format: "csv", bom: "true", types: "paid" }],
] as const;

/** Without a video there is nothing to download. */
export function offerDownloads(videoId: string): void {
  const place = find("#download", HTMLElement);
  place.hidden = videoId === "";
  const links = FILES.map(([label, query]) => {
    const href = `v1/messages?${new URLSearchParams({ videoId, limit: "all", ...query })}`;
    return make("li", {}, make("a", { href }, label));
  });
  find("#download ul", HTMLElement).replaceChildren(...links);
}
