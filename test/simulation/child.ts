/** A process that plays the seeds that its parent sends, one after another. */
import { type Outcome, type RunOptions, run } from "./run.ts";

/** The report of a seed for the parent; lines are included only after a violation. */
export interface Report extends RunOptions, Pick<Outcome, "violation" | "last"> {
  instances: number;
  edges: number;
  tiers: number;
  counts: [string, number][];
}

process.on("message", async (options: RunOptions) => {
  const { instances, edges, tiers, violation, last, counts } = await run(options);
  process.send?.({
    ...options,
    instances,
    edges,
    tiers,
    violation,
    last,
    counts: [...counts],
  } satisfies Report);
});
process.on("disconnect", () => process.exit());
