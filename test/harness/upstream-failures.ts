/** The bad answers to a call for a chat, by their names: simulation and chaos draw from this table. */
import type { Failure } from "../../src/simulator/faults.ts";

export const CHAT_FAILURES: Readonly<Record<string, Failure>> = {
  "500": { status: 500 },
  "503": { status: 503 },
  "403": { status: 403 },
  "404": { status: 404 },
  html: "html",
  empty: "empty",
  null: "null",
  array: "array",
  object: "object",
  "without contents": "no-contents",
  "invalid argument": "invalid-argument",
  "response errors": "response-errors",
  lost: "lost",
  truncated: "truncated",
  reset: "reset",
  silent: "silent",
  slow: { delayMs: 5000 },
  "in pieces": { drip: { bytes: 400, everyMs: 30 } },
};
