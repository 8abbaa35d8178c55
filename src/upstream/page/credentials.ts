/**
 * The credentials with which the upstream's own web client calls it, as its scripts and pages contain them.
 * Each source returns the values that it has; only values of the right format count.
 */
import { asArray, asString, dig, omitUndefined, parseJson } from "../../base/json.ts";
import { unescaped } from "./script-object.ts";

export interface Credentials {
  /** Empty if the upstream names none. An empty key is not sent. */
  apiKey: string;
  clientVersion: string;
  /** Identifies the anonymous visitor in chat calls and in `next`. */
  visitorData?: string;
}

export type FoundCredentials = Partial<Credentials>;

/** The format of each value, and its names in the configuration, the best first. */
const SETTINGS: Record<keyof Credentials, { form: RegExp; names: RegExp[] }> = {
  apiKey: { form: /^[\w-]{10,100}$/, names: [setting("INNERTUBE_API_KEY")] },
  clientVersion: {
    form: /^\d[\d.]{0,39}$/,
    names: [setting("INNERTUBE_CLIENT_VERSION"), setting("INNERTUBE_CONTEXT_CLIENT_VERSION")],
  },
  visitorData: { form: /^[\x21-\x7e]{1,2048}$/, names: [setting("VISITOR_DATA"), setting("visitorData")] },
};

/** The settings in a script such as `sw.js`, which usually is a stub without any. */
export function credentialsInServiceWorker(js: string): FoundCredentials {
  return omitUndefined<FoundCredentials>({
    apiKey: settingIn(js, "apiKey"),
    clientVersion: settingIn(js, "clientVersion"),
    visitorData: settingIn(js, "visitorData"),
  });
}

/**
 * The settings in `sw.js_data`: `)]}'`, then arrays in which the position defines the meaning. The
 * configuration is at `[0][2]`: `[[device, …], api key]`, with the visitor at 13 and the client version at 16
 * of the device, which is a list of its own, or in a flatter form the list around it.
 */
export function credentialsInServiceWorkerData(text: string): FoundCredentials {
  const configuration = dig(parseJson(text.slice(Math.max(0, text.indexOf("[")))), 0, 2);
  const device = asArray(dig(configuration, 0, 0)) ?? dig(configuration, 0);
  return omitUndefined<FoundCredentials>({
    apiKey: ofForm("apiKey", dig(configuration, 1)),
    clientVersion: ofForm("clientVersion", dig(device, 16)),
    visitorData: ofForm("visitorData", dig(device, 13)),
  });
}

/** The settings in all `ytcfg.set(…)` calls of a page. */
export function credentialsInPage(html: string): FoundCredentials {
  return credentialsInServiceWorker(configurationScripts(html));
}

/**
 * The page's scripts, each from its first `ytcfg.set(`. Elsewhere a page contains text that anyone can write,
 * which must not count as settings.
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

/** Matches `"NAME": "value"`, `NAME = 'value'`, `set('NAME', 'value')`. Group 3 is the value with escapes. */
function setting(name: string): RegExp {
  return new RegExp(
    `(?<![\\w$])(["']?)${name}\\1\\s*[:,=]\\s*(["'])((?:(?!\\2)[^\\\\\\r\\n]|\\\\.){1,4096})\\2`,
    "g",
  );
}

/** The first value of the right format: the configuration comes before text that users can write. */
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
