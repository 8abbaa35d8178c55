/**
 * What must not outlive the driver: undone when it ends, whether it is done, breaks or is told to go. Only
 * `kill -9` leaves it behind.
 */

/** Each would end the driver without its exit handlers. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const undos = new Set<() => void>();

/** `undo` must be done when it returns. The function returned takes it back. */
export function atExit(undo: () => void): () => void {
  if (undos.size === 0) {
    process.on("exit", undoAll);
    for (const signal of SIGNALS) process.on(signal, exit);
  }
  undos.add(undo);
  return () => {
    if (!undos.delete(undo) || undos.size > 0) return;
    process.off("exit", undoAll);
    for (const signal of SIGNALS) process.off(signal, exit);
  };
}

function undoAll(): void {
  for (const undo of undos) undo();
}

/** Where somebody else answers a signal, as Node's test runner does, the end of the driver is theirs. */
function exit(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(1);
}
