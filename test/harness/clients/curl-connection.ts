/**
 * A client's connection through `curl`: one process, whose HTTP parser is strict. Its output is the response
 * head as received, then the body without its transfer coding. To stall, the process is stopped; the
 * connection is over when the process ends.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import type { CheckedStream } from "./checked-stream.ts";
import type { Connection, ConnectionContext } from "./connection.ts";
import { frameParser, isStream } from "./sse.ts";

/**
 * A stopped process cannot read a little, so to trickle it is stopped and continued in turns of this length.
 */
const TURN_MS = 20;
const HEAD_END = "\r\n\r\n";

/**
 * curl's exit codes for a broken or failed connection: 7 refused, 18 cut within the body, 52 empty, 55 not
 * sent. 56, not received, also means a malformed body, but with another text.
 */
const BROKEN = /^curl: \((7|18|52|55)\)|^curl: \(56\) Recv failure/;

/** Whether this machine has `curl`. */
export function hasCurl(): boolean {
  return spawnSync("curl", ["--version"]).status === 0;
}

export class CurlConnection implements Connection {
  readonly #child: ChildProcess;
  readonly #context: ConnectionContext;
  readonly #stream: CheckedStream;
  readonly #parser: ReturnType<typeof frameParser>;
  /** The received text of the head, and later of a body that is not a stream. */
  #text = "";
  #part: "head" | "stream" | "body" = "head";
  #complaint = "";
  /** Ends a stall or trickle. */
  #recovery: NodeJS.Timeout | undefined;
  #turns: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(context: ConnectionContext) {
    this.#context = context;
    const lastEventId = context.lastEventId();
    this.#stream = context.begin(lastEventId);
    this.#parser = frameParser(this.#stream);
    const resume = lastEventId === undefined ? [] : ["-H", `Last-Event-ID: ${lastEventId}`];
    const request = ["-H", "Accept: text/event-stream", ...resume, context.url.href];
    // -q: ignores the user's curlrc
    this.#child = spawn("curl", ["-q", "-sS", "-N", "-i", "--noproxy", "*", ...request], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => this.#read(text));
    this.#child.stderr?.on("data", (bytes: Buffer) => {
      this.#complaint += bytes;
    });
    this.#child.once("error", () => {
      if (this.#child.pid === undefined) this.#finish(); // it did not start, so no other event follows
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

  #read(text: string): void {
    if (this.#part === "stream") this.#parser.feed(text);
    else this.#text += text;
    if (this.#part === "head") this.#readHead();
  }

  #readHead(): void {
    const end = this.#text.indexOf(HEAD_END);
    if (end === -1) return;
    const [first = "", ...lines] = this.#text.slice(0, end).split("\r\n");
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |$)/.exec(first)?.[1]);
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    this.#text = this.#text.slice(end + HEAD_END.length);
    this.#part = isStream(status, headers) ? "stream" : "body";
    this.#stream.head(status, headers);
    if (this.#part === "stream") this.#parser.feed(this.#text);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#stopTimers();
    if (this.#part === "body") this.#stream.body(this.#text);
    if (this.#complaint && !BROKEN.test(this.#complaint)) this.#stream.malformed(this.#complaint.trim());
    this.#context.over();
  }
}
