/** States the connection's condition, and what to do next if something is wrong. */
import type { ChatError } from "../../client/index.ts";
import type { ChannelState } from "../../src/protocol/channel.ts";
import { make } from "../chat/dom.ts";
import { SLOW_MS, SLOW_WORDS } from "../chat/sharing.ts";
import { isAway } from "../chat/waits.ts";
import { partOf } from "./root.ts";
import { sentence } from "./sentence.ts";
import { focusFirstSeen } from "./tab-stops.ts";
import { oneLine } from "./video-line.ts";

/** `waiting`: for a chat that has not begun, that is off, or for a channel's next stream. */
export type PageState = "idle" | "connecting" | "waiting" | "open" | "reconnecting" | "ended" | "failed";

const LOST = "The connection was lost. ";
const AGAIN = "Trying again …";
const WORDS: Readonly<Record<PageState, string>> = {
  idle: "Paste a video to see its chat.",
  connecting: "Connecting …",
  waiting: "The chat is off, or hidden. It goes on here once it is back.",
  open: "Live chat",
  reconnecting: LOST + AGAIN,
  ended: "The chat is over. All that was said stays here.",
  failed: "This chat cannot be shown.",
};
/** A chat that is open before its stream begins. */
const UPCOMING = "Upcoming";
/** In place of the type of a chat: the page shows a replay at the time of its video. */
export const FOLLOWED = "followed";
const REASONS: Readonly<Record<string, string>> = {
  live: "The live chat, as it is stored.",
  replay: "The replay, as it is stored.",
  [FOLLOWED]: "Replay, at the video’s time",
  liveChatReplayRenderer: "Replay, whole",
  "room released": "The service has stopped reading this chat. Open the video again to continue.",
};

export class Status {
  readonly #changed: (state: PageState, code?: string) => void;
  readonly #dot: HTMLElement;
  readonly #words: HTMLElement;
  readonly #retry: HTMLButtonElement;
  readonly #chat: HTMLElement;
  /** Whether the chat has the focus in place of the button, while that is hidden. */
  #keepsFocus = false;
  #slow: ReturnType<typeof setTimeout> | undefined;
  #countdown: ReturnType<typeof setInterval> | undefined;
  /** What a channel's stream is, in place of the words of an open chat; empty for a video's chat. */
  #stream = "";
  state: PageState = "idle";

  /** `changed` gets each state, with the code of an error. */
  constructor(root: HTMLElement, changed: (state: PageState, code?: string) => void) {
    this.#changed = changed;
    this.#dot = partOf(root, "dot", HTMLElement);
    this.#words = partOf(root, "status-words", HTMLElement);
    this.#retry = partOf(root, "retry", HTMLButtonElement);
    this.#chat = partOf(root, "chat", HTMLElement);
  }

  /** `detail`: the reason of an end, the type of a chat, or the service's own message. */
  show(state: PageState, detail = "", code?: string): void {
    if (state === "idle" || state === "connecting") this.#stream = "";
    const words = state === "open" && this.#stream !== "" ? this.#stream : wordsFor(state, detail);
    this.#set(state, words, state === "failed" ? "Try again" : undefined, code);
    if (state === "connecting" && detail === "")
      this.#slow = setTimeout(() => this.#say(SLOW_WORDS), SLOW_MS);
  }

  /** After a failed attempt. `waitMs`: until the next one; undefined: soon. */
  wait(state: PageState, error: Pick<ChatError, "code" | "message" | "status">, waitMs?: number): void {
    const { code } = error;
    const isCut = state === "reconnecting" && code === "NETWORK"; // which says no more than the state
    const message = isCut ? "" : error.message;
    if (waitMs === undefined) {
      this.show(state, message);
      return;
    }
    const at = new Date(Date.now() + waitMs);
    if (isAway(error)) {
      const words = wordsFor(state, message).replace(/ …$/, "");
      this.#set(state, words, "Try now", undefined);
      this.#countDown(at.getTime());
      return;
    }
    const isSoon = waitMs < 60_000;
    const time = at.toLocaleTimeString("en", { hourCycle: "h23", timeStyle: isSoon ? "medium" : "short" });
    const lost = state === "reconnecting" ? LOST : "";
    const words = `${lost}${sentence(message)} It tries again at ${time}.`;
    this.#set(state, words, "Try now", code);
  }

  /** What a channel's connection waits for, unless a stream is live. `isOpen`: whether its chat is shown. */
  showChannel({ title, channel, state, startsAt, reason }: ChannelState, isOpen: boolean): void {
    const at =
      startsAt && new Date(startsAt).toLocaleString("en", { dateStyle: "medium", timeStyle: "short" });
    const next = `the next stream of ${oneLine(title ?? channel)}`;
    const words = at ? `Waiting for ${next}, which begins on ${at}.` : `Waiting for ${next}.`;
    const waiting = [words, reason && `${reason}.`].filter(Boolean).join(" ");
    const upcoming = at ? `${UPCOMING}, scheduled for ${at}` : UPCOMING;
    this.#stream = { live: "Live", upcoming, waiting }[state];
    if (state === "waiting" || (state === "upcoming" && !isOpen))
      this.#set("waiting", waiting, undefined, undefined);
    else if (isOpen) this.show("open");
  }

  /** `retry`: the words of the button, if there is one. */
  #set(state: PageState, words: string, retry: string | undefined, code: string | undefined): void {
    clearTimeout(this.#slow);
    clearInterval(this.#countdown);
    this.state = state;
    this.#changed(state, code);
    this.#dot.toggleAttribute("data-upcoming", state === "open" && words.startsWith(UPCOMING));
    this.#showRetry(retry);
    this.#say(words);
  }

  /** Adds to the words how many seconds are left. Screen readers do not read them: each would be new text. */
  #countDown(until: number): void {
    const left = make("span", { "data-part": "countdown", "aria-hidden": "true" });
    const show = (): void => {
      const seconds = Math.ceil((until - Date.now()) / 1000);
      left.textContent = seconds > 0 ? ` in ${seconds} s` : " …";
      if (seconds <= 0) clearInterval(this.#countdown);
    };
    show();
    this.#words.append(left);
    this.#countdown = setInterval(show, 1000);
  }

  /** While the button is hidden, the chat keeps its focus for it, until the chat is open. */
  #showRetry(words: string | undefined): void {
    const { activeElement } = document;
    // While the chat cannot be seen, the focus of a button that is hidden goes to the body.
    this.#keepsFocus &&= activeElement === this.#chat || activeElement === document.body;
    this.#keepsFocus ||= activeElement === this.#retry;
    this.#retry.hidden = words === undefined;
    this.#retry.textContent = words ?? "";
    if (this.#keepsFocus) focusFirstSeen(this.#retry, this.#chat);
    if (this.state === "open") this.#keepsFocus = false;
  }

  /** A handle that may be meant is a link to the page of its chats. */
  #say(words: string): void {
    if (this.#words.textContent === words) return;
    const [, before = words, handle = "", end = ""] = /^(.* Did you mean )(@.+)(\?)$/s.exec(words) ?? [];
    const link = make("a", { href: `?${new URLSearchParams({ channel: handle })}` }, handle);
    this.#words.replaceChildren(before, ...(handle === "" ? [] : [link, end]));
  }
}

/** Gives an element the state, for stylesheets and scripts. */
export function carryState({ dataset }: HTMLElement, state: PageState, code?: string): void {
  dataset.state = state;
  if (code === undefined) delete dataset.code;
  else dataset.code = code;
}

function wordsFor(state: PageState, detail: string): string {
  if (state === "failed") return `${WORDS.failed} ${sentence(detail)}`;
  if (state === "open" || state === "ended") return REASONS[detail] ?? WORDS[state];
  if (detail === "") return WORDS[state];
  const lost = state === "reconnecting" ? LOST : "";
  return `${lost}${sentence(detail)} ${AGAIN}`;
}
