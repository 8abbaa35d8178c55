/** The log of a chat that talks, and readers of it that nobody here wrote, over connections that are cut. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { TestContext } from "node:test";
import { stream } from "@durable-streams/client";
import { offsetOf } from "../../src/serving/log-position.ts";
import { portOf } from "../chaos/line.ts";
import { readLog } from "./log.ts";
import { startRelay, type TestRelay } from "./relay.ts";
import { Stream } from "./stream.ts";

export const VIDEO = "log-clients";

/**
 * The cursors that the protocol's own client reads, to the end of the log or, if not `live`, up to now. After
 * a failure it goes on behind the last message.
 */
export async function readAll(url: string, live: false | "long-poll" | "sse"): Promise<number[]> {
  const cursors: number[] = [];
  for (;;) {
    const read = () => (cursors.length === 0 ? "-1" : offsetOf(cursors.at(-1) ?? 0));
    try {
      const backoffOptions = { initialDelay: 5, maxDelay: 50, multiplier: 2 };
      const asked = { url, offset: read(), live, json: true, backoffOptions };
      const response = await stream<{ cursor: number }>(asked);
      response.closed.catch(() => {}); // the reading fails, too
      for await (const { cursor } of response.jsonStream()) cursors.push(cursor);
      // The head of an answer may be all that came of it.
      if (response.offset === read() && (response.streamClosed || (!live && response.upToDate)))
        return cursors;
    } catch {
      // The connection was cut.
    }
  }
}

/** A way to the service that cuts the first connection after `first` bytes, each other `more` bytes later. */
export async function cuttingWay(
  t: TestContext,
  to: string,
  first = 1,
  more = 151,
): Promise<{ url: string; cuts: () => number }> {
  let cuts = 0;
  const server = createServer((client) => {
    let left = first + cuts++ * more;
    const service = connect(Number(new URL(to).port), "127.0.0.1");
    client.pipe(service);
    service.on("data", (bytes: Buffer) => {
      client.write(bytes.subarray(0, left));
      left -= bytes.length;
      if (left <= 0) client.destroySoon();
    });
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      one.on("error", () => {});
      one.on("close", () => other.destroySoon());
    }
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${portOf(server)}`, cuts: () => cuts };
}

/** A relay with an open room, in which thirty messages were said. */
export async function talking(t: TestContext, settings = {}) {
  const relay = await startRelay({ settings: { RELAY_MAX_VIEWERS_PER_ADDRESS: "0", ...settings } });
  t.after(() => relay[Symbol.asyncDispose]());
  const said = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 5 });
  said.say(30);
  const viewer = await Stream.open(relay.url, { videoId: VIDEO });
  t.after(() => viewer[Symbol.asyncDispose]());
  await viewer.untilMessages(30);
  return { relay, said, viewer };
}

/** All cursors of the log, which must follow each other. */
export async function cursorsOf({ url }: Pick<TestRelay, "url">): Promise<number[]> {
  const { cursors } = await readLog(url, VIDEO);
  assert.deepEqual(
    cursors,
    cursors.map((_, n) => (cursors[0] ?? 0) + n),
  );
  return cursors;
}
