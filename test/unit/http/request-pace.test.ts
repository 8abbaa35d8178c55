/** The pace at which requests begin: few in each turn of the event loop. */
import assert from "node:assert/strict";
import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { inTurns } from "../../../src/http/connections/create-http-server.ts";

/** A server's listener, and the paths of the requests that it has begun. */
function paced() {
  const begun: string[] = [];
  const listener = inTurns(({ url = "" }) => begun.push(url));
  const ask = (url: string | number, headers = {}) => {
    const request = Object.assign(new IncomingMessage(new Socket()), { url: `${url}`, headers });
    const response = new ServerResponse(request);
    listener(request, response);
    return response;
  };
  return { begun, ask };
}

const numbers = (count: number) => Array.from({ length: count }, (_, number) => `${number}`);

describe("requests that come in one turn of the event loop", () => {
  it("begin at once while they are few", () => {
    const { begun, ask } = paced();
    for (const number of numbers(16)) ask(number);
    assert.deepEqual(begun, numbers(16));
  });

  it("begin in the turns that follow if they are many, few in each and in their order", async () => {
    const { begun, ask } = paced();
    for (const number of numbers(40)) ask(number);
    const after: number[] = [begun.length];
    for (let turns = 0; turns < 3; turns++) {
      await turn();
      after.push(begun.length);
    }
    assert.deepEqual(after, [16, 32, 40, 40]);
    assert.deepEqual(begun, numbers(40));
  });

  it("do not overtake those that wait", async () => {
    const { begun, ask } = paced();
    for (const number of numbers(17)) ask(number);
    await turn(); // the last one begins
    for (const number of numbers(16)) ask(`later ${number}`);
    assert.deepEqual(begun.slice(16), ["16", ...numbers(15).map((number) => `later ${number}`)]);
    await turn();
    assert.equal(begun.at(-1), "later 15");
  });

  it("do not begin if their connection closes while they wait", async () => {
    const { begun, ask } = paced();
    for (const number of numbers(16)) ask(number);
    ask("gone").req.socket.destroy();
    ask("waits");
    await turn();
    assert.deepEqual(begun.slice(16), ["waits"]);
  });

  it("begin at once if they have a body, which would be held while they wait", async () => {
    const { begun, ask } = paced();
    for (const number of numbers(17)) ask(number);
    ask("posted", { "content-length": "60000" });
    ask("streamed", { "transfer-encoding": "chunked" });
    assert.deepEqual(begun.slice(16), ["posted", "streamed"]);
    await turn();
    assert.equal(begun.at(-1), "16");
  });

  it("begin at once again after a quiet turn", async () => {
    const { begun, ask } = paced();
    for (const number of numbers(17)) ask(number);
    await turn();
    await turn();
    for (const number of numbers(16)) ask(number);
    assert.equal(begun.length, 33);
  });
});
