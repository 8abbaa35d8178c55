/** Debian's Firefox, for tests of what people see. Without it they are skipped. */
import { existsSync } from "node:fs";
import { type Browser, firefox } from "playwright-core";

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
  "extensions.enabledScopes": 0,
  "extensions.installDistroAddons": false,
  "privacy.trackingprotection.enabled": false,
  "services.settings.server": "data:,",
  "sidebar.revamp": false,
};

/** Why tests of Firefox are skipped, or false. */
export const NO_FIREFOX = existsSync(FIREFOX) ? false : "firefox-esr is not installed";

/** A browser of the caller's own. */
export async function launchFirefox(): Promise<Browser> {
  const browser = await firefox.launch({
    channel: "moz-firefox", // speaks WebDriver BiDi, as an unpatched Firefox does
    executablePath: FIREFOX,
    firefoxUserPrefs: PREFERENCES,
  });
  forgiveUnknownCommand(browser);
  return browser;
}

type Send = (this: unknown, method: string, parameters: object) => Promise<unknown>;

/** Playwright sets a colour scheme for each page, by a command that Debian's Firefox does not know yet. */
function forgiveUnknownCommand(browser: Browser): void {
  const { _connection: connection } = browser as unknown as {
    _connection: {
      toImpl(browser: Browser): { _browserSession: { constructor: { prototype: { send: Send } } } };
    };
  };
  const { prototype } = connection.toImpl(browser)._browserSession.constructor;
  const { send } = prototype;
  prototype.send = function (method, parameters) {
    const sent = send.call(this, method, parameters);
    return method === "emulation.setMediaFeaturesOverride" ? sent.catch(() => ({})) : sent;
  };
}
