/** The flags of these programs. */
import { type ParseArgsConfig, parseArgs } from "node:util";

/** As `parseArgs` of Node; what it cannot read ends the program with one line. */
export function commandLine<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(2);
  }
}
