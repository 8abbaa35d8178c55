/** Reads files of lines of any size. */
import { createReadStream } from "node:fs";

/** Longer than any answer of the upstream that is accepted. */
const MAX_LINE_LENGTH = 16 * 1024 * 1024;

/**
 * The lines of a file, one after another, without a byte order mark. Splits only at line feeds: the text of a
 * chat may contain any other line break. Throws if the file cannot be read, or a line is longer than 16
 * million characters.
 */
export async function* linesOf(path: string): AsyncGenerator<string> {
  let line: string | undefined;
  for await (const chunk of createReadStream(path, { encoding: "utf8", highWaterMark: 1 << 20 })) {
    const [end = "", ...more]: string[] = chunk.split("\n");
    line = line === undefined ? end.replace(/^\ufeff/, "") : line + end;
    for (const next of more) {
      yield line;
      line = next;
    }
    if (line.length > MAX_LINE_LENGTH)
      throw new Error(`${path} has a line of more than 16 million characters`);
  }
  if (line) yield line;
}
