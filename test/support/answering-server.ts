/**
 * A server that answers each call as a test has written down: the first call with the first answer, and so
 * on; all further ones with the last. It keeps what it was asked, and knows how many answers are still open.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { Changes } from "./viewers.ts";

interface Call {
  path: string;
  lastEventId: string | undefined;
  headers: IncomingMessage["headers"];
  body: Record<string, unknown>;
  /** Milliseconds on a clock that never jumps. */
  at: number;
}

export type Answer = (response: ServerResponse, call: Call) => unknown;

export class AnsweringServer implements AsyncDisposable {
  readonly calls: Call[] = [];
  /** Answers that are neither finished nor cut off. */
  open = 0;
  readonly changes = new Changes();
  readonly #answers: readonly Answer[];
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(...answers: Answer[]): Promise<AnsweringServer> {
    const server = new AnsweringServer(answers);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  private constructor(answers: readonly Answer[]) {
    this.#answers = answers;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The waits between the calls, in milliseconds. */
  get waits(): number[] {
    return this.calls.slice(1).map(({ at }, index) => at - (this.calls[index]?.at ?? 0));
  }

  untilClosed(): Promise<void> {
    return this.changes.until(() => this.open === 0, "the end of every connection");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { url: path = "", headers } = request;
    const at = performance.now();
    this.open += 1;
    response.on("close", () => {
      this.open -= 1;
      this.changes.announce();
    });
    const body = await text(request);
    const lastEventId = headers["last-event-id"]?.toString();
    const call = { path, lastEventId, headers, body: body === "" ? {} : JSON.parse(body), at };
    this.calls.push(call);
    await (this.#answers[this.calls.length - 1] ?? this.#answers.at(-1))?.(response, call);
    this.changes.announce();
  }
}

/** Opens a stream, sends the frames and leaves it open. */
export function streams(...frames: string[]): Answer {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    response.write(frames.join(""));
  };
}

/** Opens a stream, sends the frames and cuts it. */
export function cuts(...frames: string[]): Answer {
  return (response, call) => {
    streams(...frames)(response, call);
    setImmediate(() => setImmediate(() => response.socket?.destroy()));
  };
}

/** With a text for the page of a proxy, or with an object for JSON of the service. */
export function refuses(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  const [type, text] =
    typeof body === "string"
      ? ["text/html", body]
      : ["application/json; charset=utf-8", JSON.stringify(body)];
  return (response) => response.writeHead(status, { "content-type": type, ...headers }).end(text);
}

/** The page of `/v1/messages` that holds one message; its id is that of `message`. */
export const holds = (cursor: number, id = `${cursor}`): Answer =>
  refuses(200, { base: 0, floor: 0, head: cursor, messages: [{ cursor, id }], prev: null });

export const init = (cursor: number): string =>
  `event: init\ndata: ${JSON.stringify({ videoId: "v", chatType: "liveChatRenderer", cursor })}\n\n`;

/** A message with this cursor, which is its id, too. */
export const message = (cursor: number, more: object = {}): string =>
  `id: ${cursor}\nevent: message\ndata: ${JSON.stringify({ type: "chat", id: `${cursor}`, message: "x", ...more })}\n\n`;

export const messages = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, index) => message(from + index)).join("");

export const frame = (event: string, data: object, id?: string): string =>
  `${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;

/** The beginning of one of several chats. */
export const began = (videoId: string, cursor: number): string =>
  frame("init", { videoId, chatType: "liveChatRenderer", cursor });

/** Messages of a channel's video, with the channel's ids. */
export const inChannel = (videoId: string, from: number, to = from, more: object = {}): string =>
  Array.from({ length: to - from + 1 }, (_, index) => `${videoId}.${from + index}`)
    .map((id) => frame("message", { videoId, type: "chat", id: `said ${id}`, message: "x", ...more }, id))
    .join("");

/** The cursor alone: the messages up to it were left out. */
export const id = (cursor: number): string => `id: ${cursor}\n\n`;

export const END = 'event: end\ndata: {"reason":"no more continuations"}\n\n';
