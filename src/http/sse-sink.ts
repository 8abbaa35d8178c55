/** A response, its head sent, as the sink of a viewer. */
import type { ServerResponse } from "node:http";
import type { Sink } from "../rooms/sink.ts";

export function sseSink(response: ServerResponse): Sink {
  const { socket } = response.req;
  response.on("error", () => socket.destroy()); // a connection that breaks is a viewer that leaves
  return {
    write: (bytes) => response.write(bytes),
    end: () => void response.end(),
    // After an orderly close the kernel would keep offering what it holds: megabytes per viewer, for minutes.
    reset: () => void socket.resetAndDestroy(),
    onDrain: (listener) => void response.on("drain", listener),
    onClose: (listener) => void response.on("close", listener),
  };
}
