#!/usr/bin/env node
/** Starts the command line: from its source in a checkout, from `dist/` in the package. */
import "./check-node.js";
import { existsSync } from "node:fs";

const source = new URL("../src/cli/main.ts", import.meta.url);
await import(existsSync(source) ? source : new URL("../dist/cli/main.js", import.meta.url));
