/**
 * Viewers that come and go without end, well and badly behaved by turns: each calls, does what its manner is, and
 * calls again. Whatever they leave behind is for the service to clear away.
 */
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as pause } from "node:timers/promises";
import { Random } from "../../src/simulator/random.ts";
import { SseSocket } from "../sse-socket.ts";

export interface Restlessness {
  service: string;
  videoId: string;
  viewers: number;
  forMs: number;
}

interface Call {
  url: URL;
  localAddress: string;
  random: Random;
}

/** The longest that a call waits for anything, and the longest rest before the next one. */
const STAY_MS = 400;
const REST_MS = 100;
/** Between two bytes of a request. */
const BYTE_MS = 5;
/** One address has only some 28,000 ports to call from. */
const ADDRESSES = 50;

const MANNERS = {
  "leaves at the head": async (call: Call) => {
    const { headed, socket, closed } = open(call);
    await Promise.race([headed, closed]);
    socket.destroy();
    await closed;
  },
  "leaves before the answer": async ({ url, localAddress }: Call) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), localAddress });
    const closed = once(socket, "close").catch(() => {});
    socket.write(requestOf(url), () => socket.destroy());
    await closed;
  },
  "stays a while": async (call: Call) => {
    const { socket, closed } = open(call);
    await Promise.race([pause(call.random.below(STAY_MS)), closed]);
    socket.destroy();
    await closed;
  },
  "ends its half": async (call: Call) => {
    const { headed, socket, closed } = open(call);
    await Promise.race([headed, closed]);
    socket.socket.end();
    await Promise.race([pause(STAY_MS), closed]);
    socket.destroy();
    await closed;
  },
  "speaks slowly, and may tire": async ({ url, localAddress, random }: Call) => {
    const socket = connect({ host: url.hostname, port: Number(url.port), localAddress });
    const closed = once(socket, "close").catch(() => {});
    const answered = once(socket, "data").catch(() => {});
    const request = requestOf(url);
    const said = random.chance(0.5) ? request.length : random.below(request.length);
    for (const byte of request.slice(0, said)) {
      if (socket.destroyed) break;
      socket.write(byte);
      await pause(BYTE_MS);
    }
    if (said === request.length) await Promise.race([answered, closed]);
    socket.destroy();
    await closed;
  },
} satisfies Record<string, (call: Call) => Promise<void>>;

export type Manner = keyof typeof MANNERS;

/** Resolves when the time is over and all are gone; to how many calls there were of each manner. */
export async function comeAndGo(wish: Restlessness): Promise<Record<Manner, number>> {
  const { service, videoId, viewers, forMs } = wish;
  const url = new URL(`/v1/stream?videoId=${videoId}`, service);
  const manners = Object.keys(MANNERS) as Manner[];
  const calls = Object.fromEntries(manners.map((manner) => [manner, 0])) as Record<Manner, number>;
  const until = performance.now() + forMs;
  const lives = Array.from({ length: viewers }, async (_, i) => {
    const random = new Random(i, "restless");
    const localAddress = `127.0.0.${100 + (i % ADDRESSES)}`;
    while (performance.now() < until) {
      const manner = manners[random.below(manners.length)] ?? "stays a while";
      await pause(random.below(REST_MS));
      await MANNERS[manner]({ url, localAddress, random });
      calls[manner] += 1;
    }
  });
  await Promise.all(lives);
  return calls;
}

function open({ url, localAddress }: Call) {
  const headed = Promise.withResolvers<void>();
  const closed = Promise.withResolvers<void>();
  const listener = { head: () => headed.resolve(), frame: () => {}, closed: () => closed.resolve() };
  const socket = new SseSocket(url, {}, listener, localAddress);
  return { socket, headed: headed.promise, closed: closed.promise };
}

function requestOf(url: URL): string {
  return `GET ${url.pathname}${url.search} HTTP/1.1\r\nhost: ${url.host}\r\naccept: text/event-stream\r\n\r\n`;
}
