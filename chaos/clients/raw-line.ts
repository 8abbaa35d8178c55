/** A viewer's line on bare sockets: one connection, read by hand. */
import { SseSocket } from "../sse-socket.ts";
import { type Call, type Line, SIP_BYTES, SIP_MS } from "./returning-client.ts";

export class RawLine implements Line {
  readonly #connection: SseSocket;
  /** The end of a stall or trickle. */
  #recovery: NodeJS.Timeout | undefined;
  #sips: NodeJS.Timeout | undefined;

  constructor(call: Call) {
    const lastEventId = call.lastEventId();
    const headers: Record<string, string> =
      lastEventId === undefined ? {} : { "last-event-id": String(lastEventId) };
    this.#connection = new SseSocket(call.url, headers, call.begin(lastEventId));
    this.#connection.socket.once("close", () => {
      this.#stopSlowness();
      call.over();
    });
  }

  stall(ms: number): void {
    this.#stopSlowness();
    this.#connection.pause();
    this.#recovery = setTimeout(() => this.#recover(), ms);
  }

  trickle(ms: number): void {
    this.stall(ms);
    this.#sips = setInterval(() => this.#connection.sip(SIP_BYTES), SIP_MS);
  }

  cut(): void {
    this.#connection.destroy();
  }

  #recover(): void {
    this.#stopSlowness();
    this.#connection.resume();
  }

  #stopSlowness(): void {
    clearTimeout(this.#recovery);
    clearInterval(this.#sips);
  }
}
