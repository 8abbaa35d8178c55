/** The connections of a bench's clients to a local port, and the messages that come on them. */
import { connect, type Socket } from "node:net";

/** One address has only about 28,000 ports for connections. */
const ADDRESSES = 10;
/** The beginning of a message's frame. */
const MESSAGE = "\nid: ";

/** The connection of the client with this number. */
export function connectAs(client: number, port: number): Socket {
  return connect({ port, host: "127.0.0.1", localAddress: `127.0.0.${2 + (client % ADDRESSES)}` });
}

/** Counts the frames with an id in a body that is not compressed. */
export class MessageCount {
  /** The end of the last chunk: the beginning of a frame may be split. */
  #last = "";

  /** The number of frames that begin in this chunk, or began to in the one before it. */
  add(chunk: Buffer): number {
    const text = this.#last + chunk.toString("latin1");
    this.#last = text.slice(1 - MESSAGE.length);
    return text.split(MESSAGE).length - 1;
  }
}
