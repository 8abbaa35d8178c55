/**
 * `npm run pictures`: photographs every state of the pages in headless Chromium, over the simulated upstream, into
 * docs/pictures; with a folder as argument, those into it that the documentation does not show, too, or those named
 * behind the folder alone.
 */
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type Browser, chromium, type Page, type Route } from "playwright-core";
import { SETTINGS, toConfig } from "../src/cli/config.ts";
import { readFlags } from "../src/cli/flags.ts";
import { startService } from "../src/cli/service.ts";
import { systemClock } from "../src/clock.ts";
import { startSimulator } from "../src/simulator/index.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { evening, everything, GAME, pinned } from "./scene.ts";

const OUT = join(import.meta.dirname, "../docs/pictures");
const VIDEO = "the-evening";
const ALL = "everything1";

type Size = [width: number, height: number];

interface Picture {
  name: string;
  path: string;
  size: Size;
  theme?: "light" | "dark";
  ready: string;
  before?: (page: Page) => Promise<unknown>;
  /** Answers the stream in the service's place; `calls` counts from 1. */
  answer?: (route: Route, calls: number) => unknown;
  /** Whether the documentation shows it. */
  shown?: true;
}

const last = ".row:last-child [data-field=message]";
const opened = `/?videoId=${VIDEO}`;
const all = `/?videoId=${ALL}&backfill=200`;
const DESKTOP: Size = [1100, 760];
const PHONE: Size = [390, 760];
const SMALL: Size = [320, 640];

/** What the SDK is answered where the picture shows a connection that is not the service's own. */
const frame = (event: string, data: object, id = "") =>
  `${id}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
const said = (cursor: number, type: string, author: string, message: string) =>
  frame(
    "message",
    { type, id: `${type}:${cursor}`, author, message, timestamp: "8:15 PM", details: {} },
    `id: ${cursor}\n`,
  );
const INTERRUPTED =
  frame("init", { videoId: VIDEO, chatType: "liveChatRenderer", cursor: 7 }) +
  said(8, "chat", "@mia", "one more try, then bed") +
  said(9, "gap", "", "Messages may be missing here: nobody read the chat from 8:16 PM to 8:31 PM.") +
  said(10, "chat", "@omar", "what did I miss?");
const refused = (status: number, code: string, message: string) => (route: Route) =>
  route.fulfill({ status, json: { code, message }, headers: { "retry-after": "30" } });

const theme = async (page: Page, name: string): Promise<void> => {
  const css = readFileSync(join(import.meta.dirname, `../examples/overlay-${name}.css`), "utf8");
  await page.addStyleTag({ content: `${GAME} ${css}` });
};

const PICTURES: Picture[] = [
  { name: "page-night", path: opened, size: DESKTOP, theme: "dark", ready: last, shown: true },
  { name: "page-day", path: opened, size: DESKTOP, theme: "light", ready: last, shown: true },
  { name: "phone", path: opened, size: PHONE, theme: "dark", ready: last, shown: true },
  {
    name: "overlay",
    path: `/overlay?videoId=${VIDEO}&max=9&size=22`,
    size: [900, 506],
    ready: last,
    before: async (page) => {
      await page.addStyleTag({ content: `${GAME} body { width: 460px; box-sizing: border-box }` });
    },
    shown: true,
  },
  ...["bubbles", "plate", "terminal"].map(
    (name): Picture => ({
      name: `overlay-${name}`,
      path: `/overlay?videoId=${VIDEO}`,
      size: [600, 700],
      ready: last,
      before: (page) => theme(page, name),
    }),
  ),
  {
    name: "overlay-right",
    path: `/overlay?videoId=${ALL}&theme=light&align=right`,
    size: [600, 700],
    ready: last,
  },
  {
    name: "overlay-down",
    path: `/overlay?videoId=${ALL}&direction=down&timestamps=on`,
    size: [600, 1100],
    ready: last,
  },
  { name: "overlay-all", path: `/overlay?videoId=${ALL}&deleted=hide`, size: [600, 2000], ready: last },
  { name: "overlay-none", path: `/overlay?videoId=${VIDEO}&theme=none`, size: [600, 700], ready: last },
  { name: "overlay-samples", path: "/overlay?demo=on", size: [600, 700], ready: "[data-type=donation]" },
  { name: "overlay-no-video", path: "/overlay", size: [600, 300], ready: "#status" },
  { name: "all-night", path: all, size: [768, 2400], theme: "dark", ready: last },
  { name: "all-day", path: all, size: [1440, 2000], theme: "light", ready: last },
  { name: "all-small", path: all, size: [320, 2900], theme: "dark", ready: last },
  {
    name: "moderation",
    path: `${all}&deleted=strike&types=chat,moderation`,
    size: SMALL,
    theme: "light",
    ready: last,
  },
  { name: "empty", path: "/", size: [1100, 640], theme: "light", ready: "#welcome" },
  { name: "empty-phone", path: "/", size: SMALL, theme: "dark", ready: "#welcome" },
  {
    name: "connecting",
    path: opened,
    size: SMALL,
    theme: "dark",
    ready: "[data-state=connecting]",
    answer: () => {},
  },
  {
    name: "quiet",
    path: "/?videoId=quiet-sofar",
    size: [1100, 640],
    theme: "dark",
    ready: "[data-state=open]",
  },
  { name: "error", path: "/?videoId=no-chat-now", size: [1100, 640], theme: "dark", ready: "#retry" },
  { name: "error-phone", path: "/?videoId=nonsense", size: SMALL, theme: "light", ready: "#retry" },
  {
    name: "limited",
    path: opened,
    size: PHONE,
    theme: "light",
    ready: "#status-words:text('wait')",
    answer: refused(429, "RATE_LIMITED", "YouTube limits this service; it waits 30 s before it asks again."),
  },
  {
    name: "gone",
    path: opened,
    size: PHONE,
    theme: "dark",
    ready: "[data-state=reconnecting]",
    answer: (route, calls) =>
      calls === 1 ? route.fulfill({ contentType: "text/event-stream", body: INTERRUPTED }) : route.abort(),
  },
  {
    name: "ended",
    path: "/?videoId=is-all-over",
    size: [1100, 640],
    theme: "light",
    ready: last,
    before: async (page) => {
      over.end("continuations-absent");
      await page.locator("[data-state=ended]").waitFor();
    },
  },
  {
    name: "stats",
    path: `${opened}&tab=stats`,
    size: DESKTOP,
    theme: "dark",
    ready: "#currencies [data-currency]",
  },
  {
    name: "stats-phone",
    path: `${opened}&tab=stats`,
    size: PHONE,
    theme: "light",
    ready: "#currencies [data-currency]",
  },
  {
    name: "probe",
    path: `${opened}&tab=probe`,
    size: [1100, 900],
    theme: "light",
    ready: "#probe",
    before: async (page) => {
      await page.locator("#probe button").click();
      await page.locator("[data-ok]").first().waitFor();
    },
  },
  {
    name: "filters-phone",
    path: `${opened}&types=paid,members`,
    size: SMALL,
    theme: "light",
    ready: ".row",
    before: (page) => page.locator("#filters-toggle").click(),
  },
  { name: "huge", path: opened, size: [3840, 2160], theme: "dark", ready: last },
  {
    name: "reading",
    path: opened,
    size: PHONE,
    theme: "light",
    ready: last,
    before: async (page) => {
      await page.evaluate("document.querySelector('#chat').scrollTop = 40");
      await page.locator("[data-following=false]").waitFor();
      chat.say(
        evening
          .slice(0, 3)
          .map((action) => JSON.parse(JSON.stringify(action).replaceAll("picture-", "late-"))),
      );
      await page.locator("#latest").waitFor();
    },
  },
];

async function photograph(browser: Browser, url: string, picture: Picture, folder: string): Promise<void> {
  const { name, path, size, theme = "dark", ready, before, answer } = picture;
  const [width, height] = size;
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    bypassCSP: true,
  });
  const page = await context.newPage();
  await page.route(/^https:/, (route) => route.abort());
  let calls = 0;
  if (answer) await page.route("**/v1/stream*", (route) => void answer(route, ++calls));
  await page.goto(url + path);
  await page.locator(ready).first().waitFor({ timeout: 40_000 });
  await before?.(page);
  await page.waitForTimeout(700); // what enters has entered
  await page.mouse.move(0, 0);
  await page.screenshot({ path: join(folder, `${name}.png`) });
  await context.close();
}

await using upstream = await startSimulator();
const flags = { RELAY_PORT: "0", RELAY_STORE: "memory:", RELAY_GATE_SPACING_MS: "1" };
const config = toConfig(readFlags(SETTINGS, [], flags).values);
config.upstream = { ...config.upstream, hosts: upstream.urls };
const http = { ...config.http, demoVideo: VIDEO };
const service = await startService({ ...config, http }, systemClock, new Telemetry(silentLog));
const chat = upstream.chat(VIDEO, { tokens: "reusable", timeoutMs: 100 });
chat.say([...evening.slice(0, 4), pinned, ...evening.slice(4)].map((action) => ({ ...action })));
upstream.chat(ALL, { timeoutMs: 100, page: 200 }).say(everything.map((action) => ({ ...action })));
upstream.chat("quiet-sofar", { timeoutMs: 100 });
upstream.chat("no-chat-now", { kind: "none" });
const over = upstream.chat("is-all-over", { timeoutMs: 100 });
over.say(evening.slice(0, 6).map((action) => ({ ...action })));

const [folder = OUT, ...names] = process.argv.slice(2);
const wanted = PICTURES.filter(({ name, shown }) =>
  names.length > 0 ? names.includes(name) : shown || folder !== OUT,
);
mkdirSync(folder, { recursive: true });
const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu"],
});
for (const picture of wanted) await photograph(browser, service.url, picture, folder);
await browser.close();
await service.stop();
