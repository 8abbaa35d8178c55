#!/usr/bin/env node
/** The command line: `serve` (the default) and `demo`. Whatever stops a start is told in one line. */
import { demo } from "./demo.ts";
import { help } from "./help.ts";
import { serve } from "./serve.ts";

const COMMANDS = new Map([
  ["serve", serve],
  ["demo", demo],
]);

const args = process.argv.slice(2);
const command = COMMANDS.get(args[0] ?? "");

if (args.includes("--help") || args.includes("-h")) {
  process.stdout.write(help());
} else {
  try {
    await (command ? command(args.slice(1)) : serve(args));
  } catch (error) {
    process.stderr.write(`livechat-relay: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
