/**
 * The entry point of the one executable file: runs the command line, or a worker, which is another
 * process of the same file.
 */
import { start } from "./start.ts";
import { WORKER_COMMAND } from "./workers/worker-command.ts";

// The file is built without the debugger that Node.js opens at this signal, which would then end the process.
process.on("SIGUSR1", () => {});

/**
 * Starts the service for a double click on Windows, where a start without arguments in a terminal looks the
 * same. The window would close with the process, so a failure waits until it was read.
 */
async function startByClick(): Promise<number> {
  const code = await start(["serve", "--open"], process);
  if (code !== 0)
    (await import("node:child_process")).spawnSync("cmd", ["/c", "pause"], { stdio: "inherit" });
  return code;
}

const args = process.argv.slice(2);
const isClick = process.platform === "win32" && args.length === 0 && process.stdout.isTTY;
if (process.send && args[0] === WORKER_COMMAND) void import("./workers/worker.ts");
else
  void (isClick ? startByClick() : start(args, process)).then((code) => {
    process.exitCode = code;
  });
