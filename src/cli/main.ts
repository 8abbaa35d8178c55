/** The program's entry point: runs the command line in this process. */
import "#check-node";
import { run } from "./run.ts";

process.exitCode = await run(process.argv.slice(2), process);
