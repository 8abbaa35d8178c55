/**
 * What the tests of foreign clients share: the bytes of streams and refusals, a witness that writes down what it
 * hears, and a client that calls a scripted server for as long as a test lasts.
 */
import assert from "node:assert/strict";
import type { Client, Wish, Witness } from "../../chaos/client.ts";
import { hasCurl, newClient } from "../../chaos/clients/index.ts";
import { Random } from "../../src/simulator/random.ts";
import { type Answer, ScriptedServer } from "./scripted-server.ts";

const PATIENCE_MS = 30_000;
export const HEAD =
  "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
export const LAST_CHUNK = "0\r\n\r\n";
export const RETRY = "retry: 3000\n\n";
export const KEEPALIVE = ": keepalive\n\n";
export const END = 'event: end\ndata: {"reason":"no more continuations"}\n\n';

export const KINDS: { kind: Client["kind"]; skip: string | false }[] = [
  { kind: "raw", skip: false },
  { kind: "eventsource", skip: false },
  { kind: "curl", skip: hasCurl() ? false : "curl is not installed" },
];

/** Its first wait is one of 97 ms. */
export function chance(): Random {
  return new Random(2);
}

export function init(cursor: number): string {
  return `event: init\ndata: {"videoId":"scripted-01","chatType":"liveChatRenderer","cursor":${cursor}}\n\n`;
}

export function message(cursor: number | string, said = "zdrówko 👋"): string {
  return `id: ${cursor}\nevent: message\ndata: {"message":"${said}"}\n\n`;
}

export function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** A stream that begins after a cursor and stays open; more may be sent. */
export function opening(cursor: number, ...frames: string[]): string {
  return HEAD + chunk(RETRY + init(cursor) + frames.join(""));
}

export function refusal(status: number, body: string, ...fields: string[]): string {
  const head = [`HTTP/1.1 ${status} No`, `Content-Length: ${Buffer.byteLength(body)}`, ...fields];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** Writes down what it hears, a line for each thing. */
export class Log implements Witness {
  readonly lines: string[] = [];
  readonly data: string[] = [];
  /** Called with each line, when it is heard. */
  onLine: (line: string) => void = () => {};
  #wake = () => {};

  opened({ videoId, chatType, cursor }: Parameters<Witness["opened"]>[0], lastEventId?: number): void {
    assert.deepEqual([videoId, chatType], ["scripted-01", "liveChatRenderer"]);
    this.#add(`opened at ${cursor} from ${lastEventId ?? "nothing"}`);
  }

  message(cursor: number, data: string): void {
    this.data.push(data);
    this.#add(`message ${cursor}`);
  }

  terminal(event: string, reason: string): void {
    this.#add(`${event}: ${reason}`);
  }

  refused(status: number, code: string): void {
    this.#add(`refused: ${status} ${code}`);
  }

  closed(asked: boolean): void {
    this.#add(asked ? "closed by itself" : "closed");
  }

  malformed(what: string): void {
    this.#add(`malformed: ${what}`);
  }

  async until(condition: () => boolean, what: string): Promise<void> {
    const limit = AbortSignal.timeout(PATIENCE_MS);
    limit.addEventListener("abort", () => this.#wake());
    while (!condition()) {
      assert.ok(!limit.aborted, `not in time: ${what}; heard ${JSON.stringify(this.lines.slice(-20))}`);
      await new Promise<void>((resolve) => {
        const others = this.#wake;
        this.#wake = () => {
          others();
          resolve();
        };
      });
    }
  }

  async heard(line: string): Promise<void> {
    await this.until(() => this.lines.includes(line), line);
  }

  #add(line: string): void {
    this.lines.push(line);
    this.onLine(line);
    const wake = this.#wake;
    this.#wake = () => {};
    wake();
  }
}

export interface Scripted {
  log: Log;
  server: ScriptedServer;
  client: Client;
}

/** Plays the answers to a client for as long as the test wants. */
export async function scripted(
  kind: Client["kind"],
  answers: (log: Log) => readonly Answer[],
  play: (scripted: Scripted) => Promise<void>,
  wish: Partial<Wish> = {},
): Promise<void> {
  const log = new Log();
  await using server = await ScriptedServer.start(answers(log));
  const client = newClient(kind, server.url, { videoId: "scripted-01", ...wish }, log, chance());
  try {
    await play({ log, server, client });
  } finally {
    await client.leave();
  }
}

/** Timers may fire a little early. */
export function assertAway(server: ScriptedServer, leastMs: number): void {
  const [first, second] = server.callers.map(({ at }) => at);
  const awayMs = (second ?? Number.NaN) - (first ?? Number.NaN);
  assert.ok(awayMs >= leastMs - 2, `away for ${awayMs} ms`);
}

/** What clients that have left may not leave behind. */
export async function assertNothingLeft(): Promise<void> {
  // A process that has been told of as gone lets its handle go a turn of the loop later, behind the immediates.
  for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  const left = process.getActiveResourcesInfo().filter((name) => /^(ProcessWrap|Timeout)$/.test(name));
  assert.deepEqual(left, [], "processes or timers are left");
}
