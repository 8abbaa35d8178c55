/** The command-line flags of the driver's programs. */
import { type ParseArgsConfig, parseArgs } from "node:util";

/**
 * Like Node's `parseArgs`, but invalid arguments end the program with one line, and `--help` lists its flags.
 */
export function commandLine<T extends ParseArgsConfig>(config: T): ReturnType<typeof parseArgs<T>> {
  if (process.argv.includes("--help")) {
    const flags = Object.entries(config.options ?? {}).map(([name, { type, default: value = "none" }]) =>
      type === "boolean" ? `  --${name}\n` : `  --${name} (default ${value})\n`,
    );
    process.stdout.write(`Flags:\n${flags.join("")}`);
    process.exit(0);
  }
  try {
    return parseArgs(config);
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n`);
    process.exit(2);
  }
}

/** A flag's number. An invalid or too small one ends the program with one line. */
export function numberOf(flag: string, text: string, least: number): number {
  const number = Number(text);
  if (Number.isFinite(number) && number >= least) return number;
  process.stderr.write(`--${flag}: must be a number, ${least} or more, not "${text}"\n`);
  process.exit(2);
}
