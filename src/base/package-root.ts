/**
 * The package's folder and version. In a checkout it contains `src/`; in an npm installation `dist/`, with
 * the same structure.
 */
import { readFileSync } from "node:fs";
import { findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";

const FILE = findPackageJSON(import.meta.url);
if (FILE === undefined) throw new Error("package.json is missing: install livechat-relay again");

/** Ends with a slash. */
export const PACKAGE_ROOT = new URL(".", pathToFileURL(FILE));
export const VERSION: string = JSON.parse(readFileSync(FILE, "utf8")).version;
