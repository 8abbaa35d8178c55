/**
 * Answers on the bare socket when Node creates no request for a route: for unparseable bytes, for a request
 * that is late, and for CONNECT. The connection closes after the answer, even if the client keeps its own
 * side open.
 */
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { after, type Clock } from "../../base/clock.ts";
import { wireJson } from "../../base/wire-json.ts";
import { ERRORS, type ErrorBody } from "../../protocol/errors.ts";
import type { Telemetry } from "../../telemetry/telemetry.ts";
import { METHODS } from "../error-answers.ts";
import { MAX_HEAD_BYTES } from "./create-http-server.ts";
import type { InFlightRequests } from "./in-flight-requests.ts";
import { isOnlyIdle } from "./taken-socket.ts";

const LATE = "ERR_HTTP_REQUEST_TIMEOUT";
/** The answers by the code of Node's error; any other one is `NOT_HTTP`. */
const PARSER_ERRORS: Record<string, ErrorBody> = {
  HPE_HEADER_OVERFLOW: {
    code: "HEADERS_TOO_LARGE",
    message: `The URL and headers are longer than ${MAX_HEAD_BYTES} bytes.`,
  },
  [LATE]: { code: "REQUEST_TIMEOUT", message: "The request did not arrive in time." },
};
const NOT_HTTP: ErrorBody = { code: "INVALID_REQUEST", message: "This is not valid HTTP/1.1." };
const NO_PROXY: ErrorBody = {
  code: "METHOD_NOT_ALLOWED",
  message: "CONNECT is not allowed: this is not a proxy.",
};
/** Time for the client to read the answer, in milliseconds: an immediate destroy could discard it. */
const READING_MS = 1000;

export class RawErrors {
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  readonly #inFlight: InFlightRequests;
  readonly #cors: readonly string[];

  /** `cors`: the headers for a request whose origin is not known. */
  constructor(
    clock: Clock,
    telemetry: Telemetry,
    inFlight: InFlightRequests,
    cors: Readonly<Record<string, string>>,
  ) {
    this.#clock = clock;
    this.#telemetry = telemetry;
    this.#inFlight = inFlight;
    this.#cors = Object.entries(cors).map(([name, value]) => `${name}: ${value}`);
  }

  watch(server: Server): void {
    const allow = `Allow: ${METHODS.join(", ")}, OPTIONS`;
    server.on("connect", (_request, socket) => {
      // It may be behind a request, whose answer comes first.
      if (this.#inFlight.on(socket)) socket.destroy();
      else this.#give(NO_PROXY, socket, allow);
    });
  }

  refuseUnparseable(error: NodeJS.ErrnoException, socket: Duplex): void {
    if (error.code === "ECONNRESET") socket.destroy();
    else if (error.code === LATE && isOnlyIdle(socket as Socket))
      return; // nobody has asked
    else if (this.#inFlight.on(socket)?.isFollowed)
      return; // the connection closes after its answer
    else this.#give(PARSER_ERRORS[error.code ?? ""] ?? NOT_HTTP, socket);
  }

  /** Nothing can be sent in the middle of another answer: then the connection is only closed. */
  #give(body: ErrorBody, socket: Duplex, ...headers: string[]): void {
    this.#telemetry.requests.refused(body);
    if (!socket.writable || this.#inFlight.on(socket)?.response.headersSent) {
      socket.destroy();
      return;
    }
    const json = wireJson(body);
    const head = [
      `HTTP/1.1 ${ERRORS[body.code].status} ${body.code}`,
      "Content-Type: application/json; charset=utf-8",
      `Content-Length: ${Buffer.byteLength(json)}`,
      ...this.#cors,
      "Cache-Control: no-store",
      ...headers,
      "Connection: close",
    ];
    const closed = new AbortController();
    socket.once("close", () => closed.abort());
    socket.on("error", () => socket.destroy());
    socket.end(`${head.join("\r\n")}\r\n\r\n${json}`);
    after(this.#clock, READING_MS, closed.signal, () => socket.destroy());
  }
}
