/** The links that download the stored messages of videos, as `GET /v1/messages` writes them. */
import { find, make } from "../chat/dom.ts";
import type { ShownChat } from "../chat/stored.ts";
import { ask, TOKEN } from "./own-service.ts";
import { sentence } from "./sentence.ts";

/** The offered files, each with its query. */
const FILES = [
  ["CSV, for spreadsheets", { format: "csv", bom: "true" }],
  ["JSON lines, with all details", { format: "ndjson", details: "true" }],
  ["Text", { format: "text" }],
  ["What was paid, as CSV", { format: "csv", bom: "true", types: "paid" }],
] as const;

/** How long the browser can take to begin to save a file that was fetched. */
const KEPT_MS = 60_000;

/** Without a video there is nothing to download. Several have a list each, below its name. */
export function offerDownloads(...chats: readonly (ShownChat & { name?: string })[]): void {
  const place = find("#download", HTMLElement);
  place.hidden = chats.length === 0;
  const lists = chats.map((chat) => [chat.name ?? "", linksTo(chat)] as const);
  const items =
    lists.length === 1
      ? lists.flatMap(([, links]) => links)
      : lists.map(([name, links]) => make("li", {}, make("bdi", {}, name), make("ul", {}, ...links)));
  find("ul", HTMLElement, place).replaceChildren(...items);
}

function linksTo({ videoId, chat }: ShownChat): HTMLElement[] {
  return FILES.map(([label, query]) => {
    const href = `v1/messages?${new URLSearchParams({ videoId, ...(chat && { chat }), limit: "all", ...query })}`;
    const link = make("a", { href }, label);
    const words = make("p", { role: "status" });
    // A link sends no header, and a token in its URL would be in the browser's list of downloads.
    if (TOKEN !== undefined)
      link.addEventListener("click", (event) => {
        event.preventDefault();
        void save(link, words);
      });
    return make("li", {}, link, words);
  });
}

/** Fetches the file with the page's token, then saves it; says what it does, or why it cannot. */
async function save(link: HTMLAnchorElement, words: HTMLElement): Promise<void> {
  words.textContent = "Downloading …";
  try {
    const response = await ask(link.href);
    if (!response.ok) throw new Error((await response.json()).message);
    const [, name = ""] = /filename="([^"]*)"/.exec(response.headers.get("content-disposition") ?? "") ?? [];
    const href = URL.createObjectURL(await response.blob());
    make("a", { href, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(href), KEPT_MS);
    words.textContent = "";
  } catch (error) {
    words.textContent = sentence(error instanceof Error ? error.message : String(error));
  }
}
