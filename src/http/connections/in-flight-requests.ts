/**
 * One request at a time on a connection. A request that comes while another one is unanswered is not begun:
 * the connection closes after the response in flight, as HTTP allows (RFC 9112, 9.3.2 and 9.6), and the
 * client asks again on a new one. A request behind a stream, or behind the unread answer of a long poll, ends
 * the connection at once. So what a connection costs does not depend on how many requests its client sends
 * without reading.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { endIdleTime, isUnread, stopParsing } from "./taken-socket.ts";

interface InFlight {
  response: ServerResponse;
  isStream: boolean;
  /** Whether another request has come behind it. */
  isFollowed: boolean;
}

export class InFlightRequests {
  readonly #newest = new WeakMap<Duplex, InFlight>();

  /** The server's listener: passes on the requests that may begin. */
  listener(handle: RequestListener): RequestListener {
    return (request, response) => {
      // Node gives a response its socket once all earlier ones are complete.
      if (response.socket) {
        const { socket } = request;
        if (isUnread(socket)) {
          socket.destroy();
          return;
        }
        endIdleTime(socket);
        this.#newest.set(socket, { response, isStream: false, isFollowed: false });
        response.once("close", () => this.#newest.delete(socket)); // an idle connection keeps nothing
        handle(request, response);
      } else this.#follow(request);
    };
  }

  /** The answer of the connection that is not complete; undefined if none is. */
  on(socket: Duplex): Readonly<InFlight> | undefined {
    const newest = this.#newest.get(socket);
    return newest?.response.writableFinished ? undefined : newest;
  }

  /** The answer is to be a stream. Returns false if it must not begin: another request is behind it. */
  stream({ socket }: IncomingMessage): boolean {
    const answer = this.#newest.get(socket);
    if (!answer || answer.isFollowed) return false;
    answer.isStream = true;
    return true;
  }

  /** The connection is taken from the server. */
  forget(socket: Duplex): void {
    this.#newest.delete(socket);
  }

  #follow(request: IncomingMessage): void {
    const { socket } = request;
    const answer = this.#newest.get(socket);
    // A second request behind an answer comes only if `stopParsing` has no effect on this Node.js.
    if (!answer || answer.isStream || answer.isFollowed) {
      socket.destroy();
      return;
    }
    answer.isFollowed = true;
    stopParsing(socket);
    request.resume(); // an unread body would hide the end of the connection
    answer.response.shouldKeepAlive = false; // says so in the head, if that is not written yet
    answer.response.once("finish", () => socket.destroySoon());
  }
}
