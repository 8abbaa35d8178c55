/**
 * The credentials with which the upstream's own web client calls it, as its scripts and pages carry them. Each
 * source gives what it has; only values of the right form count.
 */
import { asString, dig, omitUndefined, parseJson } from "../../json.ts";
import { unescaped } from "./script-object.ts";

export interface Credentials {
  /** Empty where the upstream names none: it is not sent then. */
  apiKey: string;
  clientVersion: string;
  /** Names the anonymous visitor that pages and chat calls come from. */
  visitorData?: string;
}

export type FoundCredentials = Partial<Credentials>;

/** The form of each value, and the configuration's names for it, the best first. */
const SETTINGS: Record<keyof Credentials, { form: RegExp; names: RegExp[] }> = {
  apiKey: { form: /^[\w-]{10,100}$/, names: [setting("INNERTUBE_API_KEY")] },
  clientVersion: {
    form: /^\d[\d.]{0,39}$/,
    names: [setting("INNERTUBE_CLIENT_VERSION"), setting("INNERTUBE_CONTEXT_CLIENT_VERSION")],
  },
  visitorData: { form: /^[\x21-\x7e]{1,2048}$/, names: [setting("VISITOR_DATA"), setting("visitorData")] },
};

/** From the settings in a script such as `sw.js`, which usually is a stub without any. */
export function credentialsInServiceWorker(js: string): FoundCredentials {
  return omitUndefined<FoundCredentials>({
    apiKey: settingIn(js, "apiKey"),
    clientVersion: settingIn(js, "clientVersion"),
    visitorData: settingIn(js, "visitorData"),
  });
}

/**
 * From `sw.js_data`: `)]}'`, then arrays in which only the place says what a value is. The configuration is
 * `[0][2]`: `[[device…], api key]`, with the visitor at 13 and the client version at 16 of the device.
 */
export function credentialsInServiceWorkerData(text: string): FoundCredentials {
  const configuration = dig(parseJson(text.slice(Math.max(0, text.indexOf("[")))), 0, 2);
  return omitUndefined<FoundCredentials>({
    apiKey: ofForm("apiKey", dig(configuration, 1)),
    clientVersion: ofForm("clientVersion", dig(configuration, 0, 16)),
    visitorData: ofForm("visitorData", dig(configuration, 0, 13)),
  });
}

/** From all `ytcfg.set(…)` calls of a page together. */
export function credentialsInPage(html: string): FoundCredentials {
  return credentialsInServiceWorker(configurationScripts(html));
}

/**
 * The page's scripts from their first `ytcfg.set(` on. Elsewhere a page holds text that anyone
 * can write, which must not pass for settings.
 */
function configurationScripts(html: string): string {
  const scripts: string[] = [];
  for (let start = html.indexOf("ytcfg.set("); start >= 0; ) {
    const end = html.indexOf("</script", start);
    scripts.push(html.slice(start, end < 0 ? html.length : end));
    start = end < 0 ? -1 : html.indexOf("ytcfg.set(", end);
  }
  return scripts.join("\n");
}

/** Matches `"NAME": "value"`, `NAME:'value'` and `set('NAME', 'value')`; the value is group 3, its escapes unresolved. */
function setting(name: string): RegExp {
  return new RegExp(
    `(?<![\\w$])(["']?)${name}\\1\\s*[:,]\\s*(["'])((?:(?!\\2)[^\\\\\\r\\n]|\\\\.){1,4096})\\2`,
    "g",
  );
}

/** The first value of the right form: the configuration stands above all that others could have written. */
function settingIn(script: string, field: keyof Credentials): string | undefined {
  for (const name of SETTINGS[field].names) {
    for (const match of script.matchAll(name)) {
      const value = ofForm(field, unescaped(match[3] ?? ""));
      if (value !== undefined) return value;
    }
  }
  return undefined;
}

function ofForm(field: keyof Credentials, value: unknown): string | undefined {
  const text = asString(value);
  return text !== undefined && SETTINGS[field].form.test(text) ? text : undefined;
}
