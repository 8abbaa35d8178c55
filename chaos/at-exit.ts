/**
 * What must not outlive the driver: undone when it ends, whether it is done, breaks or is told to go. Only
 * `kill -9` leaves it behind.
 */

/** Each would end the driver without its exit handlers. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** `undo` must be done when it returns. The function returned takes it back. */
export function atExit(undo: () => void): () => void {
  process.on("exit", undo);
  for (const signal of SIGNALS) process.on(signal, exit);
  return () => {
    process.off("exit", undo);
    for (const signal of SIGNALS) process.off(signal, exit);
  };
}

function exit(): void {
  process.exit(1);
}
