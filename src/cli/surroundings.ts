/** What the command line needs of the process that it runs in, which is `process` itself or stands for one. */
import type { Writable } from "node:stream";

type Listener = (signal: NodeJS.Signals) => void;

export interface Surroundings {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Writable & { readonly isTTY?: boolean; readonly fd?: number };
  readonly stderr: Writable & { readonly isTTY?: boolean; readonly columns?: number };
  on(signal: NodeJS.Signals, listener: Listener): unknown;
  off(signal: NodeJS.Signals, listener: Listener): unknown;
  /** Ends the process, whatever is still open. */
  exit(code: number): void;
}
