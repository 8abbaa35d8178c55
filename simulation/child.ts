/** A process that plays one seed after another for the one that started it. */
import { type RunOptions, run } from "./run.ts";

/** What becomes of a seed, as it is sent to the parent: lines are only of interest where something was wrong. */
export type Report = Pick<Awaited<ReturnType<typeof run>>, "seed" | "instances" | "violation" | "last"> & {
  counts: [string, number][];
};

process.on("message", async (options: RunOptions) => {
  const { seed, instances, violation, last, counts } = await run(options);
  process.send?.({ seed, instances, violation, last, counts: [...counts] } satisfies Report);
});
process.on("disconnect", () => process.exit());
