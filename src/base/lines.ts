/**
 * Reads text files of any size, piece by piece, also compressed ones. A line or an element that is longer
 * than any answer of the upstream is refused.
 */
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream";
import { createGunzip } from "node:zlib";

/**
 * Longer than any answer of the upstream that is accepted. Checked after each piece of a file, of at most a
 * megabyte.
 */
const MAX_LENGTH = 16 * 1024 * 1024;

/**
 * The text of a file, piece by piece, without a byte order mark. A file whose name ends in `.gz` is
 * decompressed. Throws if the file cannot be read.
 */
export async function* textOf(path: string): AsyncGenerator<string> {
  const file = createReadStream(path, { highWaterMark: 1 << 20 });
  // The reader of a stream gets its errors.
  const bytes = path.endsWith(".gz") ? pipeline(file, createGunzip(), () => {}) : file;
  let isFirst = true;
  for await (const text of bytes.setEncoding("utf8")) {
    yield isFirst ? text.replace(/^\ufeff/, "") : text;
    isFirst = false;
  }
}

/**
 * The lines of a file, one after another. Splits only at line feeds: the text of a chat may contain any other
 * line break. Throws if the file cannot be read, or a line is longer than about 17 million characters.
 */
export function linesOf(path: string): AsyncGenerator<string> {
  return splitLines(textOf(path));
}

/** As `linesOf`, of the pieces of a text. */
export async function* splitLines(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let line = "";
  for await (const piece of pieces) {
    const [end = "", ...more]: string[] = piece.split("\n");
    line += end;
    for (const next of more) {
      yield line;
      line = next;
    }
    assertLength(line, "a line");
  }
  if (line !== "") yield line;
}

/**
 * The elements of a JSON array that are objects or arrays, each as its text, one after another; an element
 * that is cut off is left out. Throws if one is longer than about 17 million characters.
 */
export async function* splitArray(pieces: AsyncIterable<string>): AsyncGenerator<string> {
  let element = "";
  let depth = 0;
  let [isString, isEscaped] = [false, false];
  for await (const piece of pieces) {
    let start = 0;
    for (let at = 0; at < piece.length; at++) {
      const character = piece[at];
      if (isEscaped) isEscaped = false;
      else if (character === '"') isString = !isString;
      else if (isString) isEscaped = character === "\\";
      else if (character === "{" || character === "[") {
        depth += 1;
        if (depth === 2) start = at;
      } else if (character === "}" || character === "]") {
        depth -= 1;
        if (depth === 1) {
          yield element + piece.slice(start, at + 1);
          element = "";
        }
        if (depth === 0) return;
      }
    }
    if (depth > 1) element += piece.slice(start);
    assertLength(element, "an element");
  }
}

function assertLength({ length }: string, what: string): void {
  if (length > MAX_LENGTH) throw new Error(`it has ${what} of more than 16 million characters`);
}
