/**
 * What the tests of chaos's clients share: the bytes of streams and refusals, an observer that writes down what it
 * hears, and a client that calls a scripted server for as long as a test lasts.
 */
import assert from "node:assert/strict";
import { Client, type ClientKind } from "../../harness/clients/client.ts";
import { hasCurl } from "../../harness/clients/curl-connection.ts";
import type { ClientOptions, Observer } from "../../harness/clients/observer.ts";
import { Random } from "../../src/simulator/random.ts";
import { type Answer, ScriptedServer } from "./scripted-server.ts";
import { Changes } from "./viewers.ts";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
export const LAST_CHUNK = "0\r\n\r\n";
export const RETRY = "retry: 3000\n\n";
export const END = 'event: end\ndata: {"reason":"no more continuations"}\n\n';
export const OPENED = "opened at 100 from nothing";

export const KINDS: { kind: ClientKind; skip: string | false }[] = [
  { kind: "http", skip: false },
  { kind: "eventsource", skip: false },
  { kind: "curl", skip: hasCurl() ? false : "curl is not installed" },
];

export function init(cursor: number): string {
  return `event: init\ndata: {"videoId":"scripted-01","chatType":"liveChatRenderer","cursor":${cursor}}\n\n`;
}

export function message(cursor: number | string, said = "zdrówko 👋"): string {
  return `id: ${cursor}\nevent: message\ndata: {"message":"${said}"}\n\n`;
}

export function chunk(text: string): string {
  return `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
}

/** A stream of these bytes that stays open; more may be sent. */
export function stream(...frames: string[]): string {
  return HEAD + chunk(frames.join(""));
}

/** A stream that begins after a cursor and stays open. */
export function opening(cursor: number, ...frames: string[]): string {
  return stream(RETRY, init(cursor), ...frames);
}

export function refusal(status: number, body: string, ...fields: string[]): string {
  const head = [`HTTP/1.1 ${status} No`, `Content-Length: ${Buffer.byteLength(body)}`, ...fields];
  return `${head.join("\r\n")}\r\n\r\n${body}`;
}

/** Writes down what it hears, a line for each thing. */
export class Log implements Observer {
  readonly lines: string[] = [];
  readonly #changes = new Changes();

  opened({ videoId, chatType, cursor }: Parameters<Observer["opened"]>[0], lastEventId?: number): void {
    assert.deepEqual([videoId, chatType], ["scripted-01", "liveChatRenderer"]);
    this.#add(`opened at ${cursor} from ${lastEventId ?? "nothing"}`);
  }

  message(cursor: number): void {
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

  /** Resolves once so many lines were heard. */
  length(lines: number): Promise<void> {
    return this.#changes.until(() => this.lines.length >= lines, `${lines} lines`);
  }

  heard(line: string): Promise<void> {
    return this.#changes.until(() => this.lines.includes(line), `${line} among ${this.lines.join(", ")}`);
  }

  #add(line: string): void {
    this.lines.push(line);
    this.#changes.announce();
  }
}

export interface Scripted {
  log: Log;
  server: ScriptedServer;
  client: Client;
}

/** Plays the answers to a client for as long as the test wants; a text is sent as it is. */
export async function scripted(
  kind: ClientKind,
  answers: readonly (string | ((log: Log) => Answer))[],
  play: (scripted: Scripted) => Promise<void>,
  options: Partial<ClientOptions> = {},
): Promise<void> {
  const log = new Log();
  const script = answers.map((answer): Answer => {
    return typeof answer === "string" ? (caller) => caller.send(answer) : answer(log);
  });
  await using server = await ScriptedServer.start(script);
  const asked = { videoId: "scripted-01", ...options };
  const client = new Client(kind, () => server.url, asked, log, new Random(2)); // its first wait is one of 97 ms
  try {
    await play({ log, server, client });
  } finally {
    await client.leave();
  }
}

/** Timers may fire a little early. */
export function assertAway(server: ScriptedServer, minMs: number): void {
  const [first, second] = server.callers.map(({ at }) => at);
  const awayMs = (second ?? Number.NaN) - (first ?? Number.NaN);
  assert.ok(awayMs >= minMs - 2, `away for ${awayMs} ms`);
}

/** What clients that have left may not leave behind. */
export async function assertNothingLeft(): Promise<void> {
  // The handle of a process that is gone goes a turn of the loop later, behind the immediates.
  for (let turns = 0; turns < 2; turns += 1) await new Promise((resolve) => setImmediate(resolve));
  const left = process.getActiveResourcesInfo().filter((name) => /^(ProcessWrap|Timeout)$/.test(name));
  assert.deepEqual(left, [], "processes or timers are left");
}
