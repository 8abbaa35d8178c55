/** Prints the version, for which little else is loaded, or runs the command line. */
import { versionLine } from "../base/commit.ts";
import type { ProcessIo } from "./process-io.ts";

/** Like `run`. */
export async function start(args: readonly string[], io: ProcessIo): Promise<number> {
  const [first, ...rest] = args;
  if (rest.length === 0 && (first === "-v" || first === "--version")) {
    const { print } = await import("./output.ts"); // a service at rest does not load it
    try {
      await print(versionLine(), io.stdout);
      return 0;
    } catch {
      // `run` fails in the same way, and reports it.
    }
  }
  return (await import("./run.ts")).run(args, io);
}
