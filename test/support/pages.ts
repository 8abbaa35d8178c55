/** What tests of the pages share: a relay, a browser with a page in it, and a chat for each test. */
import { after, afterEach, before, beforeEach } from "node:test";
import type { Browser, Page, ViewportSize } from "playwright-core";
import { launchChromium, rowOf } from "./browser.ts";
import { PATIENCE_MS } from "./eventually.ts";
import { startRelay, type TestRelay } from "./relay.ts";

export type Chat = ReturnType<TestRelay["upstream"]["chat"]>;
type Scenario = Parameters<TestRelay["upstream"]["chat"]>[1];

/** In a page: notes which rows the chat has after each change, in `noted`. */
export const NOTE_ROWS = `
  window.noted = [];
  document.addEventListener("DOMContentLoaded", () => {
    const chat = document.querySelector("#chat");
    if (!chat) return; // another page
    new MutationObserver(() => {
      const now = [...chat.children].map((row) => row.dataset.messageId).join("+");
      if (now !== noted.at(-1)) noted.push(now);
    }).observe(chat, { childList: true });
  });`;

/** Set before the first test. */
export class Pages {
  relay!: TestRelay;
  browser!: Browser;
  page!: Page;
  /** The video of the current test. */
  videoId!: string;
  chat!: Chat;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** Goes to the page that is tested, and to the test's chat on it. */
  readonly visit = async (query = ""): Promise<void> => {
    await this.page.goto(`${this.relay.url}${this.#path}?videoId=${this.videoId}${query}`);
  };

  readonly stateIs = (state: string): Promise<void> =>
    this.page.locator(`html[data-state='${state}']`).waitFor({ state: "attached" });

  /** Resolves once the row is in the document, in view or not. */
  readonly has = (id: string): Promise<void> => this.page.locator(rowOf(id)).waitFor({ state: "attached" });

  readonly evaluate = <T>(expression: string): Promise<T> => this.page.evaluate(expression);

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.browser?.close(), this.relay?.[Symbol.asyncDispose]()]);
  }
}

/** For all tests of a suite. */
export function usePages(
  path: "/" | "/probe" | "/overlay" | "/overlay/setup",
  viewport: ViewportSize,
  scenario: Scenario = {},
  launch: () => Promise<Browser> = launchChromium,
): Pages {
  const pages = new Pages(path);
  let videos = 0;
  before(async () => {
    pages.relay = await startRelay(); // which `after` ends even if the browser does not start
    pages.browser = await launch();
    pages.page = await pages.browser.newPage({ viewport });
    pages.page.setDefaultTimeout(PATIENCE_MS);
  });
  after(() => pages[Symbol.asyncDispose]());
  beforeEach(() => {
    videos += 1;
    pages.videoId = `page-${String(videos).padStart(6, "0")}`;
    pages.chat = pages.relay.upstream.chat(pages.videoId, { timeoutMs: 50, ...scenario });
  });
  // Nobody reads it any longer: it must not be polled beside the next one.
  afterEach(() => pages.chat.end("continuations-absent"));
  return pages;
}
