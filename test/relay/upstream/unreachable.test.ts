/**
 * An upstream host that cannot be reached: every caller learns it first and soon, and the operator from the
 * log.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer, type ServerResponse } from "node:http";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { describe, it } from "node:test";
import { pino } from "pino";
import { systemClock } from "../../../src/base/clock.ts";
import type { ErrorBody } from "../../../src/protocol/errors.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { HttpConnections } from "../../../src/upstream/egress/connections.ts";
import { Transport } from "../../../src/upstream/egress/transport.ts";
import { UpstreamError } from "../../../src/upstream/upstream-error.ts";
import { freePorts } from "../../chaos/service.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { ask, post } from "../../support/api.ts";
import { directTransport } from "../../support/direct-transport.ts";
import { asked, opened, PLACES } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { slowClock } from "../../support/slow-clock.ts";

const VIDEO = "unreachable";
const DEADLINE_MS = 300;

/** A host that takes connections and never answers. */
async function silentHost() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const dispose = async () => {
    for (const socket of sockets) socket.destroy();
    await server[Symbol.asyncDispose]();
  };
  return { url: `http://127.0.0.1:${port}`, port, server, [Symbol.asyncDispose]: dispose };
}

/** A relay whose main host is at this address; what each endpoint answers, and the log's warnings. */
async function answersWith(url: string, clock = systemClock) {
  const log: string[] = [];
  const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line) => void log.push(line) }));
  const deadlines = { chatMs: DEADLINE_MS, pageMs: DEADLINE_MS };
  await using relay = await startRelay({ proxy: { url }, telemetry, deadlines, clock });
  const token = {
    client: "WEB",
    endpoint: "get_live_chat",
    token: "t",
    apiKey: "k".repeat(10),
    webVersion: "2",
  };
  const answers = [
    await ask(relay.url, `/v1/stream?videoId=${VIDEO}`),
    await post<ErrorBody>(relay.url, "/v1/sessions", { videoId: VIDEO }),
    await post<ErrorBody>(relay.url, "/v1/probe", { videoId: VIDEO }),
    await post<ErrorBody>(relay.url, "/v1/poll", token),
  ];
  const metrics = await telemetry.registry.metrics();
  return { answers, metrics, log: log.map((line) => JSON.parse(line)) };
}

describe("a host that cannot be reached", () => {
  it("is named first in every answer, after one call, and in the log as a warning: nothing listens", async () => {
    const [port = 0] = await freePorts(1);
    // However busy the machine is, the egress does not call the host by itself yet.
    const { answers, metrics, log } = await answersWith(`http://127.0.0.1:${port}`, slowClock);
    for (const { body } of answers) {
      assert.match(
        (body as ErrorBody).message,
        new RegExp(`^127.0.0.1:${port} cannot be reached: .*ECONNREFUSED`),
      );
    }
    assert.deepEqual(
      answers.map(({ status, body }) => `${status} ${(body as ErrorBody).code}`),
      ["502 SW_JS_FAILED", "502 SW_JS_FAILED", "502 SW_JS_FAILED", "502 UPSTREAM_ERROR"],
    );
    const calls = metrics.match(/(?<=^relay_upstream_calls_total\{.*endpoint="\/sw\.js",outcome=).*/gm);
    assert.deepEqual(calls, ['"unusable"} 3']);
    const [line] = log.filter(({ videoId }) => videoId === VIDEO);
    assert.match(line.why, /^127.0.0.1:\d+ cannot be reached: /);
  });

  it("is also named first if it accepts connections and never answers", async () => {
    await using host = await silentHost();
    const { answers, log } = await answersWith(host.url);
    for (const { body } of answers) {
      assert.match((body as ErrorBody).message, new RegExp(`^127.0.0.1:${host.port} cannot be reached: `));
    }
    assert.equal(log.filter(({ videoId }) => videoId === VIDEO).length, 1);
  });

  it("does not get its full deadline for each page, and the answer names that of the first", async () => {
    const relay = new VirtualRelay();
    relay.network.silentUntil = Number.POSITIVE_INFINITY;
    const { status, message } = await relay.refusal({ videoId: VIDEO });
    assert.equal(status, 502);
    assert.match(message, /cannot be reached: no complete answer within 7000 ms/);
    assert.doesNotMatch(message, /1200/);
    assert.equal(Math.round(relay.clock.monotonic()), 7000 + 3 * 1200);
  });

  it("gives the code of a missing page if the scripts gave the credentials", async () => {
    await using relay = await startRelay({ deadlines: { pageMs: 1000 } }); // sw.js must answer within it
    relay.upstream.fault({ on: PLACES, times: 6, as: "silent" });
    const pages = ["sw.js", ...PLACES];
    const stream = await ask(relay.url, `/v1/stream?videoId=${VIDEO}`);
    const session = await post<ErrorBody>(relay.url, "/v1/sessions", { videoId: VIDEO });
    assert.deepEqual([stream.status, session.status], [404, 502]);
    for (const { body } of [stream, session]) {
      assert.match((body as ErrorBody).message, /^127.0.0.1:\d+ cannot be reached: /);
    }
    assert.deepEqual(asked(relay), [...pages, ...pages]);
  });
});

describe("a call whose time is over while the process is frozen", () => {
  /** Calls a server that freezes the process; the answer, or the error's message. */
  async function calledWith(answer: (response: ServerResponse) => void): Promise<string> {
    await using server = createHttpServer((_, response) => {
      answer(response);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2 * DEADLINE_MS);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const transport = directTransport(systemClock);
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a`;
    const call = { method: "GET", url, headers: {}, deadlineMs: DEADLINE_MS } as const;
    const sent = transport.send(call, new AbortController().signal);
    const outcome = await sent.then(
      ({ text }) => text,
      ({ message }) => message,
    );
    await transport.close();
    return outcome;
  }

  it("has the answer that came meanwhile", async () => {
    assert.equal(await calledWith((response) => response.end("answered")), "answered");
  });

  it("fails if none came", async () => {
    assert.match(await calledWith(() => {}), /cannot be reached: no complete answer within 300 ms/);
  });
});

it("a machine without free files fails no chat: calls wait, and the log says so once", async () => {
  const relay = new VirtualRelay({ settings: { RELAY_LOG_LEVEL: "warn" } });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 1000 });
  chat.say(1);
  const viewer = await relay.enter({ videoId: VIDEO, backfill: 10 });
  const shortMs = 300_000;
  relay.network.shortOfFilesUntil = relay.clock.monotonic() + shortMs;
  await relay.advance(shortMs + 2000);
  chat.say(2);
  await relay.advance(5000);
  assert.equal(relay.service.rooms.roomOf(VIDEO) !== undefined, true);
  assert.ok(viewer.messages.length >= 3, `${viewer.messages.length}`);
  const said = relay.log.map(({ msg }) => msg).filter((msg) => /free file/.test(`${msg}`));
  assert.equal(said.length, 1);
  assert.ok(!relay.log.some(({ msg }) => /poll failed|unavailable/.test(`${msg}`)));
});

describe("a proxy to which there is no connection", () => {
  for (const scheme of ["http", "socks5"]) {
    it(`is named in the log, once and without its password, and to no caller: ${scheme}`, async () => {
      const [port = 0] = await freePorts(1);
      const log: string[] = [];
      const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line) => void log.push(line) }));
      const place = `${scheme}://127.0.0.1:${port}`;
      const settings = { RELAY_EGRESS: `office=${scheme}://me:a-secret@127.0.0.1:${port}` };
      await using relay = await startRelay({
        settings,
        telemetry,
        proxy: { url: "https://elsewhere.invalid" },
      });
      for (let n = 0; n < 2; n++) {
        const { body } = await ask(relay.url, `/v1/stream?videoId=${VIDEO}`);
        const { message } = body as ErrorBody;
        assert.match(
          message,
          /^elsewhere\.invalid cannot be reached: the proxy of the service gives no connection \(/,
        );
        assert.ok(!message.includes(String(port)), message);
      }
      assert.ok(!log.join("").includes("a-secret"));
      const named = log.map((line) => JSON.parse(line)).filter(({ proxy }) => proxy !== undefined);
      assert.deepEqual(
        named.map(({ egress, proxy }) => [egress, proxy]),
        [["office", place]],
      );
      assert.match(named[0]?.why ?? "", new RegExp(`${port}|SOCKS|ECONNREFUSED`));
    });
  }
});

describe("a proxy that takes connections and never answers", () => {
  const call = (deadlineMs: number) =>
    ({ method: "GET", url: "https://elsewhere.invalid/a", headers: {}, deadlineMs }) as const;
  const through = (url: string) =>
    new Transport(
      systemClock,
      new HttpConnections({ name: "silent", key: "silent", isNamed: false, kind: "proxy", url }),
      true,
    );

  for (const scheme of ["http", "socks5"]) {
    it(`keeps no call for longer than its deadline: ${scheme}`, async () => {
      await using host = await silentHost();
      const transport = through(host.url.replace("http", scheme));
      const sent = transport.send(call(DEADLINE_MS), new AbortController().signal);
      const { message, cause }: Error = await sent.then(
        () => assert.fail("answered"),
        (error) => error,
      );
      assert.equal(
        message,
        `elsewhere.invalid cannot be reached: no complete answer within ${DEADLINE_MS} ms`,
      );
      // The limit for a connection, which is later, leads to the same message.
      assert.equal((cause as Error).message, `not done within ${DEADLINE_MS} ms`);
      await transport.close();
    });
  }

  it("keeps no call that is aborted while the code of connections is loaded", async () => {
    await using host = await silentHost();
    const connections = new HttpConnections({
      name: "silent",
      key: "silent",
      isNamed: false,
      kind: "proxy",
      url: host.url,
    });
    const aborted = new AbortController();
    const asked = connections.request(call(DEADLINE_MS), aborted.signal);
    aborted.abort(new Error("aborted by the test"));
    await assert.rejects(asked, { message: "aborted by the test" });
    await connections.close();
  });

  it("cannot be reached, and its connection is closed, before the deadline of a page", async () => {
    await using host = await silentHost();
    const transport = through(host.url);
    const failed = transport.send(call(15_000), new AbortController().signal).catch((error) => error);
    const [socket]: Socket[] = await once(host.server, "connection");
    const closed = once(socket?.resume() as Socket, "close");
    const { message, unreachable } = await failed;
    assert.equal(unreachable, "no connection", message);
    await closed;
    await transport.close();
  });
});

describe("a proxy that the environment names", () => {
  it("is used for addresses of other machines, and never for loopback addresses", async () => {
    const targets: (string | undefined)[] = [];
    const proxy = createHttpServer().listen(0, "127.0.0.1");
    proxy.on("connect", (request, socket) => {
      targets.push(request.url);
      socket.destroy();
    });
    await once(proxy, "listening");
    process.env.HTTP_PROXY = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    try {
      await using relay = await startRelay();
      relay.upstream.chat(VIDEO).say(1);
      await opened(relay, VIDEO);
      const transport = directTransport(systemClock);
      const call = {
        method: "GET",
        url: "https://elsewhere.invalid/a",
        headers: {},
        deadlineMs: 5000,
      } as const;
      await assert.rejects(transport.send(call, new AbortController().signal), UpstreamError);
      await transport.close();
    } finally {
      delete process.env.HTTP_PROXY;
      await proxy[Symbol.asyncDispose]();
    }
    assert.deepEqual(targets, ["elsewhere.invalid:443"]);
  });
});
