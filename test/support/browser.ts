/** Debian's Chromium, for tests of what people see. Without it they are skipped. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { type Browser, type BrowserServer, chromium, type Page } from "playwright-core";
import { PATIENCE_MS } from "./eventually.ts";
import { without } from "./needs.ts";

/** Chromium as people have it, for pictures and measurements. */
export const CHROMIUM = "/usr/bin/chromium";
/** Chromium without its window, where it is installed: the same pages in a third of the time. */
const SHELL = ["/usr/bin/chromium-headless-shell", CHROMIUM].find(existsSync) ?? "";
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Pictures of the upstream's hosts fail at once: there is no upstream.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/** Why tests of a browser are skipped, or false. */
export const NO_CHROMIUM = without("chromium-headless-shell");

/** A browser of the caller's own: on the Chromium of the run, or else on one that goes with it. */
export function launchChromium(executablePath = SHELL): Promise<Browser> {
  const { RELAY_TEST_CHROMIUM: shared } = process.env;
  return shared ? chromium.connect(shared) : chromium.launch({ executablePath, args: FLAGS });
}

export function launchChromiumServer(): Promise<BrowserServer> {
  // The test runner handles these signals.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false };
  return chromium.launchServer({ executablePath: SHELL, args: FLAGS, host: "127.0.0.1", ...signals });
}

/** A page's faults: exceptions, and violations of the policy except pictures. */
export function faultsOf(page: Page): string[] {
  const faults: string[] = [];
  const note = (text: string): unknown => !/img-src/.test(text) && faults.push(text);
  page.on("pageerror", ({ message }) => note(message)); // in Firefox, what the policy refused, too
  page.on("console", (message) => {
    if (/Content Security Policy|Trusted/i.test(message.text())) note(message.text());
  });
  return faults;
}

/** A message's row, as a test looks for it. */
export const rowOf = (id: string): string => `[data-message-id=${JSON.stringify(id)}]`;

/** The ids of the rows, in the order of the document. */
export function idsOf(page: Page, within = "#chat"): Promise<string[]> {
  return page.evaluate(
    `[...document.querySelectorAll('${within} [data-message-id]')].map((row) => row.dataset.messageId)`,
  );
}

/**
 * Resolves once an expression is true in the page; asked from outside, for the page's policy allows no
 * `eval`.
 */
export async function until(page: Page, expression: string): Promise<void> {
  for (const limit = AbortSignal.timeout(PATIENCE_MS); !(await page.evaluate(expression)); await delay(40)) {
    assert.ok(!limit.aborted, `not in time: ${expression}`);
  }
}

/** The page's address as the page knows it: `page.url()` learns of a changed query a moment later. */
export async function addressOf(page: Page): Promise<URL> {
  return new URL(await page.evaluate<string>("location.href"));
}

/** The memory of a page without its garbage, in MB: that of its scripts and of its document. */
export async function heapMbOf(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("HeapProfiler.collectGarbage");
  const { usedSize, embedderHeapUsedSize } = await devtools.send("Runtime.getHeapUsage");
  await devtools.detach();
  return (usedSize + embedderHeapUsedSize) / 1e6;
}

/** How many messages a page still refers to. */
export async function countOfMessages(page: Page): Promise<number> {
  const devtools = await page.context().newCDPSession(page);
  const prototype = await devtools.send("Runtime.evaluate", { expression: "Object.prototype" });
  const { objects } = await devtools.send("Runtime.queryObjects", {
    prototypeObjectId: prototype.result.objectId ?? "",
  });
  const { result } = await devtools.send("Runtime.callFunctionOn", {
    objectId: objects.objectId ?? "",
    functionDeclaration:
      "function () { return this.filter((each) => Object.hasOwn(each, 'cursor') && Object.hasOwn(each, 'parts')).length; }",
    returnByValue: true,
  });
  await devtools.detach();
  return result.value;
}
