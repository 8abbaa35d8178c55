/**
 * The log: pino, JSON lines on stdout, readable on a terminal. It never contains a token, a key or a viewer's
 * address.
 */
import type { Writable } from "node:stream";
import { styleText } from "node:util";
import { type Logger, pino } from "pino";
import type { LogLevel } from "./log-levels.ts";

export type { Logger } from "pino";

/** `stdout`: the process's stdout, or any stream. */
export function createLog(level: LogLevel, stdout: Writable & { isTTY?: boolean; fd?: number }): Logger {
  const options = { level, base: null, timestamp: pino.stdTimeFunctions.isoTime }; // no pid, no host name
  if (stdout.isTTY) return pino(options, { write: (line) => stdout.write(readable(line, stdout)) });
  const { fd } = stdout;
  if (fd === undefined) return pino(options, stdout);
  // With a `minLength` of 0, a flush would not wait.
  return pino(options, pino.destination({ dest: fd, sync: false, minLength: 1 }));
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
