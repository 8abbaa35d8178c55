/** The parts of its process that the command line uses: `process` itself, or a substitute. */
import type { Writable } from "node:stream";

type Listener = (signal: NodeJS.Signals) => void;

export interface ProcessIo {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly fd?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  on(signal: NodeJS.Signals, listener: Listener): unknown;
  off(signal: NodeJS.Signals, listener: Listener): unknown;
  /** Ends the process, even if resources are still open. */
  exit(code: number): void;
}
