/**
 * A link to the stored messages of a video that has no chat now, such as a stream that is over and has no
 * replay. Only a page that waits for such a chat loads this.
 */
import { make } from "../chat/dom.ts";
import type { readRoom } from "./known-room.ts";
import { partOf } from "./root.ts";

const ANSWER_MS = 10_000;
/** The video that was asked for last, and which of its chats are stored. */
let known: { videoId: string; chats: Promise<readonly string[]> } | undefined;

/** Shows the link for as long as the page waits for this video. `videoId`: also a URL; empty: none. */
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
  const isAwaited = () => page.dataset.code === "NO_LIVE_CHAT";
  if (!chat || !isAwaited() || known !== asked || root.querySelector("[data-kept]")) return;
  const search = new URLSearchParams(location.search);
  search.set("chat", chat);
  const link = make("a", { href: `?${search}` }, "Show its stored messages.");
  const kept = make("span", { "data-kept": chat }, " ", link);
  partOf(root, "status-words", HTMLElement).after(kept);
  const observer = new MutationObserver(() => {
    if (isAwaited()) return;
    observer.disconnect();
    kept.remove();
  });
  observer.observe(page, { attributeFilter: ["data-code"] });
}
