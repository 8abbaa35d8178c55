/**
 * What a signal does to a command. SIGTERM, SIGINT or SIGHUP ends a service gracefully, as the loss of its
 * store does, and a later signal ends it at once. It ends a command that works on a store at once.
 */
import { once } from "node:events";
import { systemClock } from "../base/clock.ts";
import { EXIT, exitCodeOf } from "./exit-codes.ts";
import type { ProcessIo } from "./process-io.ts";
import type { Service } from "./service.ts";

/**
 * One request to stop can arrive twice: if a terminal or a supervisor signals the whole process group, npm
 * forwards its own copy.
 */
const SAME_REQUEST_MS = 1000;

/**
 * SIGHUP: the terminal was closed. Windows has no SIGTERM: Ctrl-Break and a closed window arrive as the
 * others.
 */
const SIGNALS: readonly NodeJS.Signals[] = [
  process.platform === "win32" ? "SIGBREAK" : "SIGTERM",
  "SIGINT",
  "SIGHUP",
];

/** Calls `onSignal` for each signal, until it is disposed of. */
function listen(io: ProcessIo, onSignal: (name: NodeJS.Signals) => void): Disposable {
  for (const name of SIGNALS) io.on(name, onSignal);
  return {
    [Symbol.dispose]() {
      for (const name of SIGNALS) io.off(name, onSignal);
    },
  };
}

/**
 * Listens to the signals until it is disposed of. The first aborts `stopped`, with its name as the reason; a
 * second one that is not a copy of the first ends the process with the exit code that `codeOf` gives.
 */
export function stopSignals(
  io: ProcessIo,
  codeOf: (name: NodeJS.Signals) => number,
): Disposable & { stopped: AbortSignal } {
  const stopping = new AbortController();
  let firstAt: number | undefined;
  const listening = listen(io, (name) => {
    firstAt ??= systemClock.monotonic();
    if (systemClock.monotonic() - firstAt > SAME_REQUEST_MS) io.exit(codeOf(name));
    stopping.abort(name);
  });
  return { ...listening, stopped: stopping.signal };
}

/**
 * Starts a service. At the first signal, stops it and ends the process with exit code 0. The signal may come
 * before the start is done; `start` may then reject with the reason of the `AbortSignal` that it was given.
 * Rejects like `start` and `stop`, and, after the service has stopped, with the error that says why its store
 * was lost.
 */
export async function runUntilSignal(
  io: ProcessIo,
  start: (stopped: AbortSignal) => Promise<Pick<Service, "stop" | "lost">>,
): Promise<number> {
  // Until the exit: npm's copy of a signal may come late.
  using signals = stopSignals(io, () => EXIT.failed);
  const { stopped } = signals;
  try {
    const service = await start(stopped);
    const signalled = stopped.aborted ? undefined : once(stopped, "abort").then(() => undefined);
    const lost = await Promise.race([signalled, service.lost]);
    await service.stop();
    if (lost) throw lost;
  } catch (error) {
    if (!stopped.aborted || error !== stopped.reason) throw error;
  }
  io.exit(0);
  return 0;
}

/**
 * Runs a command that works on a store, and resolves to its exit code. A signal ends the process at once, as
 * it would by itself, but with an exit code, and also if this is the first process of a container.
 */
export async function runUntilKilled(io: ProcessIo, work: () => Promise<number>): Promise<number> {
  using _ = listen(io, (name) => io.exit(exitCodeOf(name)));
  return await work();
}
