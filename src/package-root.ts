/** The folder of the package: that of `src/` in a checkout, and of `dist/`, which mirrors it, in what npm installs. */
import { findPackageJSON } from "node:module";
import { pathToFileURL } from "node:url";

const FILE = findPackageJSON(import.meta.url);
if (FILE === undefined) throw new Error("package.json is missing: install livechat-relay again");

/** Ends with a slash. */
export const PACKAGE_ROOT = new URL(".", pathToFileURL(FILE));
