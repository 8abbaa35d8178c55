/**
 * The figures that must not get worse, by bench: less is better in all of them. `against.ts --limit` fails if
 * one does, and `.ci/long` plays each of these benches so.
 */
export const KEPT: Record<string, readonly string[]> = {
  storm: ["storm 1 ms", "storm 1 cpuMicros", "storm 1 standstillMs"],
  "fan-out": ["fan-out 1 fanOutMicros", "fan-out 2 fanOutMicros"],
  idle: ["idle 1 kbPerViewer", "idle 1 residentMb"],
  rooms: ["rooms 1 cpuMsPerPoll", "rooms 1 kbPerRoom"],
  latency: ["latency 1 p50Ms", "latency 2 p50Ms", "latency 3 p50Ms"],
  store: ["store 1 appendP50Ms", "store 2 appendP50Ms", "store 3 appendP50Ms"],
  reading: ["reading 1 microsAnAnswer", "reading 2 microsAnAnswer"],
  start: ["start 1 readyMs", "start 1 residentMb", "start 2 readyMs", "start 2 residentMb"],
};

/**
 * The kept figures of a bench that are worse in every turn. `ratios`: of this checkout to the other
 * revision, turn by turn, by figure. `limit`: the highest ratio that is not worse. Throws if the bench keeps
 * no figures, or has not given one of them in both.
 */
export function worseFigures(
  bench: string,
  ratios: ReadonlyMap<string, readonly number[]>,
  limit: number,
): string[] {
  const kept = KEPT[bench];
  if (!kept) throw new Error(`${bench} keeps no figures: give --limit with ${Object.keys(KEPT).join(", ")}`);
  return kept.filter((figure) => {
    const turns = ratios.get(figure);
    if (!turns?.length) throw new Error(`${bench} gave no "${figure}" in both revisions`);
    return turns.every((ratio) => ratio > limit);
  });
}
