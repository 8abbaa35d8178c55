/**
 * Turns the project's TypeScript and stylesheets into what a browser loads without a build: strips the types,
 * joins the SDK's files and its protocol imports into one module, and a page's files into one script and one
 * stylesheet.
 */
import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";

const IMPORT = /^import\b[^;]*?\bfrom "(\.[^"]+)";\n?/gm;
const REEXPORT = /^export \{([^}]*)\} from "(\.[^"]+)";\n?/gm;
/** Lines that consist of a comment. */
const COMMENT = /^\s*(?:\/\*[\s\S]*?\*\/|\/\/.*)$/gm;
/** The same in a stylesheet, but for a comment whose first line names a licence. */
const CSS_COMMENT = /^\s*\/\*(?!.*\blicence\b)[\s\S]*?\*\/\n/gm;
const EXPORT = /^export (?=(?:async |abstract )?(?:const|let|function|class)\b)/gm;
const EXPORTED = /^export (?:async |abstract )?(?:const|let|function\*?|class) ([\w$]+)/gm;
const IMPORTED = /^import \{([^}]*)\} from "(\.[^"]+)";\n?/gm;
/** A module that its importer loads when it needs it. */
const LATER = /\bimport\("\.[^"]*\/([^"/]+)"\)/g;
const STYLE_IMPORT = /^@import "([^"]+)";\n/gm;

/** The file as one module, with each import renamed to the path at which it is served. */
export function toBrowserModule(file: URL, rename: (path: string) => string): string {
  return read(file).replaceAll(IMPORT, (line, path: string) => line.replace(path, rename(path)));
}

/**
 * The file and all its imports as one module with the file's exports. Top-level names of the files must not
 * clash. `later`: the path, as the module sees it, of a file that the SDK loads later.
 */
export function joinModules(entry: URL, later: (file: string) => string): string {
  const exported = [...read(entry).matchAll(REEXPORT)].map(([, names = ""]) => names);
  const joined = inOrder(entry, new Set()).join("\n");
  return `${withLater(joined, later)}\nexport {${exported.join()}};\n`;
}

/**
 * The file and all its imports as one script, so that a page needs one request for them. Each file is a
 * function that returns its exports: names of different files do not clash. Imports must not form a circle.
 * The script has the exports of its entry. `later`: the path, as the script sees it, of a file that it loads
 * later.
 */
export function bundleScript(entry: URL, later: (file: string) => string): string {
  const names = new Map<string, string>();
  const parts: string[] = [];
  let exports: readonly string[] = [];
  const add = (file: URL): string => {
    const known = names.get(file.href);
    if (known) return known;
    const source = read(file);
    const exported = [...source.matchAll(EXPORTED)].map(([, name = ""]) => name);
    const nameOf = (path: string): string => add(new URL(path, file));
    const asConst = (list: string, path: string): string =>
      `const {${list.replaceAll(" as ", ": ")}} = ${nameOf(path)};\n`;
    for (const [, list = "", path = ""] of source.matchAll(REEXPORT)) {
      const reexported = list.split(",").map((name) => name.trim());
      exported.push(...reexported.map((name) => `...(({ ${name} }) => ({ ${name} }))(${nameOf(path)})`));
    }
    const body = source
      .replaceAll(REEXPORT, "")
      .replaceAll(IMPORTED, (_, list: string, path: string) => asConst(list, path))
      .replaceAll(EXPORT, "");
    exports = exported;
    const name = `file${names.size}`;
    names.set(file.href, name);
    parts.push(`const ${name} = (() => {\n${body}\nreturn { ${exported.join(", ")} };\n})();`);
    return name;
  };
  const name = add(entry);
  const end = exports.length === 0 ? "" : `export const { ${exports.join(", ")} } = ${name};\n`;
  return `${withLater(parts.join("\n"), later)}\n${end}`;
}

function withLater(source: string, later: (file: string) => string): string {
  return source.replaceAll(LATER, (_, file: string) => `import("${later(file)}")`);
}

/**
 * The stylesheet with those that it imports in place of its imports, without comments on their own lines,
 * blank lines and indentation. No string of these sheets has a line break.
 */
export function bundleStyle(entry: URL): string {
  const css = readFileSync(entry, "utf8").replaceAll(CSS_COMMENT, "").replaceAll(/^\s+/gm, "");
  return css.replaceAll(STYLE_IMPORT, (_, path: string) => bundleStyle(new URL(path, entry)));
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
