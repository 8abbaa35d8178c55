/**
 * One connection to the stream on a bare TCP socket, read without any HTTP or SSE library. It carries one request,
 * and closes by itself once the response is over. The caller decides when bytes are taken from the socket.
 */
import { connect, type Socket } from "node:net";
import { type ResponseListener, SseResponse } from "./sse-response.ts";

export type { SseFrame } from "./sse-frames.ts";

export interface SseListener extends ResponseListener {
  /** The connection is over, whoever ended it. `complete`: the response came to its orderly end. */
  closed(complete: boolean): void;
}

export class SseSocket {
  readonly socket: Socket;
  readonly #response: SseResponse;

  /** `localAddress`: any of 127.0.0.0/8, as one address has only some 28,000 ports to call from. */
  constructor(
    url: URL,
    headers: Readonly<Record<string, string>>,
    listener: SseListener,
    localAddress?: string,
  ) {
    this.#response = new SseResponse(listener);
    const host = url.hostname;
    this.socket = connect({ host, port: Number(url.port), ...(localAddress ? { localAddress } : {}) });
    const lines = Object.entries({ host: url.host, accept: "text/event-stream", ...headers });
    this.socket.write(
      `GET ${url.pathname}${url.search} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`,
    );
    this.socket.on("data", (bytes: Buffer) => {
      this.#response.feed(bytes);
      if (this.#response.isOver) this.socket.destroy();
    });
    this.socket.on("end", () => this.#response.end());
    this.socket.on("error", () => {}); // "close" follows
    this.socket.on("close", () => listener.closed(this.#response.isComplete));
  }

  /** Takes nothing more, so that the sender's window fills; what Node reads ahead, 64 KiB, waits in memory. */
  pause(): void {
    this.socket.pause();
  }

  /** Takes so many bytes at most while it is paused. */
  sip(bytes: number): void {
    this.socket.read(Math.min(bytes, this.socket.readableLength));
  }

  resume(): void {
    this.socket.resume();
  }

  /** Breaks the connection; of what has come nothing more is told but that it is closed. */
  destroy(): void {
    this.#response.stop();
    this.socket.destroy();
  }
}
