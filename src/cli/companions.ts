/**
 * The files that belong to a version of the program beside its code: its documents, its examples, and the
 * files of deploy/. A checkout and the package have them; the one file has them as assets.
 */
import { globSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import sea from "node:sea";
import { fileURLToPath } from "node:url";
import { PACKAGE_ROOT } from "../base/own-files.ts";

/** Before their paths in the names of assets. */
export const ASSETS = "companions/";
const PATTERNS = ["deploy/**", "docs/**", "examples/**", "*.md", "LICENSE"];

/** Each by its path, in order, with what reads it. */
export function companions(): Map<string, () => Uint8Array> {
  const root = PACKAGE_ROOT;
  if (root === undefined) {
    const names = sea.getAssetKeys().filter((name) => name.startsWith(ASSETS));
    return new Map(
      names.sort().map((name) => [name.slice(ASSETS.length), () => new Uint8Array(sea.getRawAsset(name))]),
    );
  }
  const cwd = fileURLToPath(root);
  const files = globSync(PATTERNS, { cwd, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map(({ parentPath, name }) => relative(cwd, join(parentPath, name)));
  return new Map(
    paths
      .map((path) => path.replaceAll("\\", "/"))
      .sort()
      .map((path) => [path, () => readFileSync(new URL(path, root))]),
  );
}
