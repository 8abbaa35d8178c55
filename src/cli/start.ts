/** Prints the version, for which nothing else is loaded, or runs the command line. */
import { VERSION } from "../base/own-files.ts";
import type { Surroundings } from "./surroundings.ts";

/** Like `run`. */
export async function start(args: readonly string[], surroundings: Surroundings): Promise<number> {
  const [first, ...rest] = args;
  if (rest.length > 0 || (first !== "-v" && first !== "--version"))
    return (await import("./run.ts")).run(args, surroundings);
  surroundings.stdout.write(`${VERSION}\n`);
  return 0;
}
