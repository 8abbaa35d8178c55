/** Connections on which nobody asks. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it, type TestContext } from "node:test";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "idle-after1";
const POLL = `GET /v1/log/${VIDEO}?offset=now&live=long-poll HTTP/1.1\r\nHost: a\r\n\r\n`;
const HEALTH = "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";

function dial(t: TestContext, { url }: TestRelay): Socket {
  const socket = connect(Number(new URL(url).port), "127.0.0.1");
  t.after(() => socket.destroy());
  return socket;
}

/** The next answer of the connection, which comes whole. */
async function ask(socket: Socket, request: string): Promise<string> {
  socket.write(request);
  return String((await once(socket, "data"))[0]);
}

/** Waits for longer than the head of a request may take: resolves once a request is late that begins now. */
async function untilLate(t: TestContext, relay: TestRelay): Promise<void> {
  assert.match(await ask(dial(t, relay), "GET / HTTP/1.1\r\n"), /^HTTP\/1\.1 408 /);
}

describe("an idle connection", () => {
  it("gets no answer that nobody asked for, and goes on after a long poll as after any answer", async (t) => {
    await using relay = await startRelay({
      settings: { RELAY_LONG_POLL_MS: "1000" },
      timeouts: { headersMs: 500, requestMs: 1000, checkMs: 20 },
    });
    relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
    await viewer.untilMessages(1);
    const polled = dial(t, relay);
    const other = dial(t, relay);
    const [after, kept] = await Promise.all([ask(polled, POLL), ask(other, HEALTH)]);
    assert.match(after, /^HTTP\/1\.1 204 /);
    const time = /keep-alive: timeout=\d+/i;
    assert.equal(time.exec(after)?.[0].toLowerCase(), time.exec(kept)?.[0].toLowerCase());
    for (const request of [HEALTH, POLL, HEALTH]) {
      await untilLate(t, relay);
      assert.match(await ask(polled, request), /^HTTP\/1\.1 20[04] /);
    }
    await ask(polled, POLL);
    assert.match(await ask(polled, "GET /"), /^HTTP\/1\.1 408 /, "a request has begun");
  });

  it("on which nobody has ever asked is closed silently", async (t) => {
    await using relay = await startRelay({ timeouts: { headersMs: 50, requestMs: 100, checkMs: 10 } });
    assert.equal(await text(dial(t, relay)), "");
  });
});
