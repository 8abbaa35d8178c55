/** How far something is: one line on a terminal's standard error, drawn over itself. Elsewhere nothing. */
const DRAW_MS = 250;

/** Begins to show what `text` says now; the function returned takes it away. */
export function showProgress(text: () => string): () => void {
  const { stderr } = process;
  if (!stderr.isTTY || process.env.TERM === "dumb") return () => {};
  const draw = () => void stderr.write(`\r\x1b[2K${text().slice(0, (stderr.columns || 80) - 1)}`);
  const timer = setInterval(draw, DRAW_MS);
  return () => {
    clearInterval(timer);
    stderr.write("\r\x1b[2K");
  };
}
