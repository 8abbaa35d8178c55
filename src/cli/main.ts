/** The program's entry point: runs the command line in this process. */
import "#check-node";
import { start } from "./start.ts";

/** The interval at which a command that npx has started looks for its parent, in milliseconds. */
const CHECK_MS = 500;

// npx starts a command in a shell. A signal to npx ends this shell, which does not forward it.
if (process.env.npm_lifecycle_event === "npx") {
  const { ppid } = process;
  const timer = setInterval(() => {
    if (process.ppid === ppid) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, CHECK_MS).unref();
}

process.exitCode = await start(process.argv.slice(2), process);
