/** How far something is: one line on a terminal's standard error, drawn over itself. Elsewhere nothing. */
import type { Surroundings } from "../surroundings.ts";

const DRAW_MS = 250;

/** Begins to show what `text` says now; the function returned takes it away. */
export function showProgress({ stderr, env }: Surroundings, text: () => string): () => void {
  if (!stderr.isTTY || env.TERM === "dumb") return () => {};
  const draw = () => void stderr.write(`\r\x1b[2K${text().slice(0, (stderr.columns || 80) - 1)}`);
  const timer = setInterval(draw, DRAW_MS);
  return () => {
    clearInterval(timer);
    stderr.write("\r\x1b[2K");
  };
}
