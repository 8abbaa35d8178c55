/** Loaded before files that share a process: if it ends before their last test, it has failed. */
import { after } from "node:test";

let isOver = false;
after(() => {
  isOver = true;
});
process.once("exit", () => {
  if (isOver) return;
  process.stderr.write("the process ended before its last test\n");
  process.exitCode = 1;
});
