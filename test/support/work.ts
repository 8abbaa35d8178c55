/** The work that something takes, which does not depend on what else the machine does. */

/** In microseconds of this thread's CPU time. */
export function workOf(act: () => unknown): number {
  const before = process.threadCpuUsage();
  act();
  const { user, system } = process.threadCpuUsage(before);
  return user + system;
}
