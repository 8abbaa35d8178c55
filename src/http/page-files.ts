/**
 * The files of the pages, by the path at which they are served; the documents, which are served at other
 * paths, by their own. A checkout needs no build: TypeScript is served with its types stripped. The
 * bundle has the same files ready.
 */
import { globSync, readFileSync } from "node:fs";
import { basename, extname } from "node:path";
import { fileURLToPath } from "node:url";
import { builtPages, bundled, IS_BUNDLED, PACKAGE_ROOT } from "../base/own-files.ts";
import { bundleScript, bundleStyle, joinModules, toBrowserModule } from "./browser-modules.ts";

const SDK = "client.js";
/** The files of the SDK that it loads when it needs them. */
const SDK_LATER: Readonly<Record<string, string>> = {
  "log-stream.ts": "client-log.js",
  "poll-loop.ts": "client-poll.js",
  "stored-pages.ts": "client-history.js",
};
/** The scripts of the pages, and those that they load later; each contains all that it imports. */
const SCRIPTS: ReadonlySet<string> = new Set([
  "web/page/first-paint.ts",
  "web/page/main.ts",
  "web/page/feature-buttons.ts",
  "web/page/aloud.ts",
  "web/page/chart.ts",
  "web/page/found-words.ts",
  "web/page/kept-chat.ts",
  "web/page/probe-page.ts",
  "web/page/video-clock.ts",
  "web/overlay/main.ts",
  "web/chat/merged-connection.ts",
  "web/chat/shared-stream.ts",
  "web/chat/shared-worker.ts",
  "web/overlay/alert-effects.ts",
  "web/overlay/goal.ts",
  "web/overlay/featured-view.ts",
  "web/overlay/merged-source.ts",
  "web/overlay/setup/main.ts",
]);

/** Each file with what reads or builds it. Paths have no slash in front. */
export function pageFiles(): Map<string, () => string> {
  if (PACKAGE_ROOT === undefined || IS_BUNDLED)
    return new Map(builtPages().map((path) => [path, () => bundled(`pages/${path}`)]));
  const root = PACKAGE_ROOT;
  const cwd = fileURLToPath(root);
  const files = globSync("web/**/*.{html,ts,css,svg}", { cwd }).map((name): [string, () => string] => {
    const path = name.replaceAll("\\", "/");
    const file = new URL(path, root);
    const type = extname(path);
    if (type === ".css") return [path, () => bundleStyle(file)];
    if (type !== ".ts") return [path, () => readFileSync(file, "utf8")];
    const script = SCRIPTS.has(path)
      ? () => bundleScript(file, (later) => "../".repeat(path.split("/").length - 1) + laterPath(later))
      : () => toBrowserModule(file, servedAs);
    return [path.replace(/ts$/, "js"), script];
  });
  // A page's module that is loaded by itself finds the protocol below `web/`.
  const protocol = globSync("src/protocol/*.ts", { cwd }).map((name): [string, () => string] => [
    `web/protocol/${basename(name, ".ts")}.js`,
    () => toBrowserModule(new URL(name.replaceAll("\\", "/"), root), servedAs),
  ]);
  return new Map([
    ...files,
    ...protocol,
    [SDK, () => joinModules(new URL("client/index.ts", root), (later) => `./${SDK_LATER[later]}`)],
    ...Object.entries(SDK_LATER).map(([file, path]): [string, () => string] => [
      path,
      () => toBrowserModule(new URL(`client/${file}`, root), servedAs),
    ]),
  ]);
}

/** The path of a script that another loads later. No two of them have the same name. */
function laterPath(name: string): string {
  const own = [...SCRIPTS].find((path) => path.endsWith(`/${name}`));
  return SDK_LATER[name] ?? own?.replace(/ts$/, "js") ?? name;
}

/** The path at which a page finds an imported file. */
function servedAs(path: string): string {
  if (path.endsWith("client/index.ts")) return `../../${SDK}`;
  return path.replace("../src/protocol/", "protocol/").replace(/ts$/, "js");
}
