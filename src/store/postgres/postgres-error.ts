/**
 * Describes a failure of PostgreSQL: whether a start may wait for its end, and one line that never contains a
 * password.
 */
import { StoreError, type StoreTrouble } from "../store-error.ts";

const NO_SCHEMA =
  "has no schema that search_path names and this user may use: create it, or name another in the URL's options";

/** Some of its tables or functions are missing, and others are of another version. */
export const HALF_RESTORED =
  "is half restored: its tables are not those of one version. Restore the dump again as docs/cluster.md says, or use an empty database";

/** What to do about failures that a start cannot wait for, by SQLSTATE or its class. */
const ADVICE: Readonly<Record<string, string>> = {
  "28": "refuses the user or the password: name the right ones in the URL, PGUSER or PGPASSWORD",
  "3D": "has no such database: create it, or name another",
  "3F": NO_SCHEMA,
  "42602": NO_SCHEMA,
  "22023": "rejects a setting in the URL's options or PGOPTIONS: check the spelling of search_path",
  "42501": "does not allow this user to create tables: grant the right, or use another database",
  "42": HALF_RESTORED,
  "25006": "is read-only: name the primary, not a standby",
};

/** By SQLSTATE. */
const TROUBLES: Readonly<Record<string, StoreTrouble>> = {
  "25006": "it cannot be written",
  "53100": "the disk is full",
};
const UNREACHABLE = "the database cannot be reached";

export const CANNOT_BE_REACHED = "cannot be reached: check that the server runs, and check host and port";

/**
 * After these errors, all older connections are suspect: the server is gone, stops, or is not the primary any
 * more.
 */
const GONE = /^(08...|57P0.|25006)$/;

function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) && !error.code.startsWith("E") ? error.code : undefined;
}

/** Whether the connection failed, and not the statement. No answer counts as a failed connection. */
export function isConnectionLost(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined || GONE.test(state);
}

/** What to do about a permanent failure; undefined if the failure may be temporary. */
export function adviceFor(error: unknown): string | undefined {
  if (error instanceof StoreError) return error.message;
  const state = sqlState(error) ?? "";
  if (isTlsRefusal(error))
    return "cannot be reached with the requested TLS mode: check sslmode in the URL or PGSSLMODE";
  if (isPasswordMissing(error)) return "demands a password: name it in the URL or PGPASSWORD";
  return ADVICE[state] ?? ADVICE[state.slice(0, 2)];
}

/** The failure as a `StoreError`; one that is a `StoreError` already stays as it is. */
export function unavailable(error: unknown, place: string): StoreError {
  if (error instanceof StoreError) return error;
  const trouble = TROUBLES[sqlState(error) ?? ""] ?? (isConnectionLost(error) ? UNREACHABLE : "it failed");
  const what = trouble === UNREACHABLE ? CANNOT_BE_REACHED : "failed";
  return new StoreError("unavailable", `${place} ${what} (${reasonOf(error)})`, { trouble, cause: error });
}

export function reasonOf(error: unknown): string {
  const { message, code } = error as { message?: string; code?: string };
  return message || code || String(error); // if every address of a name refuses, the message is empty
}

/** The driver notices this itself, so the failure has no SQLSTATE. */
function isPasswordMissing(error: unknown): boolean {
  return /client password must be a/.test((error as { message?: string }).message ?? "");
}

function isTlsRefusal(error: unknown): boolean {
  const { message = "", code = "" } = error as { message?: string; code?: string };
  return (
    /does not support SSL|self-signed|certificate/.test(message) || /^(ERR_TLS|ERR_SSL|CERT_)/.test(code)
  );
}
