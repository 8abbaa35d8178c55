/** A crowd that asks at once: what else the service does goes on between its requests. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { eventually } from "../../support/eventually.ts";
import { metric, startRelay } from "../../support/relay.ts";

it("begins the requests of a crowd in many turns of the event loop", async (t) => {
  await using relay = await startRelay();
  const port = Number(new URL(relay.url).port);
  let answered = 0;
  const crowd = Array.from({ length: 160 }, () => {
    const socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.once("data", () => {
      answered += 1;
    });
    return socket;
  });
  await Promise.all(crowd.map((socket) => once(socket, "connect")));
  for (let accepting = 0; accepting < 2 * crowd.length; accepting++) await turn(); // Node takes one each turn
  for (const socket of crowd) socket.write("GET /healthz HTTP/1.1\r\n\r\n");
  const perTurn: number[] = [];
  while (answered < crowd.length) {
    const before = answered;
    await turn();
    if (answered > before) perTurn.push(answered - before);
  }
  assert.ok(perTurn.length >= 5, `answers per turn: ${perTurn}`);
});

it("a client that resets its connection behind its request is not counted as a failure", async (t) => {
  await using relay = await startRelay({ settings: { RELAY_MAX_VIEWERS_PER_ADDRESS: "5" } });
  const failed = t.mock.method(relay.telemetry.requests, "failed");
  for (let client = 0; client < 5; client++) {
    const socket = connect(Number(new URL(relay.url).port), "127.0.0.1");
    await once(socket, "connect");
    await turn(); // the server accepts it
    await turn();
    socket.write("GET /v1/stream?videoId=reset-first HTTP/1.1\r\n\r\n");
    socket.resetAndDestroy();
    await once(socket, "close");
  }
  for (let turns = 0; turns < 100; turns++) await turn();
  await eventually(0, () => metric(relay, "relay_viewers"));
  assert.deepEqual(
    failed.mock.calls.map(({ arguments: [error] }) => error),
    [],
  );
});
