/**
 * Shows progress as one line on standard error that redraws itself. Shows nothing if standard error is not a
 * terminal.
 */
import type { Surroundings } from "../surroundings.ts";

const DRAW_MS = 250;

/** Shows the current `text()` from now on. The returned function removes the line. */
export function showProgress({ stderr, env }: Surroundings, text: () => string): () => void {
  if (!stderr.isTTY || env.TERM === "dumb") return () => {};
  const draw = () => void stderr.write(`\r\x1b[2K${text().slice(0, (stderr.columns || 80) - 1)}`);
  const timer = setInterval(draw, DRAW_MS);
  return () => {
    clearInterval(timer);
    stderr.write("\r\x1b[2K");
  };
}
