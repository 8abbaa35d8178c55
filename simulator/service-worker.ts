/** The two scripts that can contain the API key and the client version: `/sw.js` and `/sw.js_data`. */
import type { Answer } from "./answers.ts";
import { type Credentials, ytcfg } from "./document.ts";

/** `/sw.js` with its configuration, as a stub that removes itself and contains nothing, or cut off. */
export type WorkerForm = "full" | "stub" | "broken";

export function serviceWorker(form: WorkerForm, { apiKey, clientVersion }: Credentials): Answer {
  const config = {
    EXPERIMENT_FLAGS: { ab_det_apm: true, compress_gel: true, log_window: "{};" },
    ...(apiKey && { INNERTUBE_API_KEY: apiKey }),
    INNERTUBE_API_VERSION: "v1",
    INNERTUBE_CLIENT_NAME: "WEB",
    INNERTUBE_CLIENT_VERSION: clientVersion,
    INNERTUBE_CONTEXT: { client: { hl: "en", gl: "US", clientName: "WEB", clientVersion } },
    INNERTUBE_CONTEXT_CLIENT_NAME: 1,
    INNERTUBE_CONTEXT_CLIENT_VERSION: clientVersion,
  };
  const full = `/** 1 */self.document = self; self.window = self;${ytcfg}ytcfg.set(${JSON.stringify(config)});`;
  const scripts: Record<WorkerForm, string> = {
    full,
    stub:
      "\n  self.addEventListener('install', event => event.waitUntil(self.skipWaiting()));" +
      "\n  self.addEventListener('activate', event => event.waitUntil(self.registration.unregister()));\n",
    broken: full.slice(0, full.indexOf("INNERTUBE_")),
  };
  return { status: 200, headers: { "content-type": "text/javascript; charset=utf-8" }, body: scripts[form] };
}

/** `/sw.js_data`: a guard line, then nested lists in which only the position identifies a value. */
export function serviceWorkerData(
  form: "full" | "broken",
  { apiKey, clientVersion, visitorData }: Credentials,
): Answer {
  const device: unknown[] = Array.from({ length: 88 }, () => null);
  const places: [number, unknown][] = [
    [0, "en"],
    [1, "US"],
    [3, "127.0.0.1"],
    [13, visitorData],
    [16, clientVersion],
    [17, "Windows"],
    [18, "10.0"],
    [79, "UTC"],
    [86, "Chrome"],
    [87, "122.0.0.0"],
  ];
  for (const [place, value] of places) device[place] = value;
  const data =
    form === "full" ? [["yt.sw.adr", null, [[device], apiKey || null]]] : [["yt.sw.adr", null, null]];
  return {
    status: 200,
    headers: { "content-type": "application/json; charset=utf-8" },
    body: `)]}'\n${JSON.stringify(data)}`,
  };
}
