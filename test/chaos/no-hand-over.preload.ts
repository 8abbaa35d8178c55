/**
 * Preloaded from outside: a Node.js whose sockets cannot be taken from their responses, so that streams use
 * the responses.
 */
import { ServerResponse } from "node:http";

const { detachSocket } = ServerResponse.prototype;
ServerResponse.prototype.detachSocket = function (socket) {
  if (!this.writableEnded) throw new Error("a socket is not given away before its answer has ended");
  detachSocket.call(this, socket); // Node's own
};
