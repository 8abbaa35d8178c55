/**
 * Reports to systemd by its protocol (sd_notify(3)): that the service is ready, that it stops, and, to its
 * watchdog, that the event loop turns. Node.js has no datagram sockets of the system, so a program of
 * systemd sends, in a shell that is started once: each start of a program from here would stop the event
 * loop, the longer the more memory the process has. The shell ends with this process, and takes no signals,
 * which systemd sends to all processes of a service.
 */
import { spawn } from "node:child_process";

type State = "READY=1" | "STOPPING=1" | "WATCHDOG=1";

const SENDS = `trap '' HUP INT TERM; while read -r state; do systemd-notify "$state"; done`;
const USUAL_PATH = "/usr/bin:/bin";
/** systemd kills a service that has not reported for as long as its unit says; it advises half of that. */
const MARGIN = 0.5;

/**
 * `env`: the variables that systemd sets. `onTrouble` hears why systemd hears nothing, in the words of the
 * system.
 */
export function systemdOf(env: NodeJS.ProcessEnv, onTrouble: (why: string) => void) {
  const { NOTIFY_SOCKET, PATH = USUAL_PATH, WATCHDOG_USEC, WATCHDOG_PID } = env;
  const shell = spawn("/bin/sh", ["-c", SENDS], {
    env: { NOTIFY_SOCKET, PATH },
    stdio: ["pipe", "ignore", "pipe"],
  });
  const { stdin, stderr } = shell;
  for (const part of [shell, stdin]) part.on("error", (error) => onTrouble(error.message));
  stderr.setEncoding("utf8").on("data", (words: string) => onTrouble(words.trim()));
  // Neither keeps the process alive.
  for (const part of [shell, stdin, stderr] as { unref?(): void }[]) part.unref?.();
  const report = (state: State) => void stdin.write(`${state}\n`);
  const isWatched = WATCHDOG_PID === undefined || Number(WATCHDOG_PID) === process.pid;
  const everyMs = isWatched ? (Number(WATCHDOG_USEC ?? 0) / 1000) * MARGIN : 0;
  return {
    ready() {
      report("READY=1");
      if (everyMs > 0) setInterval(() => report("WATCHDOG=1"), everyMs).unref();
    },
    stopping: () => report("STOPPING=1"),
  };
}
