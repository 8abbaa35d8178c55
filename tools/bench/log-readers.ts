/**
 * Readers of a log that poll: a process with many connections to a local port, each of which waits for the
 * next messages, takes them and asks on, as a client of the protocol does.
 */
import { once } from "node:events";
import { Agent, get, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as pause } from "node:timers/promises";
import { type Child, runChild, startChild } from "./child.ts";

/** One address has only about 28,000 ports for connections. */
const ADDRESSES = 10;

interface Polling {
  port: number;
  videoId: string;
  count: number;
  offset: string;
}

/** What all readers have got so far. `furthest`: how many of them are at the latest offset. */
export interface Polled {
  answers: number;
  bytes: number;
  furthest: number;
  offset: string;
}

/** Resolves once each connection has sent its first request. */
export function startLogReaders(polling: Polling): Promise<Child<Polled>> {
  return startChild(import.meta.url, polling);
}

async function poll({ port, videoId, count, offset: first }: Polling): Promise<() => Polled> {
  const all: Polled = { answers: 0, bytes: 0, furthest: count, offset: first };
  const agents = Array.from(
    { length: ADDRESSES },
    (_, index) => new Agent({ keepAlive: true, localAddress: `127.0.0.${2 + index}` }),
  );
  const reader = async (agent: Agent | undefined) => {
    for (let [offset, cursor] = [first, ""]; ; ) {
      const path = `/v1/log/${videoId}?offset=${offset}&live=long-poll${cursor && `&cursor=${cursor}`}`;
      const asked = get({ ...(agent && { agent }), host: "127.0.0.1", port, path });
      const [answer] = (await once(asked, "response")) as [IncomingMessage];
      const { length } = await buffer(answer);
      const { statusCode = 0, headers, rawHeaders } = answer;
      if (statusCode !== 200 && statusCode !== 204) throw new Error(`a poll was answered ${statusCode}`);
      all.answers += 1;
      all.bytes += length + rawHeaders.reduce((sum, text) => sum + text.length + 2, 0);
      offset = `${headers["stream-next-offset"]}`;
      cursor = `${headers["stream-cursor"]}`;
      if (offset > all.offset) Object.assign(all, { offset, furthest: 0 });
      if (statusCode === 200 && offset === all.offset) all.furthest += 1;
    }
  };
  for (let index = 0; index < count; index++) {
    void reader(agents[index % ADDRESSES]);
    if (index % 200 === 0) await pause(10);
  }
  return () => all;
}

if (import.meta.main) await runChild(poll);
