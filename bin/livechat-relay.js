#!/usr/bin/env node
/** Starts the command line: from its source in a checkout, from `dist/` in the package. */
import "./check-node.js";
import { existsSync } from "node:fs";
import module from "node:module";
import { dirname } from "node:path";
import { setFlagsFromString } from "node:v8";
import { ENGINE_OPTIONS } from "./engine-options.js";

// Before anything else is loaded: Node.js would open its debugger at this signal, to every user of the machine.
process.on("SIGUSR1", () => {});
for (const option of ENGINE_OPTIONS) setFlagsFromString(option);
// In the system's folder for temporary files: a start takes half the time and less memory where it is not the first.
// Threads and processes that this one starts find it in the environment.
const { directory } = module.enableCompileCache();
if (directory) process.env.NODE_COMPILE_CACHE ??= dirname(directory);
const source = new URL("../src/cli/main.ts", import.meta.url);
try {
  await import(existsSync(source) ? source : new URL("../dist/main.js", import.meta.url));
} catch (error) {
  if (error.code !== "ERR_MODULE_NOT_FOUND") throw error;
  const [what] = error.message.split(" imported from ");
  process.stderr.write(`livechat-relay: ${what}: install it again, for example by npm ci\n`);
  process.exitCode = 1;
}
