/**
 * The mutants that the simulation must notice, each within a minute.
 *
 *     npm run simulate:mutants [-- --only NAME,NAME] [--draw N] [--seed N]
 */
import { join } from "node:path";
import { playMutants } from "../mutants/play.ts";

playMutants({
  table: new URL("../mutants/simulation.json", import.meta.url),
  args: (copy, mutant, seed) => [
    join(copy, "simulation/main.ts"),
    ...["--seeds", "24", "--from", String(mutant?.from ?? seed), "--until-failure"],
    ...(mutant?.instances
      ? ["--instances", String(mutant.instances), "--minutes", "3", "--rooms", "12"]
      : []),
  ],
  limitMs: 60_000,
});
