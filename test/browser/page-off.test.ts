/** What the pages say while the chat of an open room is switched off or hidden. */
import { after, before, describe, it } from "node:test";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { launchChromium, NO_CHROMIUM, rowOf } from "../support/browser.ts";
import { texts } from "../support/chat-actions.ts";
import { PATIENCE_MS } from "../support/eventually.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";

const [VIDEO, OTHER, HANDLE] = ["chat-off-01", "chat-off-02", "@somebody"];
const PATHS = {
  "the viewer page": `/?videoId=${VIDEO}`,
  "the viewer page of a channel": `/?channel=${HANDLE}`,
  "the viewer page of several chats": `/?videoIds=${VIDEO},${OTHER}`,
  "the overlay": `/overlay?videoId=${VIDEO}`,
  "the overlay of a channel": `/overlay?channel=${HANDLE}`,
  "the overlay of several chats": `/overlay?videoIds=${VIDEO},${OTHER}`,
};

const OFF = "The chat is off, or hidden. It goes on here once it is back.";

describe("while the chat is off", { skip: NO_CHROMIUM }, () => {
  let relay: TestRelay;
  let browser: Browser;
  let context: BrowserContext;
  let chats: ReturnType<TestRelay["upstream"]["chat"]>[];
  before(async () => {
    relay = await startRelay({ settings: { RELAY_LOOK_MS: "200" } });
    const chat = { timeoutMs: 50, kinds: ["text"] } as const;
    const { upstream } = relay;
    chats = [upstream.channel(HANDLE).broadcast(VIDEO, { chat }).chat, upstream.chat(OTHER, chat)];
    for (const [n, each] of chats.entries()) each.say(texts(`chat-${n}`, 2));
    browser = await launchChromium();
  });
  after(() => Promise.all([browser?.close(), relay?.[Symbol.asyncDispose]()]));

  const open = async (path: string): Promise<Page> => {
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    await page.goto(relay.url + path);
    return page;
  };
  const are = (pages: readonly Page[], state: string) =>
    Promise.all(
      pages.map((page) => page.locator(`html[data-state=${state}]`).waitFor({ state: "attached" })),
    );
  const change = (kind: "off" | "private" | "live") => {
    for (const chat of chats) chat.change({ kind });
  };
  const inContext = (of: () => Promise<void>) => async () => {
    context = await browser.newContext();
    await of().finally(() => change("live"));
    await context.close();
  };

  for (const [what, path] of Object.entries(PATHS))
    it(
      `${what} waits, also if opened then, and goes on when it is back`,
      inContext(async () => {
        const page = await open(path);
        await page.locator(rowOf("chat-0-1")).waitFor();
        await are([page], "open");
        change("off");
        await are([page], "waiting");
        if (path.startsWith("/?")) await page.getByText(OFF).first().waitFor();
        await page.reload();
        await page.locator(rowOf("chat-0-1")).waitFor();
        await are([page], "waiting");
        change("live");
        await are([page], "open");
      }),
    );

  it(
    "all of them wait over the stream that they share, and one that joins them",
    inContext(async () => {
      const pages = await Promise.all(Object.values(PATHS).map(open));
      await are(pages, "open");
      await Promise.all(
        pages.map((page) => page.locator("html[data-shared=on]").waitFor({ state: "attached" })),
      );
      change("private");
      await are(pages, "waiting");
      const late = await Promise.all(Object.values(PATHS).map(open));
      await Promise.all(late.map((page) => page.locator(rowOf("chat-0-1")).waitFor()));
      await are(late, "waiting");
      change("live");
      await are([...pages, ...late], "open");
    }),
  );
});
