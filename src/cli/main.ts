#!/usr/bin/env node
/** The command line: `serve` (the default) and `demo`. Whatever stops a start is told in one line. */
import { demo } from "./demo.ts";
import { help } from "./help.ts";
import { serve } from "./serve.ts";

const COMMANDS: Record<string, (args: readonly string[]) => Promise<void>> = { serve, demo };

const [first = "serve", ...rest] = process.argv.slice(2);
const isCommand = Object.hasOwn(COMMANDS, first);
const args = isCommand ? rest : [first, ...rest].filter((arg) => arg !== "serve");
const command = COMMANDS[isCommand ? first : "serve"] ?? serve;

if ([first, ...rest].some((arg) => arg === "--help" || arg === "-h")) {
  process.stdout.write(help());
} else {
  try {
    await command(args);
  } catch (error) {
    process.stderr.write(`livechat-relay: ${error instanceof Error ? error.message : error}\n`);
    process.exitCode = 1;
  }
}
