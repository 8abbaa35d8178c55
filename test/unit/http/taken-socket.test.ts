/**
 * What taking a connection out of Node's HTTP server relies on, which Node does not document: red here says
 * that a version of Node has changed it, and that streams go the plain way there.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { InFlightRequests } from "../../../src/http/connections/in-flight-requests.ts";
import {
  endSoon,
  giveSocketBack,
  handOverWorks,
  takeSocket,
} from "../../../src/http/connections/taken-socket.ts";
import { PATIENCE_MS } from "../../support/eventually.ts";

const REQUEST = "GET / HTTP/1.1\r\nHost: test\r\n\r\n";
const LIMIT = { timeout: PATIENCE_MS };
/** In bytes: more than the systems of both ends buffer. */
const MORE_THAN_BUFFERED = 32 * 1024 * 1024;

setFlagsFromString("--expose-gc");
const collectGarbage: () => void = runInNewContext("gc");

/**
 * Whether the engine keeps the object's keys in a shape that it shares with others, and not in a table. It
 * may forget compiled code that was not called for a while, so the code is compiled for each call.
 */
function hasShape(object: unknown): boolean {
  setFlagsFromString("--allow-natives-syntax");
  try {
    return new Function("object", "return %HasFastProperties(object)")(object);
  } finally {
    setFlagsFromString("--no-allow-natives-syntax");
  }
}

type Held = ReadonlyMap<string, WeakRef<object>>;

/** References that keep none of these alive. */
function heldOf(objects: Record<string, object>): Held {
  return new Map(Object.entries(objects).map(([name, one]) => [name, new WeakRef(one)]));
}

/** The names of those that are still alive once all garbage is collected. */
async function keptOf(held: Held): Promise<string[]> {
  const alive = () => [...held].filter(([, one]) => one.deref()).map(([name]) => name);
  for (let i = 0; i < 20 && alive().length > 0; i++) {
    await turn();
    collectGarbage();
  }
  return alive();
}

async function listening(t: TestContext, answer: (response: ServerResponse) => void): Promise<Server> {
  const server = createServer((_request, response) => answer(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  return server;
}

function dial(t: TestContext, server: Server): Socket {
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  t.after(() => socket.destroy());
  return socket;
}

test("a connection can be taken over, read, written and closed on this Node.js", LIMIT, async () => {
  assert.equal(await handOverWorks(), true);
});

test("a failure to take over a connection is noticed at once and breaks nothing", LIMIT, async (t) => {
  t.mock.method(AbortSignal, "timeout", () => new AbortController().signal); // the time limit never ends it
  const { detachSocket } = ServerResponse.prototype;
  t.mock.method(ServerResponse.prototype, "detachSocket", function (this: ServerResponse, socket: Socket) {
    assert.notEqual(this.req.headers.host, "trial", "not on this Node.js");
    detachSocket.call(this, socket); // of a test that is over, in this process
  });
  assert.equal(await handOverWorks(), false);
});

test("the listeners of a taken connection share a shape, which saves 400 bytes", LIMIT, async (t) => {
  const taken = Promise.withResolvers<Socket>();
  const server = await listening(t, (response) => {
    response.writeHead(200);
    taken.resolve(takeSocket(response));
  });
  dial(t, server).write(REQUEST);
  const socket = await taken.promise;
  t.after(() => socket.destroy());
  assert.deepEqual(socket.eventNames(), []);
  for (const event of ["data", "end", "error", "drain", "timeout", "close"]) socket.on(event, () => {});
  assert.ok(hasShape(Reflect.get(socket, "_events")));
});

test("nothing of an answered request is kept while its connection is idle", LIMIT, async (t) => {
  const given = Promise.withResolvers<Held>();
  const inFlight = new InFlightRequests();
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    given.resolve(heldOf({ request, response }));
    response.end();
  };
  const server = createServer(inFlight.listener(answer)).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const client = dial(t, server);
  client.write(REQUEST);
  await once(client, "data");
  assert.deepEqual(await keptOf(await given.promise), []);
  assert.ok(!client.destroyed);
});

test("nothing of the request is kept once its socket is taken over", LIMIT, async (t) => {
  const taken = Promise.withResolvers<{ socket: Socket; held: Held }>();
  const server = await listening(t, (response) => {
    const { parser } = response.socket as Socket & { parser: object };
    response.writeHead(200);
    const held = heldOf({ response, request: response.req, parser });
    taken.resolve({
      socket: takeSocket(response)
        .on("error", () => {})
        .resume(),
      held,
    });
  });
  const client = dial(t, server);
  client.write(REQUEST);
  const { socket, held } = await taken.promise;
  t.after(() => socket.destroy());
  assert.deepEqual(await keptOf(held), []);
  assert.ok(socket.writable && !socket.destroyed);
  const own = Object.getOwnPropertyNames(socket).filter((name) => Reflect.get(socket, name) !== null);
  assert.ok(!own.includes("parser") && !own.includes("_httpMessage"));
});

test(
  "a socket that was taken over has none of the server's listeners, timeouts or reading",
  LIMIT,
  async (t) => {
    const taken = Promise.withResolvers<Socket>();
    const server = await listening(t, (response) => {
      response.writeHead(200);
      taken.resolve(takeSocket(response));
    });
    const client = dial(t, server);
    client.write(REQUEST);
    const socket = await taken.promise;
    t.after(() => socket.destroy());
    assert.deepEqual(
      socket.eventNames().filter((name) => typeof name === "string"),
      [],
    );
    const heard = once(socket.on("error", () => {}).resume(), "data");
    client.write(REQUEST);
    assert.equal(String((await heard)[0]), REQUEST, "a second request is bytes, and nobody answers it");
    server.closeIdleConnections();
    server.closeAllConnections();
    assert.ok(!socket.destroyed, "the server does not count it any more");
  },
);

test("a connection that was given back is closed after its time in silence", LIMIT, async (t) => {
  const server = await listening(t, (response) => {
    response.writeHead(204);
    giveSocketBack(server, takeSocket(response));
  });
  server.keepAliveTimeout = 50;
  const client = dial(t, server);
  client.write(REQUEST);
  let came = "";
  client.on("data", (bytes) => {
    came += bytes;
  });
  await once(client, "close");
  assert.match(came, /^HTTP\/1\.1 204 .*\r\n\r\n$/s);
});

/** Takes the response's connection, and writes an answer that no system buffers whole. */
function answerTaken(response: ServerResponse): Socket {
  response.writeHead(200, { "content-length": MORE_THAN_BUFFERED });
  const socket = takeSocket(response);
  socket.write(Buffer.alloc(MORE_THAN_BUFFERED));
  return socket;
}

for (const [what, last] of Object.entries({ "was given back": giveSocketBack, "is ending": endSoon }))
  test(
    `a connection that ${what} is closed once nothing of its answer was taken for that time`,
    LIMIT,
    async (t) => {
      const answered = Promise.withResolvers<Socket>();
      const server = await listening(t, (response) => {
        const socket = answerTaken(response);
        last(server, socket);
        answered.resolve(socket);
      });
      server.keepAliveTimeout = 50;
      dial(t, server).pause().write(REQUEST);
      const socket = await answered.promise;
      t.after(() => socket.destroy());
      assert.ok(socket.writableLength > 0);
      if (!socket.closed) await once(socket, "close");
    },
  );

test(
  "a connection that was given back is closed by a request before its answer is taken",
  LIMIT,
  async (t) => {
    const given: Socket[] = [];
    const inFlight = new InFlightRequests();
    const answer = (request: IncomingMessage, response: ServerResponse) => {
      inFlight.forget(request.socket);
      const socket = answerTaken(response);
      given.push(socket);
      giveSocketBack(server, socket);
      if (given.length === 1) client.write(REQUEST);
    };
    const server = createServer(inFlight.listener(answer)).listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close().closeAllConnections());
    const client = dial(t, server).pause();
    client.on("error", () => {}).write(REQUEST);
    while (!given.at(-1)?.closed && given.length < 2) await turn();
    assert.equal(given.length, 1);
  },
);
