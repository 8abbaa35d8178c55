/**
 * Shows progress as one line on standard error that redraws itself. If standard error is not a terminal, it
 * is a line of its own every few seconds, where a command asks for that.
 */
import type { ProcessIo } from "../../src/cli/process-io.ts";

const DRAW_MS = 250;
const LINE_MS = 5000;

/**
 * Shows the current `text()` from now on. The returned function ends that, and removes the line. `notice`:
 * prints a line if standard error is not a terminal that can redraw one.
 */
export function showProgress(
  { stderr, env }: Pick<ProcessIo, "stderr" | "env">,
  text: () => string,
  notice?: (line: string) => void,
): () => void {
  if (!stderr.isTTY || env.TERM === "dumb") {
    const timer = notice && setInterval(() => notice(text()), LINE_MS);
    return () => clearInterval(timer);
  }
  const draw = () => void stderr.write(`\r\x1b[2K${text().slice(0, (stderr.columns || 80) - 1)}`);
  const timer = setInterval(draw, DRAW_MS);
  return () => {
    clearInterval(timer);
    stderr.write("\r\x1b[2K");
  };
}
