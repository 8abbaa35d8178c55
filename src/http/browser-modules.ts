/**
 * Turns the project's TypeScript into browser modules without a build: strips the types, and joins the SDK's
 * files and its protocol imports into one module.
 */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";

const IMPORT = /^import\b[^;]*?\bfrom "(\.[^"]+)";\n?/gm;
const REEXPORT = /^export \{([^}]*)\} from "(\.[^"]+)";\n?/gm;
/** Lines that consist of a comment. */
const COMMENT = /^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)$/gm;
const EXPORT = /^export (?=(?:async |abstract )?(?:const|let|function|class)\b)/gm;

/** The file as one module, with each import renamed to the path at which it is served. */
export function toBrowserModule(file: URL, rename: (path: string) => string): string {
  return read(file).replaceAll(IMPORT, (line, path: string) => line.replace(path, rename(path)));
}

/**
 * The file and all its imports as one module with the file's exports. Top-level names of the files must not
 * clash.
 */
export function joinModules(entry: URL): string {
  const exported = [...read(entry).matchAll(REEXPORT)].map(([, names = ""]) => names);
  return `${inOrder(entry, new Set()).join("\n")}\nexport {${exported.join()}};\n`;
}

/**
 * The sources that the file needs, each once and before the sources that import it; the file's own is last.
 */
function inOrder(file: URL, seen: Set<string>): string[] {
  if (seen.has(file.href)) return [];
  seen.add(file.href);
  const source = read(file);
  const paths = [
    ...[...source.matchAll(IMPORT)].map(([, path = ""]) => path),
    ...[...source.matchAll(REEXPORT)].map(([, , path = ""]) => path),
  ];
  const before = paths.flatMap((path) => inOrder(new URL(path, file), seen));
  return [...before, source.replaceAll(IMPORT, "").replaceAll(REEXPORT, "").replaceAll(EXPORT, "")];
}

/**
 * The source without types, and without comments on lines of their own, blank lines and indentation. This is
 * safe because no line of these sources begins inside a string or a template. Hides Node's warning that type
 * stripping is experimental, which operators cannot act on.
 */
function read(file: URL): string {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    const source = stripTypeScriptTypes(readFileSync(file, "utf8"));
    return source
      .replaceAll(COMMENT, "")
      .replaceAll(/\s*\n\s*/g, "\n")
      .trimStart();
  } finally {
    process.emitWarning = emitWarning;
  }
}
