/** An answer as no upstream should give it, and what one call comes to that gets it. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Answer as UpstreamAnswer } from "../../simulator/answers.ts";
import type { Fault, FaultOrder } from "../../simulator/faults.ts";
import { type Simulator, startSimulator } from "../../simulator/simulator.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { UpstreamError } from "../../src/upstream/upstream-error.ts";
import { directTransport } from "./direct-transport.ts";
import { inTime } from "./eventually.ts";

/**
 * Answers a request as no upstream should; `real` makes what the upstream would have answered. What it still
 * does once the connection is gone must end by itself.
 */
export type HostileAnswer = (response: ServerResponse, real: () => UpstreamAnswer) => unknown;

export interface Order {
  readonly fault: Fault;
  /** Resolves when the first request is met. */
  readonly whenMet: Promise<void>;
  /** Resolves when the connections that were met so far are closed, at whichever side. */
  left(): Promise<unknown>;
}

/** Sets a hostile answer on the next requests of a kind, the oldest order first. */
export function order(upstream: Simulator, asked: Omit<FaultOrder, "as">, hostile: HostileAnswer): Order {
  const { promise: whenMet, resolve } = Promise.withResolvers<void>();
  const sockets: Socket[] = [];
  const answer: HostileAnswer = (response, real) => {
    resolve();
    if (response.socket) sockets.push(response.socket);
    return hostile(response, real);
  };
  const fault = upstream.fault({ ...asked, as: { answer } });
  return { fault, whenMet, left: () => Promise.all(sockets.map(closed)) };
}

interface CallOptions {
  clock?: Clock;
  /** What happens once the request is met, and before the call has an outcome. */
  meanwhile?: (socket: Socket) => Promise<void>;
}

/**
 * What one call to an upstream that does this comes to: its text, or why there is none. No connection to it
 * is kept.
 */
export async function answerTo(
  hostile: HostileAnswer,
  deadlineMs: number,
  { clock = systemClock, meanwhile }: CallOptions = {},
): Promise<string> {
  await using upstream = await startSimulator();
  const met = Promise.withResolvers<Socket>();
  const placed = order(upstream, { on: "sw.js", times: 1 }, (response, real) => {
    if (response.socket) met.resolve(response.socket);
    return hostile(response, real);
  });
  const transport = directTransport(clock);
  const call = { method: "GET", url: `${upstream.urls.main}/sw.js`, headers: {}, deadlineMs } as const;
  const answer = transport.send(call, new AbortController().signal).then(
    ({ text }) => text,
    (error: unknown) => (error instanceof UpstreamError ? `${error.fault}: ${error.message}` : String(error)),
  );
  await meanwhile?.(await met.promise);
  const words = await answer;
  await inTime(placed.left(), "the end of the hostile answer's connection");
  await transport.close();
  assert.equal(placed.fault.fired, 1);
  return words;
}

/** Resolves, whatever befell the socket before. */
export function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    socket.once("close", () => resolve());
  });
}
