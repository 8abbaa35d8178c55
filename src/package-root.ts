/**
 * The package's folder. In a checkout it contains `src/`; in an npm installation `dist/`, with the same
 * structure.
 */
import { findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";

const FILE = findPackageJSON(import.meta.url);
if (FILE === undefined) throw new Error("package.json is missing: install livechat-relay again");

/** Ends with a slash. */
export const PACKAGE_ROOT = new URL(".", pathToFileURL(FILE));
