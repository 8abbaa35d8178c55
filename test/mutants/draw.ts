/**
 * The few rows that CI plays: of the files that a change touches first, another choice for each commit, with
 * one at least that runs real processes.
 */
import { createHash } from "node:crypto";
import type { Memories } from "./memory.ts";
import type { Row } from "./tables.ts";

/** How long the play of a drawn row may take, in seconds, as it was recorded. */
const MAX_SECONDS = 60;

/**
 * Draws `count` of the rows that are played in less than a minute, decided by the commit: first of those
 * whose file is one of the changed `files`. If none is of chaos or the cluster, the last one gives way to one
 * of those.
 */
export function draw(
  rows: readonly Row[],
  memories: Memories,
  count: number,
  commit: string,
  files: readonly string[] = [],
): Row[] {
  const ticket = ({ key, file }: Row) =>
    `${files.includes(file) ? 0 : 1} ${createHash("sha256").update(`${commit}${key}`).digest("hex")}`;
  const mixed = rows
    .filter(({ key }) => (memories[key]?.caught.seconds ?? MAX_SECONDS) < MAX_SECONDS)
    .sort((one, other) => (ticket(one) < ticket(other) ? -1 : 1));
  const drawn = mixed.slice(0, count);
  if (drawn.some(isLive)) return drawn;
  const live = mixed.find(isLive);
  return live ? [...drawn.slice(0, -1), live] : drawn;
}

/** Whether its table runs the service itself, not its parts in virtual time. */
function isLive({ key }: Row): boolean {
  return !key.startsWith("simulation/");
}
