/**
 * The program's own files, its name and its version. It runs from a checkout, whose files are sources;
 * from the bundle in an npm installation's `dist/`; or from one executable file that contains the bundle,
 * whose files are its assets.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import sea from "node:sea"; // Node.js 24.0 has not all of its functions
import { pathToFileURL } from "node:url";

/** Whether the program is one executable file. */
export const IS_ONE_FILE = sea.isSea();

/** How the program is called in help and errors. */
export const COMMAND_NAME = IS_ONE_FILE ? process.argv0 : "livechat-relay";

/** The folder of `package.json`; ends with a slash. The one file has none. */
export const PACKAGE_ROOT = IS_ONE_FILE ? undefined : packageRoot();
export const VERSION: string = JSON.parse(
  PACKAGE_ROOT
    ? readFileSync(new URL("package.json", PACKAGE_ROOT), "utf8")
    : sea.getAsset("package.json", "utf8"),
).version;

/** The folder of the bundle; undefined in a checkout and in the one file. */
const BUNDLE = IS_ONE_FILE ? undefined : bundleFolder();

/** Whether the program's files are those of the bundle, in which the pages are built. */
export const IS_BUNDLED = IS_ONE_FILE || BUNDLE !== undefined;

/** The names of the bundle's built pages. */
export function builtPages(): string[] {
  const names = BUNDLE
    ? readdirSync(new URL("pages/", BUNDLE), { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => pathToFileURL(`${entry.parentPath}/${entry.name}`).href.slice(BUNDLE.href.length))
    : sea.getAssetKeys();
  return names.filter((name) => name.startsWith("pages/")).map((name) => name.slice("pages/".length));
}

/** A file of the bundle as text. */
export function bundled(name: string): string {
  return BUNDLE ? readFileSync(new URL(name, BUNDLE), "utf8") : sea.getAsset(name, "utf8");
}

/**
 * The licences of the program and of everything inside it. In a checkout only the program's own: each package
 * has its licence in its folder.
 */
export function licences(): string {
  if (IS_ONE_FILE) return `${bundled("licenses.txt")}\n${bundled("node-license.txt")}`;
  if (BUNDLE) return bundled("licenses.txt");
  return PACKAGE_ROOT ? readFileSync(new URL("LICENSE", PACKAGE_ROOT), "utf8") : "";
}

function packageRoot(): URL {
  const file = findPackageJSON(import.meta.url);
  if (file === undefined) throw new Error("package.json is missing: install livechat-relay again");
  return new URL(".", pathToFileURL(file));
}

function bundleFolder(): URL | undefined {
  const here = new URL(".", import.meta.url);
  return existsSync(new URL("pages/", here)) ? here : undefined;
}
