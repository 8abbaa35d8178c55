/**
 * Viewers that come and go without end, well and badly behaved by turns, on bare sockets: each calls, behaves
 * as the dice say, and calls again. Whatever they leave behind is for the service to clear away.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../../../simulator/random.ts";

export interface Churn {
  service: string;
  videoId: string;
  viewers: number;
  forMs: number;
}

interface Call {
  socket: Socket;
  request: string;
  random: Random;
  /** Resolves with the answer's first bytes, or at the connection's end. */
  answered: Promise<unknown>;
}

/** The longest that a call waits for anything, and the longest rest before the next one. */
const STAY_MS = 400;
const REST_MS = 100;
/** Between two bytes of a request. */
const BYTE_MS = 5;
/** One address has only about 28,000 ports for connections. */
const ADDRESSES = 50;

const BEHAVIOURS = {
  "leaves at the head": async ({ socket, request, answered }: Call) => {
    socket.write(request);
    await answered;
  },
  "leaves before the answer": async ({ socket, request }: Call) => {
    await new Promise((resolve) => socket.write(request, resolve));
  },
  "stays a while": async ({ socket, request, random }: Call) => {
    socket.write(request);
    await pause(random.below(STAY_MS));
  },
  "ends its half": async ({ socket, request, answered }: Call) => {
    socket.write(request);
    await answered;
    socket.end();
    await pause(STAY_MS);
  },
  "speaks slowly, and may tire": async ({ socket, request, random, answered }: Call) => {
    const said = random.chance(0.5) ? request.length : random.below(request.length);
    for (const byte of request.slice(0, said)) {
      if (socket.destroyed) break;
      socket.write(byte);
      await pause(BYTE_MS);
    }
    if (said === request.length) await answered;
  },
} satisfies Record<string, (call: Call) => Promise<void>>;

export type Behaviour = keyof typeof BEHAVIOURS;

/** Resolves when the time is over and all are gone; to how many calls there were of each behaviour. */
export async function comeAndGo(options: Churn): Promise<Record<Behaviour, number>> {
  const { service, videoId, viewers, forMs } = options;
  const url = new URL(`/v1/stream?videoId=${videoId}`, service);
  const request = `GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\naccept: text/event-stream\r\n\r\n`;
  const behaviours = Object.keys(BEHAVIOURS) as Behaviour[];
  const calls = Object.fromEntries(behaviours.map((name) => [name, 0])) as Record<Behaviour, number>;
  const until = performance.now() + forMs;
  const lives = Array.from({ length: viewers }, async (_, i) => {
    const random = new Random(i, "churn");
    const localAddress = `127.0.0.${100 + (i % ADDRESSES)}`;
    while (performance.now() < until) {
      const behaviour = random.pick(behaviours);
      await pause(random.below(REST_MS));
      const socket = connect({ host: url.hostname, port: Number(url.port), localAddress });
      socket.on("error", () => {}).resume(); // "close" follows
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const answered = Promise.race([new Promise((resolve) => socket.once("data", resolve)), closed]);
      await Promise.race([BEHAVIOURS[behaviour]({ socket, request, random, answered }), closed]);
      socket.destroy();
      await closed;
      calls[behaviour] += 1;
    }
  });
  await Promise.all(lives);
  return calls;
}
