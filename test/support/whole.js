/**
 * Loaded before the files of a process: the process fails if it ends before their last test, and if it does not end
 * after it. A failed test may leave something running, such as a client that reconnects for ever; the run must not
 * wait for that.
 */
import { after } from "node:test";

/** How long a process may go on after its last test. */
const REST_MS = 60_000;

let isOver = false;
after(() => {
  isOver = true;
  setTimeout(() => {
    const left = process.getActiveResourcesInfo().join(", ");
    process.stderr.write(`the process goes on ${REST_MS / 1000} s after its last test; it has ${left}\n`);
    process.exit(1);
  }, REST_MS).unref();
});
process.once("exit", () => {
  if (isOver) return;
  process.stderr.write("the process ended before its last test\n");
  process.exitCode = 1;
});
