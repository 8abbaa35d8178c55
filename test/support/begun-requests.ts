/** The requests that a service in this process has begun, answered or not. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Socket } from "node:net";
import type { TestContext } from "node:test";

/** Counts those that the service gets from now on. */
export function countRequests(t: TestContext, { url }: { url: string }): () => number {
  let count = 0;
  const onRequest = (event: unknown) => {
    if (`${(event as { socket: Socket }).socket.localPort}` === new URL(url).port) count += 1;
  };
  subscribe("http.server.request.start", onRequest);
  t.after(() => unsubscribe("http.server.request.start", onRequest));
  return () => count;
}
