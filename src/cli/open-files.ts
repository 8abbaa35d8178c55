/** How many connections and viewers a service can have within the limit of open files. */

interface Limited {
  /** The number of processes, among which the viewers are divided. */
  workers: number;
  rooms: { maxViewers: number };
}

/**
 * What a process keeps of its open files for the store, upstream connections, the log and the runtime: half
 * of them, within these bounds.
 */
const RESERVED_FILES = { least: 64, most: 200 };
/** The part of the connections that viewers leave to other requests. */
const OTHER_REQUESTS = 0.1;

/** What the limit of open files allows: `files` and `maxConnections` are those of each process. */
export function openFilesFor({ workers, rooms }: Limited) {
  const files = openFileLimit();
  const maxConnections = connectionsWithin(files);
  const wanted = rooms.maxViewers;
  const viewers = Math.min(wanted, workers * Math.ceil(maxConnections * (1 - OTHER_REQUESTS)));
  return { files, maxConnections, connections: workers * maxConnections, wanted, viewers };
}

/** The number of connections that a process with this limit of open files may have. */
export function connectionsWithin(files: number): number {
  const { least, most } = RESERVED_FILES;
  return Math.max(1, files - Math.min(most, Math.max(least, Math.floor(files / 2))));
}

/** The limit of each process; Infinity if the system reports none. */
function openFileLimit(): number {
  if (!process.report) return Number.POSITIVE_INFINITY;
  Object.assign(process.report, { excludeNetwork: true }); // listing the network interfaces can take seconds
  const report: { userLimits?: { open_files?: { soft?: unknown } } } = process.report.getReport();
  const soft = Number(report.userLimits?.open_files?.soft);
  return Number.isFinite(soft) && soft > 0 ? soft : Number.POSITIVE_INFINITY;
}
