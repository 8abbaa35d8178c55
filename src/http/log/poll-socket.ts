/**
 * A long poll that waits on its bare socket: Node's request, response and parser are released, as those of a
 * stream are. After the answer, the server gets the socket back for the client's next request.
 *
 * If the client does not read the answer, its connection is closed by its next request, or once nothing was
 * taken for the time of an idle connection. So at most one unread answer is held. Test: "a connection that
 * was given back is closed by a request before its answer is taken".
 */
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply } from "fastify";
import type { Clock } from "../../base/clock.ts";
import { isPrivate, privately } from "../access/private-answers.ts";
import { noteWhileWaiting } from "../connections/client-gone.ts";
import { endSoon, giveSocketBack, takeUnanswered } from "../connections/taken-socket.ts";
import type { LogAnswer } from "./log-answer.ts";
import type { PollSink } from "./poll-sink.ts";

/** The time between two notes to a client that has closed its writing side. */
const NOTE_MS = 3000;

const pollOf = Symbol("poll");

interface PollSocket extends Socket {
  [pollOf]?: WaitingPoll;
}

/** The socket events of a waiting poll. All sockets share these functions. */
const LISTENERS: Record<string, (this: PollSocket) => void> = {
  /** The client asks on before it has its answer: it has to ask again on another connection. */
  data() {
    this.destroy();
  },
  end() {
    this[pollOf]?.halfClosed();
  },
  error() {}, // `close` follows
  close() {
    this[pollOf]?.gone();
  },
};

/** What polls share whose answers have the same headers. */
interface WaitingParts {
  server: Server;
  clock: Pick<Clock, "now">;
  /** The headers that every answer has, as lines. */
  head: string;
  /** Whether no shared cache may keep the answer. */
  isOwn: boolean;
}

/** The polls that wait on their sockets. Most have the same headers. */
export class WaitingPolls {
  readonly #server: Server;
  readonly #clock: Pick<Clock, "now">;
  readonly #parts = new Map<string, WaitingParts>();

  constructor(server: Server, clock: Pick<Clock, "now">) {
    this.#server = server;
    this.#clock = clock;
  }

  /**
   * Takes the reply's connection, which must have no other request, until the answer, which gets the headers
   * of the reply. `giveBack`: called at the end.
   */
  add(reply: FastifyReply, sink: PollSink, giveBack: () => void): void {
    const head = headerLines(reply.getHeaders());
    const isOwn = isPrivate(reply.request);
    const parts = this.#parts.getOrInsertComputed(`${isOwn} ${head}`, () => {
      return { server: this.#server, clock: this.#clock, head, isOwn };
    });
    new WaitingPoll(reply.raw, sink, parts, giveBack);
  }
}

class WaitingPoll {
  readonly #sink: PollSink;
  readonly #socket: PollSocket;
  readonly #parts: WaitingParts;
  readonly #giveBack: () => void;
  #endNotes: (() => void) | undefined;

  /** As `WaitingPolls.add`. */
  constructor(response: ServerResponse, sink: PollSink, parts: WaitingParts, giveBack: () => void) {
    this.#sink = sink;
    this.#parts = parts;
    this.#giveBack = giveBack;
    this.#socket = takeUnanswered(response);
    this.#socket[pollOf] = this;
    for (const [event, listener] of Object.entries(LISTENERS)) this.#socket.on(event, listener);
    this.#socket.resume();
    if (this.#socket.readableEnded) this.halfClosed();
    sink.onAnswer = (answer) => this.#answer(answer);
  }

  /** The client has closed its writing side, or has gone. */
  halfClosed(): void {
    this.#endNotes = noteWhileWaiting(this.#socket, NOTE_MS);
  }

  /** The client has gone. */
  gone(): void {
    this.#endNotes?.();
    this.#sink.end();
  }

  #answer(answer: LogAnswer): void {
    const socket = this.#socket;
    const { server, clock, head, isOwn } = this.#parts;
    this.#giveBack();
    this.#endNotes?.();
    delete socket[pollOf];
    if (!socket.writable) {
      socket.destroy();
      return;
    }
    socket.cork();
    const date = `date: ${new Date(clock.now()).toUTCString()}\r\n`;
    const kept = `connection: keep-alive\r\nkeep-alive: timeout=${server.keepAliveTimeout / 1000}\r\n`;
    socket.write(`${statusLine(answer)}${date}${kept}${head}${lines(answer, isOwn)}\r\n`);
    if (answer.body) socket.write(answer.body);
    socket.uncork();
    if (socket.readableEnded) {
      endSoon(server, socket); // with its listeners: a write to a client that has gone fails a tick later
      return;
    }
    for (const [event, listener] of Object.entries(LISTENERS)) socket.off(event, listener);
    giveSocketBack(server, socket);
  }
}

function statusLine({ status }: LogAnswer): string {
  return status === 200 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 204 No Content\r\n";
}

function lines({ headers, body }: LogAnswer, isOwn: boolean): string {
  return headerLines({
    ...headers,
    ...(isOwn && { "cache-control": privately(headers["cache-control"]) }),
    ...(body && { "content-length": String(body.length) }),
  });
}

/** Headers as the lines of an answer's head. */
function headerLines(headers: Readonly<Record<string, unknown>>): string {
  return Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join("");
}
