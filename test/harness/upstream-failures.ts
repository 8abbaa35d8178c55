/** The upstream's bad answers, by their names: simulation and chaos draw from these tables. */
import type { Failure } from "../../simulator/faults.ts";
import { WALLS } from "../../simulator/pages.ts";

/** Replaces the answer to a call for a chat. */
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

/** Ends an address's calls for a while. */
export const THROTTLINGS: Readonly<Record<string, Failure>> = {
  "429": { status: 429 },
  "429 with Retry-After": { status: 429, headers: { "retry-after": "4" } },
  quota: "quota",
  captcha: "captcha",
};

/** Replaces a script. */
export const SCRIPT_FAILURES: Readonly<Record<string, Failure>> = {
  "503": { status: 503 },
  redirect: { redirect: "https://accounts.google.com/ServiceLogin" },
  captcha: "captcha",
  html: "html",
  truncated: "truncated",
  silent: "silent",
  reset: "reset",
};

/** Replaces a page. */
export const PAGE_FAILURES: Readonly<Record<string, Failure>> = {
  ...SCRIPT_FAILURES,
  ...Object.fromEntries(WALLS.map((wall) => [wall, wall])),
};
