/**
 * The mutants that a run of the cluster must notice, or a test, each within a minute.
 *
 *     npm run chaos:cluster:mutants [-- --only NAME,NAME] [--draw N] [--seed N]
 */
import { fileURLToPath } from "node:url";
import { playMutants } from "../../mutants/play.ts";

const LIMIT_MINUTES = 0.7;
const VIEWERS = 24;
/** Starting, trials, settling and judging come on top of the time of a run. */
const SLACK_MS = 200_000;

playMutants({
  table: new URL("../../mutants/cluster.json", import.meta.url),
  args: (copy, _mutant, seed) => [
    fileURLToPath(new URL("main.ts", import.meta.url)),
    ...["--seed", seed, "--minutes", String(LIMIT_MINUTES), "--viewers", String(VIEWERS)],
    ...["--project", copy],
  ],
  limitMs: LIMIT_MINUTES * 60_000 + SLACK_MS,
});
