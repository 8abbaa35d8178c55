/**
 * Formats rows as a text table: a line of headings, columns as wide as their content, the last column
 * unpadded.
 */
import { cleanText } from "../base/sanitised-text.ts";

/** `columns`: by heading, the function that returns a row's cell. */
export function tableOf<Row>(columns: Record<string, (row: Row) => string>, rows: readonly Row[]): string {
  const headings = Object.keys(columns).map((name) => name.toUpperCase());
  const cells = rows.map((row) => Object.values(columns).map((read) => cleanText(read(row))));
  const all = [headings, ...cells];
  const widths = headings.map((_, index) => Math.max(...all.map((line) => line[index]?.length ?? 0)));
  const lines = all.map((line) => line.map((cell, index) => cell.padEnd(widths[index] ?? 0)).join("  "));
  return lines.map((line) => `${line.trimEnd()}\n`).join("");
}
