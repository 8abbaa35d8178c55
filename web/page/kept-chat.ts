/**
 * A link to the stored messages of a video that has no chat now, such as a stream that is over and has no
 * replay, or to its other chat, if nothing is stored of the one that was asked for. Only a page of such a
 * video loads this.
 */
import { make } from "../chat/dom.ts";
import type { readRoom } from "./known-room.ts";
import { partOf } from "./root.ts";

const ANSWER_MS = 10_000;
/** The words of the link, by the code of the error; `*` is the chat that is stored. */
const WORDS: Readonly<Record<string, string>> = {
  NO_LIVE_CHAT: "Show its stored messages.",
  NOT_STORED: "Show its * chat.",
};
/** The video that was asked for last, and which of its chats are stored. */
let known: { videoId: string; chats: Promise<readonly string[]> } | undefined;

/** Shows the link for as long as the page has this error of the video. `videoId`: also a URL; empty: none. */
export async function offerKept(root: HTMLElement, videoId: string, read: typeof readRoom): Promise<void> {
  if (videoId === "") return;
  if (known?.videoId !== videoId) {
    const room = read({ videoId }, AbortSignal.timeout(ANSWER_MS));
    known = { videoId, chats: room.then((stored) => stored?.chats ?? []) };
  }
  const asked = known;
  const [chat] = await asked.chats.catch(() => {
    if (known === asked) known = undefined; // the next attempt asks again
    return [];
  });
  const { documentElement: page } = document;
  const wordsNow = () => WORDS[page.dataset.code ?? ""];
  const words = wordsNow();
  if (!chat || !words || known !== asked || root.querySelector("[data-kept]")) return;
  const search = new URLSearchParams(location.search);
  search.set("chat", chat);
  const link = make("a", { href: `?${search}` }, words.replace("*", chat));
  const kept = make("span", { "data-kept": chat }, " ", link);
  partOf(root, "status-words", HTMLElement).after(kept);
  const observer = new MutationObserver(() => {
    if (wordsNow() === words) return;
    observer.disconnect();
    kept.remove();
  });
  observer.observe(page, { attributeFilter: ["data-code"] });
}
