/** Debian's Firefox, for tests of what people see. Without it they are skipped. */
import { type Browser, firefox } from "playwright-core";
import { without } from "./needs.ts";

const FIREFOX = "/usr/bin/firefox-esr";
const PREFERENCES = {
  "network.dns.disabled": true, // pictures of the upstream's hosts fail at once: there is no upstream
  "general.smoothScroll": false,
  "ui.prefersReducedMotion": 1,
  "browser.download.alwaysOpenPanel": false, // the panel would take the focus
  // What no test uses, and costs a quarter of the start.
  "browser.contentblocking.category": "custom",
  "browser.ml.enable": false,
  "browser.newtabpage.enabled": false,
  "browser.safebrowsing.malware.enabled": false,
  "browser.safebrowsing.phishing.enabled": false,
  "browser.startup.page": 0,
  "browser.translations.enable": false,
  "dom.ipc.processPrelaunch.enabled": false, // processes for pages to come
  "extensions.enabledScopes": 0,
  "extensions.installDistroAddons": false,
  "privacy.trackingprotection.enabled": false,
  "services.settings.server": "data:,",
  "sidebar.revamp": false,
};

/** Why tests of Firefox are skipped, or false. */
export const NO_FIREFOX = without("firefox-esr");

/** A browser of the caller's own. */
export async function launchFirefox(): Promise<Browser> {
  const browser = await firefox.launch({
    channel: "moz-firefox", // speaks WebDriver BiDi, as an unpatched Firefox does
    executablePath: FIREFOX,
    firefoxUserPrefs: PREFERENCES,
    args: ["--remote-allow-system-access"], // to set a preference while it runs
  });
  forgiveUnknownCommand(browser);
  return browser;
}

/** Whether all pages have the colours of the system, as with high contrast. */
export async function forceColors(browser: Browser, isForced: boolean): Promise<void> {
  const session = sessionOf(browser);
  const { contexts } = await session.send("browsingContext.getTree", { "moz:scope": "chrome" });
  const name = JSON.stringify("browser.display.document_color_use");
  await session.send("script.evaluate", {
    expression: isForced ? `Services.prefs.setIntPref(${name}, 2)` : `Services.prefs.clearUserPref(${name})`,
    target: { context: contexts?.[0]?.context },
    awaitPromise: false,
  });
}

/** The number of elements with this role and name that Firefox shows to a screen reader. */
export async function countOfAccessible(browser: Browser, role: string, name: string): Promise<number> {
  const session = sessionOf(browser);
  const { contexts = [] } = await session.send("browsingContext.getTree", {});
  const locator = { type: "accessibility", value: { role, name } };
  const found = await Promise.all(
    contexts.map(({ context }) => session.send("browsingContext.locateNodes", { context, locator })),
  );
  return found.reduce((sum, { nodes = [] }) => sum + nodes.length, 0);
}

/** The answer of any command. */
interface Answer {
  contexts?: { context: string }[];
  nodes?: unknown[];
}

interface Session {
  send(this: unknown, method: string, parameters: object): Promise<Answer>;
}

/** Playwright's own connection, for commands that it does not offer. */
function sessionOf(browser: Browser): Session {
  const { _connection: connection } = browser as unknown as {
    _connection: { toImpl(browser: Browser): { _browserSession: Session } };
  };
  return connection.toImpl(browser)._browserSession;
}

/** Playwright sets a colour scheme for each page, by a command that Debian's Firefox does not know yet. */
function forgiveUnknownCommand(browser: Browser): void {
  const prototype: Session = Object.getPrototypeOf(sessionOf(browser));
  const { send } = prototype;
  prototype.send = function (method, parameters) {
    const sent = send.call(this, method, parameters);
    return method === "emulation.setMediaFeaturesOverride" ? sent.catch(() => ({})) : sent;
  };
}
