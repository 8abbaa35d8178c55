/**
 * The mutants that a run of chaos must notice, each within two minutes.
 *
 *     npm run chaos:mutants [-- --only NAME,NAME] [--draw N] [--seed N]
 */
import { fileURLToPath } from "node:url";
import { playMutants } from "../mutants/play.ts";

const LIMIT_MINUTES = 2;
const VIEWERS = 60;
/** Starting, settling and judging come on top of the time of a run. */
const SLACK_MS = 90_000;

playMutants({
  table: new URL("../mutants/chaos.json", import.meta.url),
  args: (copy, mutant, seed) => [
    fileURLToPath(new URL("main.ts", import.meta.url)),
    ...["--seed", seed, "--minutes", String(LIMIT_MINUTES), "--viewers", String(VIEWERS)],
    ...["--project", copy],
    ...(mutant?.events ? ["--events", mutant.events] : []),
  ],
  limitMs: LIMIT_MINUTES * 60_000 + SLACK_MS,
});
