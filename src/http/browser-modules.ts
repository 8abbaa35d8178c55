/**
 * Makes modules for browsers of the project's TypeScript, without a build: types are stripped, and the SDK, which is
 * several files that also import the protocol, is joined into one.
 */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";

const IMPORT = /^import\b[^;]*?\bfrom "(\.[^"]+)";\n?/gm;
const REEXPORT = /^export \{([^}]*)\} from "(\.[^"]+)";\n?/gm;
/** Lines that are comments alone. */
const COMMENT = /^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)$/gm;
const EXPORT = /^export (?=(?:async |abstract )?(?:const|let|function|class)\b)/gm;

/** The file as a module of its own, its imports renamed to where they are served. */
export function toBrowserModule(file: URL, rename: (path: string) => string): string {
  return read(file).replaceAll(IMPORT, (line, path: string) => line.replace(path, rename(path)));
}

/** The file and all that it imports as one module, which exports what the file does. Their names must not clash. */
export function joinModules(entry: URL): string {
  const exported = [...read(entry).matchAll(REEXPORT)].map(([, names = ""]) => names);
  return `${inOrder(entry, new Set()).join("\n")}\nexport {${exported.join()}};\n`;
}

/** The sources that the file needs, each once and before whoever imports it; at last its own. */
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
 * Without types and what only readers of the source need: comments that stand by themselves, blank lines, indentation.
 * No line of these sources begins within a string or a template. Node's warning that this is experimental is of no use
 * to whoever runs the service.
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
