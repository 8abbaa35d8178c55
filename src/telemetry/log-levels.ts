/** The levels of the log, apart from the log itself: the settings name them, and help must not load pino. */

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];
