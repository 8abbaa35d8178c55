/**
 * A viewer's line on `curl`: one process, which reads HTTP in its own way. It stalls by being stopped as a process,
 * and is over when the process is gone.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { CurlOutput } from "./curl-output.ts";
import type { Reading } from "./reading.ts";
import type { Call, Line } from "./returning-client.ts";

/** A stopped process cannot read a little: it is stopped and let go in turns. */
const TURN_MS = 20;

/**
 * Exit codes of a connection that broke or never came about: 7 refused, 18 cut in the midst of the body, 52 nothing
 * came, 55 not sent. 56, not received, is also that of a body whose form is wrong; then the words are others.
 */
const BROKEN = /^curl: \((7|18|52|55)\)|^curl: \(56\) Recv failure/;

/** Whether there is a `curl` on this machine. */
export function hasCurl(): boolean {
  return spawnSync("curl", ["--version"]).status === 0;
}

export class CurlLine implements Line {
  readonly #child: ChildProcess;
  readonly #call: Call;
  readonly #output: CurlOutput;
  readonly #reading: Reading;
  #complaint = "";
  /** The end of a stall or trickle. */
  #recovery: NodeJS.Timeout | undefined;
  #turns: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(call: Call) {
    this.#call = call;
    const lastEventId = call.lastEventId();
    const reading = call.begin(lastEventId);
    this.#reading = reading;
    this.#output = new CurlOutput(reading);
    const resume = lastEventId === undefined ? [] : ["-H", `Last-Event-ID: ${lastEventId}`];
    const told = ["-H", "Accept: text/event-stream", ...resume, call.url.href];
    // -q: not what the user's own curlrc says
    this.#child = spawn("curl", ["-q", "-sS", "-N", "-i", "--noproxy", "*", ...told], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout?.on("data", (bytes: Buffer) => this.#output.feed(bytes));
    this.#child.stderr?.on("data", (bytes: Buffer) => {
      this.#complaint += bytes;
    });
    this.#child.once("error", () => {
      if (this.#child.pid === undefined) this.#finish(); // it could not be started: nothing else will be told
    });
    this.#child.once("close", () => this.#finish());
  }

  stall(ms: number): void {
    this.#slowFor(ms);
    this.#child.kill("SIGSTOP");
  }

  trickle(ms: number): void {
    this.#slowFor(ms);
    let isStopped = false;
    this.#turns = setInterval(() => {
      isStopped = !isStopped;
      this.#child.kill(isStopped ? "SIGSTOP" : "SIGCONT");
    }, TURN_MS);
  }

  cut(): void {
    this.#child.kill("SIGKILL");
  }

  #slowFor(ms: number): void {
    this.#stopTimers();
    this.#recovery = setTimeout(() => {
      this.#stopTimers();
      this.#child.kill("SIGCONT");
    }, ms);
  }

  #stopTimers(): void {
    clearTimeout(this.#recovery);
    clearInterval(this.#turns);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopTimers();
    this.#output.end();
    if (this.#complaint && !BROKEN.test(this.#complaint)) this.#reading.malformed(this.#complaint.trim());
    this.#call.over();
  }
}
