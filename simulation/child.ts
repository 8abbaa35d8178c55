/** A process that plays one seed after another for the one that started it. */
import { type Outcome, type RunOptions, run } from "./run.ts";

/** What becomes of a seed, as it is sent to the parent: lines are only of interest where something was wrong. */
export interface Report extends RunOptions, Pick<Outcome, "instances" | "violation" | "last"> {
  instances: number;
  counts: [string, number][];
}

process.on("message", async (options: RunOptions) => {
  const { instances, violation, last, counts } = await run(options);
  process.send?.({ ...options, instances, violation, last, counts: [...counts] } satisfies Report);
});
process.on("disconnect", () => process.exit());
