/** The log: pino, JSON lines on stdout, readable on a terminal. Never a token, a key or a viewer's address. */
import { type Logger, pino } from "pino";

export type { Logger } from "pino";

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export function createLog(level: LogLevel): Logger {
  const base = null; // no pid and host name on each line
  if (!process.stdout.isTTY) {
    const destination = pino.destination({ sync: false, minLength: 1 }); // with 0 a flush would not wait
    return pino({ level, base, timestamp: pino.stdTimeFunctions.isoTime }, destination);
  }
  return pino({ level, base, transport: { target: "pino-pretty", options: { translateTime: "HH:MM:ss" } } });
}

export const silentLog: Logger = pino({ level: "silent" });
