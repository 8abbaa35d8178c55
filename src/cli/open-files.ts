/** How many viewers the system's limit of open files allows. */

/** Kept for the store, upstream connections, the listener and the runtime itself. */
const RESERVED_FILES = 200;

/** Infinite where the system names no limit. */
export function possibleViewers(): number {
  return Math.max(1, openFileLimit() - RESERVED_FILES);
}

function openFileLimit(): number {
  if (!process.report) return Number.POSITIVE_INFINITY;
  Object.assign(process.report, { excludeNetwork: true }); // listing interfaces can take seconds
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft) && soft > 0 ? soft : Number.POSITIVE_INFINITY;
}
