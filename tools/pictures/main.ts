/**
 * `npm run pictures`: photographs the pages in headless Chromium, over the simulated upstream, into
 * docs/pictures. With a folder as argument, it also takes pictures of states that the documentation does not
 * show, and writes all of them there. With a second argument, it takes only those whose names contain it.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { CHROMIUM, launchChromium } from "../../test/support/browser.ts";
import { startRelay } from "../../test/support/relay.ts";
import { evening, everything, GAME, pinned, scripts } from "./scene.ts";

interface Picture {
  path: string;
  size: [width: number, height: number];
  theme?: "light" | "dark";
  forcedColors?: "active";
  /** There once the picture can be taken; by default the last row. */
  ready?: string;
  before?: (page: Page) => Promise<unknown>;
}

const DOCS = join(import.meta.dirname, "../../docs/pictures");
const OPENED = "/?videoId=the-evening";
const ALL = "/?videoId=everything1&backfill=200";
const SCRIPTS = "/?videoId=eight-scrip";
const OVER_ALL = "/overlay?videoId=everything1";
const SEVERAL = "/?videoIds=the-evening,everything1,quiet-sofar,no-chat-now,is-all-over";
const DESKTOP: Picture["size"] = [1100, 760];
const PHONE: Picture["size"] = [390, 760];
const OVERLAY: Picture["size"] = [600, 700];

const styled = (css: string) => (page: Page) => page.addStyleTag({ content: `${GAME} ${css}` });
const theme = (name: string): Picture => ({
  path: `/overlay?videoId=the-evening&theme=${name}`,
  size: OVERLAY,
  before: styled(""),
});

const SHOWN: Record<string, Picture> = {
  "page-night": { path: OPENED, size: DESKTOP },
  "page-day": { path: OPENED, size: DESKTOP, theme: "light" },
  phone: { path: OPENED, size: PHONE },
  overlay: {
    path: "/overlay?videoId=the-evening&max=9&size=22",
    size: [900, 506],
    before: styled("body { width: 460px; box-sizing: border-box }"),
  },
};

const MORE: Record<string, Picture> = {
  "overlay-bubbles": theme("bubbles"),
  "overlay-plate": theme("plate"),
  "overlay-terminal": theme("terminal"),
  "overlay-alert": { path: "/overlay?demo=on&view=alerts", size: [600, 300], ready: ".row" },
  "overlay-poll": { path: "/overlay?demo=on&view=poll", size: [400, 300], ready: "meter" },
  "overlay-ticker": { path: "/overlay?demo=on&view=ticker", size: [800, 60], ready: "[data-type=jewels]" },
  "overlay-setup": { path: "/overlay/setup", size: [1280, 1100], ready: "#url" },
  "overlay-setup-phone": { path: "/overlay/setup?theme=bubbles", size: PHONE, ready: "#url", theme: "light" },
  "overlay-right": { path: `${OVER_ALL}&theme=light&align=right`, size: OVERLAY },
  "overlay-down": { path: `${OVER_ALL}&direction=down&timestamps=on`, size: [600, 1100] },
  "overlay-samples": { path: "/overlay?demo=on", size: OVERLAY, ready: "[data-type=donation]" },
  "overlay-no-video": { path: "/overlay", size: [600, 300], ready: "#status" },
  "all-night": { path: ALL, ready: ".row", size: [768, 2400] },
  "all-day": { path: ALL, ready: ".row", size: [1440, 2000], theme: "light" },
  "all-small": { path: ALL, ready: ".row", size: [320, 2900] },
  "scripts-320": { path: SCRIPTS, size: [320, 760] },
  "scripts-390": { path: SCRIPTS, size: PHONE, theme: "light" },
  "scripts-800": { path: SCRIPTS, size: [800, 900] },
  "scripts-1280": { path: SCRIPTS, size: [1280, 900], theme: "light" },
  "scripts-2560": { path: SCRIPTS, size: [2560, 1300], theme: "light" },
  "scripts-forced": { path: SCRIPTS, size: [800, 900], theme: "light", forcedColors: "active" },
  "scripts-overlay": { path: "/overlay?videoId=eight-scrip", size: OVERLAY, before: styled("") },
  "scripts-bubbles": {
    path: "/overlay?videoId=eight-scrip&theme=bubbles&align=right",
    size: OVERLAY,
    before: styled(""),
  },
  empty: { path: "/", size: [1100, 640], theme: "light", ready: "#welcome" },
  quiet: { path: "/?videoId=quiet-sofar", size: [1100, 640], ready: "[data-state=open]" },
  error: { path: "/?videoId=no-chat-now", size: PHONE, theme: "light", ready: "#retry" },
  ended: { path: "/?videoId=is-all-over", size: DESKTOP, theme: "light", ready: "[data-state=ended]" },
  forced: { path: ALL, ready: ".row", size: [1280, 2000], theme: "light", forcedColors: "active" },
  dock: { path: `${OPENED}&layout=dock`, size: [340, 420] },
  several: { path: SEVERAL, size: [1280, 800], ready: "[data-state=ended] .row" },
  "several-day": { path: SEVERAL, size: [900, 760], theme: "light", ready: "[data-state=ended] .row" },
  "several-large": { path: SEVERAL, size: [2560, 1300], ready: "[data-state=ended] .row" },
  "several-two": { path: "/?videoIds=the-evening,everything1", size: [1000, 760], ready: ".row" },
  "several-phone": { path: SEVERAL, size: PHONE, ready: ".row" },
  "several-small": {
    path: `${SEVERAL}&chat=no-chat-now`,
    size: [320, 640],
    theme: "light",
    ready: "[data-code]",
  },
  "several-forced": {
    path: SEVERAL,
    size: [800, 600],
    theme: "light",
    forcedColors: "active",
    ready: ".row",
  },
  "several-stats": {
    path: `${SEVERAL}&tab=stats`,
    size: [1280, 800],
    ready: "[data-part=currencies] [data-currency]",
  },
  "several-refused": { path: "/?videoIds=the-evening,no", size: PHONE, theme: "light", ready: "#retry" },
  large: { path: OPENED, size: [2560, 1300] },
  moderation: { path: `${ALL}&types=chat,moderation&deleted=strike`, size: DESKTOP, ready: ".row" },
  author: {
    path: OPENED,
    size: PHONE,
    before: async (page) => {
      await page.locator("#chat [role=button]").last().click();
      await page.locator("#author-words").getByText("messages").waitFor();
    },
  },
  found: {
    path: `${OPENED}&q=the`,
    size: DESKTOP,
    theme: "light",
    ready: ".row",
    before: async (page) => {
      await page.getByRole("button", { name: "Find in all" }).click();
      await page.locator("#found li").first().waitFor();
    },
  },
  stats: { path: `${OPENED}&tab=stats`, size: DESKTOP, ready: "#currencies [data-currency]" },
  probe: {
    path: "/probe?videoId=the-evening",
    size: [1100, 900],
    theme: "light",
    ready: "#probe",
    before: async (page) => {
      await page.locator("#probe button").click();
      await page.locator("[data-ok]").first().waitFor();
    },
  },
  looks: {
    path: OPENED,
    size: DESKTOP,
    before: (page) => page.locator("#looks summary").click(),
  },
  "looks-phone": {
    path: OPENED,
    size: [320, 760],
    before: async (page) => {
      await page.locator("#filters-toggle").click();
      await page.locator("#looks summary").click();
    },
  },
  failed: { path: "/?videoId=no", size: DESKTOP, ready: "#retry" },
  nothing: { path: `${OPENED}&q=nobody`, size: [800, 600], ready: "[data-state=open]" },
  "probe-small": { path: "/probe", size: [320, 640], ready: "#probe tr" },
  "stats-small": {
    path: `${OPENED}&tab=stats`,
    size: [320, 1200],
    theme: "light",
    ready: "#currencies [data-currency]",
  },
  "setup-forced": {
    path: "/overlay/setup",
    size: [800, 1400],
    theme: "light",
    forcedColors: "active",
    ready: "#url",
  },
  filters: {
    path: `${OPENED}&types=paid,members`,
    size: PHONE,
    theme: "light",
    ready: ".row",
    before: (page) => page.locator("#filters-toggle").click(),
  },
};

async function photograph(browser: Browser, url: string, picture: Picture, path: string): Promise<void> {
  const {
    size,
    theme = "dark",
    forcedColors = "none",
    ready = ".row:last-child [data-field=message]",
    before,
  } = picture;
  const [width, height] = size;
  const viewport = { width, height };
  const context = await browser.newContext({ viewport, colorScheme: theme, forcedColors, bypassCSP: true });
  const page = await context.newPage();
  await page.route(/^https:/, (route) => route.abort());
  await page.goto(url + picture.path);
  await page.locator(ready).first().waitFor({ timeout: 40_000 });
  await before?.(page);
  await page.waitForTimeout(700); // what enters has entered
  await page.mouse.move(0, 0);
  await page.screenshot({ path });
  await context.close();
}

await using relay = await startRelay();
const { upstream } = relay;
upstream
  .chat("the-evening", { tokens: "reusable" })
  .say([...evening.slice(0, 4), pinned, ...evening.slice(4)]);
upstream.chat("everything1", { page: 200 }).say(everything);
upstream.chat("eight-scrip").say(scripts);
upstream.chat("quiet-sofar");
upstream.chat("no-chat-now", { kind: "none" });
const over = upstream.chat("is-all-over");
over.say(evening.slice(0, 6));
void upstream
  .requested("get_live_chat", { videoId: "is-all-over" })
  .then(() => over.end("continuations-absent"));

const [folder = DOCS, only = ""] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });
await using browser = await launchChromium(CHROMIUM);
for (const [name, picture] of Object.entries({ ...SHOWN, ...(folder === DOCS ? {} : MORE) }))
  if (name.includes(only)) await photograph(browser, relay.url, picture, join(folder, `${name}.png`));
