/**
 * The log: pino, JSON lines on stdout, readable on a terminal. It never contains a token, a key or a viewer's
 * address: `withoutToken` cuts the token out of each URL, and no event passes an address on.
 */
import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { type Logger, pino } from "pino";
import type { LogLevel } from "./log-levels.ts";

export type { Logger } from "pino";

/** `stdout`: the process's stdout, or any stream. */
export function createLogger(level: LogLevel, stdout: Writable & { isTTY?: boolean; fd?: number }): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }; // no pid, no host name
  if (stdout.isTTY) return pino(options, { write: (line) => stdout.write(readable(line, stdout)) });
  const { fd } = stdout;
  if (fd === undefined) return pino(options, stdout);
  const output = new Output(fd, (why) => log.warn({ why }, "lines of the log are missing"));
  const log = pino(options, output);
  return log;
}

/** The lines that wait until somebody reads the log have at most this many bytes in all. */
const MAX_WAITING_BYTES = 1 << 20;
/** How long a flush waits for a reader that reads nothing, such as a pager that is halted. */
const FLUSH_MS = 1000;

/**
 * Writes to a file or a pipe in the background. What cannot be written is dropped, so that a full disk costs
 * lines of the log and nothing else, and so does a reader that reads no more. pino's writer would end the
 * process after an error, and retry at the exit until it succeeds, so that the process neither ends nor
 * answers: it is replaced after an error, and given up if a flush takes long. (After EPIPE it drops all lines
 * by itself.)
 */
class Output {
  readonly #fd: number;
  readonly #recovered: (why: string) => void;
  #writer: ReturnType<typeof pino.destination> | undefined;
  #trouble: string | undefined;

  /** `recovered`: called when something is written after lines were dropped, with the reason. */
  constructor(fd: number, recovered: (why: string) => void) {
    this.#fd = fd;
    this.#recovered = recovered;
  }

  write(line: string): void {
    if (this.#writer) return void this.#writer.write(line);
    this.#writer = this.#open();
    this.#writer.write(this.#trouble ? `\n${line}` : line); // the last line may have been written in part
  }

  /** Calls `done` once all lines are written, or dropped because nobody reads them. */
  flush(done: () => void): void {
    const writer = this.#writer;
    if (!writer) {
      done();
      return;
    }
    const limit = setTimeout(() => {
      writer.destroy();
      done();
    }, FLUSH_MS);
    writer.flush(() => {
      clearTimeout(limit);
      done();
    });
  }

  #open() {
    // With a `minLength` of 0, a flush would not wait.
    const waits = { minLength: 1, maxLength: MAX_WAITING_BYTES };
    const writer = pino.destination({ dest: this.#fd, sync: false, ...waits });
    writer.on("error", ({ code, message }: NodeJS.ErrnoException) => {
      if (code === "EPIPE") return;
      this.#trouble = message;
      this.#writer = undefined;
      writer.destroy(); // also ends its attempts at the exit
    });
    writer.on("drop", () => {
      this.#trouble = "nobody read it";
    });
    writer.on("write", () => {
      const why = this.#trouble;
      this.#trouble = undefined;
      if (why) this.#recovered(why);
    });
    return writer;
  }
}

export const silentLog: Logger = pino({ level: "silent" });

interface LogLine {
  level: number;
  time: string;
  msg?: string;
}

const COLORS = { info: "green", warn: "yellow", error: "red", fatal: "bgRed" } as const;

/** A JSON line for people: time, level and message, then each field on its own line. */
function readable(json: string, stream: Writable): string {
  const style = (color: Parameters<typeof styleText>[0], text: string) => styleText(color, text, { stream });
  const { level, time, msg = "", ...fields }: LogLine = JSON.parse(json);
  const name = pino.levels.labels[level] ?? "";
  const color = COLORS[name as keyof typeof COLORS] ?? "blue";
  const lines = [
    `[${time.slice(11, 19)}] ${style(color, name.toUpperCase())}: ${style("cyan", msg)}`,
    ...Object.entries(fields).map(([field, value]) => `    ${style("magenta", field)}: ${shown(value)}`),
  ];
  return `${lines.join("\n")}\n`;
}

/** An error's stack with indented lines; anything else as JSON. */
function shown(value: unknown): string {
  const { stack } = (value ?? {}) as { stack?: unknown };
  return typeof stack === "string" ? stack.replaceAll("\n", "\n    ") : JSON.stringify(value);
}
