/**
 * The HTML document of the upstream's pages: its scripts with the configuration calls of the real ones, and
 * the data from which it is rendered.
 */
import { type Answer, html } from "./answers.ts";
import type { JsonObject } from "./plain-json.ts";

/** The credentials that the pages contain. */
export interface Credentials {
  /** Empty: no page contains it. */
  apiKey: string;
  clientVersion: string;
  visitorData: string;
  /** False: the pages contain neither key nor version. */
  onPages: boolean;
}

/** The page itself: `before`, then its initial data. */
export function frame(
  credentials: Credentials,
  { initialData }: { initialData: "plain" | "escaped" },
  variable: string,
  data: JsonObject,
  before: string,
): Answer {
  const value = initialData === "plain" ? scriptJson(data) : escapedJson(data);
  return document(credentials, `<script nonce="s1mul4t0r">${variable} = ${value};</script>`, before);
}

/** Scripts and several `ytcfg.set` calls, one of which is not JSON. */
export function document(
  { apiKey, clientVersion, visitorData, onPages }: Credentials,
  scripts: string,
  before = "",
): Answer {
  const client = { hl: "en", gl: "US", visitorData, clientName: "WEB", clientVersion, platform: "DESKTOP" };
  const config = {
    CLIENT_CANARY_STATE: "none",
    DEVICE: "cbr=Chrome&ceng=WebKit&cplatform=DESKTOP",
    ...(onPages && {
      ...(apiKey && { INNERTUBE_API_KEY: apiKey }),
      INNERTUBE_API_VERSION: "v1",
      INNERTUBE_CLIENT_NAME: "WEB",
      INNERTUBE_CLIENT_VERSION: clientVersion,
      INNERTUBE_CONTEXT: { client, user: { lockedSafetyMode: false } },
      INNERTUBE_CONTEXT_CLIENT_NAME: 1,
      INNERTUBE_CONTEXT_CLIENT_VERSION: clientVersion,
    }),
    LOGGED_IN: false,
    VISITOR_DATA: visitorData,
  };
  return html(
    200,
    `<!DOCTYPE html><html lang="en"><head><title>YouTube</title><script nonce="s1mul4t0r">${ytcfg}` +
      `ytcfg.set('EMERGENCY_BASE_URL', '\\/error_204?t\\x3djserror\\x26level\\x3dERROR');</script>` +
      `<script nonce="s1mul4t0r">ytcfg.set(${attributeJson(config)});</script></head><body>${before}` +
      `<script nonce="s1mul4t0r">ytcfg.set("initialInnerWidth",window.innerWidth);</script>${scripts}` +
      `<script nonce="s1mul4t0r">ytcfg.set({"CSI_SERVICE_NAME": 'youtube', "TIMING_INFO": {"yt_ad": '1',}})</script>` +
      "</body></html>",
  );
}

export const ytcfg =
  "var ytcfg={d:function(){return ytcfg.data_||(ytcfg.data_={})},get:function(k,o){return k in ytcfg.d()?ytcfg.d()[k]:o}," +
  "set:function(){var a=arguments;if(a.length>1)ytcfg.d()[a[0]]=a[1];else for(var k in a[0])ytcfg.d()[k]=a[0][k]}};\n";

/** JSON inside a script, without `<`, so that nothing in it can end the script. */
export function scriptJson(data: JsonObject): string {
  return JSON.stringify(data).replaceAll("<", "\\u003c");
}

/** JSON as the configuration contains it, with all of HTML's special characters escaped. */
function attributeJson(data: JsonObject): string {
  return JSON.stringify(data).replace(
    /[<>&='\u2028]/g,
    (character) => `\\u${code(character).padStart(4, "0")}`,
  );
}

/** JSON in a single-quoted string with hex escapes. */
function escapedJson(data: JsonObject): string {
  const text = JSON.stringify(data).replace(/[\\"'{}[\]<>&=/]/g, (character) =>
    character === "\\" ? "\\\\" : `\\x${code(character).padStart(2, "0")}`,
  );
  return `'${text}'`;
}

function code(character: string): string {
  return character.charCodeAt(0).toString(16);
}
