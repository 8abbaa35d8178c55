/** A limit of open files, and strangers who take as many as they are given. */
import assert from "node:assert/strict";
import type { ServerResponse } from "node:http";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import type { Answer } from "../../simulator/answers.ts";
import { startSimulator } from "../../simulator/index.ts";
import { connectionsWithin } from "../../src/cli/open-files.ts";
import { Command, ROOT } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { testEnvironment } from "../support/relay.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "short-of-fd";
const FILES = 300;
const STRANGERS = 400;

/** Connections that send this, and read nothing. Those that the service closes are counted. */
function strangers(t: TestContext, url: string, count: number, text: string) {
  const { hostname, port } = new URL(url);
  const counts = { open: 0, closed: 0 };
  const sockets = Array.from({ length: count }, (): Socket => {
    const socket = connect(Number(port), hostname, () => {
      counts.open += 1;
      socket.write(text);
    });
    socket.on("error", () => {});
    socket.on("end", () => socket.destroy()).on("close", () => (counts.closed += 1));
    t.after(() => socket.destroy());
    return socket.resume();
  });
  return { counts, leave: () => sockets.forEach((socket) => void socket.destroy()) };
}

describe("a service with few open files", { skip: process.platform === "win32", timeout: 180_000 }, () => {
  it("reads on and serves its viewers, however many connections strangers open", async (t) => {
    await using upstream = await startSimulator();
    const chat = upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 50 });
    chat.say(1);
    const closing = (response: ServerResponse, real: () => Answer) => {
      const { status, headers, body } = real();
      response.writeHead(status, { ...headers, connection: "close" }).end(body);
    };
    upstream.fault({ on: "get_live_chat", times: Number.POSITIVE_INFINITY, as: { answer: closing } });
    const serve = `'${process.execPath}' '${join(ROOT, "bin/livechat-relay.js")}' --host 127.0.0.1`;
    const relay = new Command([`ulimit -n ${FILES}; exec ${serve}`], {
      env: { PATH: process.env.PATH, ...testEnvironment(upstream) },
      node: "sh",
      main: "-c",
    });
    t.after(async () => {
      relay.child.kill("SIGTERM");
      await relay.exited;
    });
    const url = await relay.printed(/listening on (http:\/\/[\d.:]+)/);
    await using viewer = await Stream.open(url, { videoId: VIDEO });
    await viewer.untilMessages(1);
    const most = connectionsWithin(FILES);
    for (const text of [
      "",
      "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
      `GET /v1/stream?videoId=${VIDEO} HTTP/1.1\r\nHost: a\r\n\r\n`,
    ]) {
      const { counts, leave } = strangers(t, url, STRANGERS, text);
      await eventually(true, () => counts.closed > STRANGERS - most);
      assert.equal(counts.open, STRANGERS);
      const said = viewer.messages.length;
      for (let batch = 1; batch <= 5; batch++) {
        chat.say(2);
        await viewer.untilMessages(said + 2 * batch);
      }
      leave();
      await eventually(true, () =>
        fetch(`${url}/healthz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      );
    }
    assert.equal(viewer.failure, undefined);
    assert.ok(viewer.messages.every(({ message }) => message.type !== "gap"));
    const metrics = await (await fetch(`${url}/metrics`)).text();
    assert.match(metrics, new RegExp(`^relay_limit\\{of="files"\\} ${FILES}$`, "m"));
    assert.match(metrics, new RegExp(`^relay_limit\\{of="connections"\\} ${most}$`, "m"));
    assert.match(metrics, /^relay_connections_dropped_total [1-9]/m);
    assert.match(relay.out, /"level":40.*closed at once.*open files/);
  });

  it("keeps at least 64 of them for itself, at most 200", () => {
    const rows = [
      [64, 1],
      [100, 36],
      [256, 128],
      [300, 150],
      [1024, 824],
      [65_536, 65_336],
    ] as const;
    for (const [files, connections] of rows) assert.equal(connectionsWithin(files), connections);
    assert.equal(connectionsWithin(Number.POSITIVE_INFINITY), Number.POSITIVE_INFINITY);
  });
});
