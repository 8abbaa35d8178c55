/**
 * The entry point of the one executable file: runs the command line, or a worker, which is another
 * process of the same file.
 */
import { start } from "./start.ts";
import { WORKER_COMMAND } from "./workers/worker-command.ts";

// The file is built without the debugger that Node.js opens at this signal, which would then end the process.
process.on("SIGUSR1", () => {});

if (process.send && process.argv[2] === WORKER_COMMAND) void import("./workers/worker.ts");
else
  void start(process.argv.slice(2), process).then((code) => {
    process.exitCode = code;
  });
