/**
 * Viewers that come and go without end, well and badly behaved by turns, on bare sockets: each calls, behaves
 * as the dice say, and calls again. Whatever they leave behind is for the service to clear away.
 */
import { connect, type Socket } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../../simulator/random.ts";

interface Churn {
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

/** Resolves when the time is over and all are gone. */
export async function comeAndGo({ service, videoId, viewers, forMs }: Churn): Promise<void> {
  const url = new URL(`/v1/stream?videoId=${videoId}`, service);
  const request = `GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\naccept: text/event-stream\r\n\r\n`;
  const behaviours = Object.values(BEHAVIOURS);
  const until = performance.now() + forMs;
  const lives = Array.from({ length: viewers }, async (_, i) => {
    const random = new Random(i, "churn");
    const localAddress = `127.0.0.${100 + (i % ADDRESSES)}`;
    while (performance.now() < until) {
      const behave = random.pick(behaviours);
      await pause(random.below(REST_MS));
      const socket = connect({ host: url.hostname, port: Number(url.port), localAddress });
      socket.on("error", () => {}).resume(); // "close" follows
      const closed = new Promise((resolve) => socket.once("close", resolve));
      const answered = Promise.race([new Promise((resolve) => socket.once("data", resolve)), closed]);
      await Promise.race([behave({ socket, request, random, answered }), closed]);
      socket.destroy();
      await closed;
    }
  });
  await Promise.all(lives);
}
