/**
 * Cleans up when the driver ends: normally, by a failure or by a signal. Only `kill -9` leaves something
 * behind.
 */

/** Each ends the driver without its exit handlers. */
const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

const undos = new Set<() => void>();

/** `undo` must finish before it returns. The returned function cancels it. */
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

/** If another listener handles the signal, as in Node's test runner, that listener ends the driver. */
function exit(signal: NodeJS.Signals): void {
  if (process.listenerCount(signal) === 1) process.exit(1);
}
