/** How many viewers the system's limit of open files allows. */
import type { Logger } from "../telemetry/log.ts";

/** Kept for the store, upstream connections, the listener and the runtime itself. */
const RESERVED_FILES = 200;

/** The wanted limit of viewers, or what is possible, with a warning. */
export function lowerViewerLimit(wanted: number, log: Logger): number {
  const openFiles = openFileLimit();
  const possible = Math.max(1, openFiles - RESERVED_FILES);
  if (wanted <= possible) return wanted;
  log.warn(
    { wanted, possible, openFiles },
    "RELAY_MAX_VIEWERS lowered: raise the limit of open files (ulimit -n) to serve more viewers",
  );
  return possible;
}

function openFileLimit(): number {
  if (!process.report) return Number.POSITIVE_INFINITY;
  Object.assign(process.report, { excludeNetwork: true }); // listing interfaces can take seconds
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft) && soft > 0 ? soft : Number.POSITIVE_INFINITY;
}
