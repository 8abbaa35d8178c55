/** The links that download the stored messages of videos, as `GET /v1/messages` writes them. */
import { find, make } from "../chat/dom.ts";

/** The offered files, each with its query. */
const FILES = [
  ["CSV, for spreadsheets", { format: "csv", bom: "true" }],
  ["JSON lines, with all details", { format: "ndjson", details: "true" }],
  ["Text", { format: "text" }],
  ["What was paid, as CSV", { format: "csv", bom: "true", types: "paid" }],
] as const;

/** Without a video there is nothing to download. Several have a list each. */
export function offerDownloads(...videoIds: readonly string[]): void {
  const place = find("#download", HTMLElement);
  place.hidden = videoIds.length === 0;
  const lists = videoIds.map((videoId): [videoId: string, links: HTMLElement[]] => [
    videoId,
    linksTo(videoId),
  ]);
  const items =
    lists.length === 1
      ? lists.flatMap(([, links]) => links)
      : lists.map(([videoId, links]) => make("li", {}, make("bdi", {}, videoId), make("ul", {}, ...links)));
  find("ul", HTMLElement, place).replaceChildren(...items);
}

function linksTo(videoId: string): HTMLElement[] {
  return FILES.map(([label, query]) => {
    const href = `v1/messages?${new URLSearchParams({ videoId, limit: "all", ...query })}`;
    return make("li", {}, make("a", { href }, label));
  });
}
