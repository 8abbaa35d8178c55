/** What commands and edges say if something other than a trusted service answers at the URL. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { systemClock } from "../../src/base/clock.ts";
import { OriginHttpConnections } from "../../src/origin/http-connections.ts";
import { Origin } from "../../src/origin/origin.ts";
import { AnsweringServer, refuses } from "../support/answering-server.ts";
import { outcome, outcomeOfProcess } from "../support/command.ts";
import { startRelay } from "../support/relay.ts";
import { certificateFile, SELF_SIGNED } from "../support/self-signed.ts";

const VIDEO = "no-service1";
const COMMANDS = [
  ["rooms"],
  ["probe", VIDEO],
  ["watch", VIDEO],
  ["export", VIDEO],
  ["export", "--all", "--output", "nothing"],
  ["record", "list", "--admin-token", "a-secret-of-24-characters"],
];

describe("a command whose URL is answered, but not by the service, says that and ends with 3", () => {
  for (const [what, status, body] of [
    ["a proxy that blocks the path", 404, "<h1>404 Not Found</h1>"],
    ["another service's page", 200, "<h1>It works!</h1>"],
    ["another service's JSON", 200, {}],
    ["another service's error", 403, { error: "forbidden" }],
  ] as const) {
    for (const command of COMMANDS) {
      it(`${command[0]}: ${what}`, async () => {
        await using server = await AnsweringServer.start(refuses(status, body));
        const { code, out, error } = await outcome([...command, "--server", server.url]);
        assert.deepEqual([code, out], [3, ""]);
        const expected = `livechat-relay: ${server.url} answers ${status}, but not as a livechat-relay: check the URL; a proxy in front of it, or of an edge's origin, may block`;
        assert.ok(error.startsWith(expected), error);
      });
    }
  }
});

it("a URL with a path at which there is no service is named as the cause", async () => {
  await using relay = await startRelay();
  for (const [command, path] of [
    [["rooms"], "/rooms"],
    [["watch", VIDEO], "/x/y"],
  ] as const) {
    const { code, error } = await outcome([...command, "--server", `${relay.url}${path}`]);
    assert.equal(code, 1);
    assert.equal(
      error,
      `livechat-relay: NOT_FOUND: There is nothing at this path. (here: is ${path}, the path in --server or RELAY_URL, right?)\n`,
    );
  }
});

describe("a certificate that nobody has signed", () => {
  /** A server with such a certificate. */
  async function serverOf(t: TestContext): Promise<string> {
    const server = createServer(SELF_SIGNED, (_, response) => response.end('{"retentionDays":0,"rooms":[]}'));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }
  const REMEDY = /certificate is not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\): .*NODE_EXTRA_CA_CERTS/;

  it("is named to the user of a command, with the variable that makes it trusted", async (t) => {
    const url = await serverOf(t);
    for (const command of COMMANDS) {
      const { code, error } = await outcome([...command, "--server", url]);
      assert.equal(code, 3);
      assert.match(error, REMEDY);
      assert.doesNotMatch(error, /livechat-relay serve/);
    }
    const env = { NODE_EXTRA_CA_CERTS: await certificateFile(t) };
    assert.equal((await outcomeOfProcess(["rooms", "--server", url], { env })).code, 0);
  });

  it("is named in the log of an edge, with the variable that makes it trusted", async (t) => {
    const url = await serverOf(t);
    const origin = new Origin(url, new OriginHttpConnections(url), systemClock, 1000);
    t.after(() => origin.close());
    await assert.rejects(origin.isRelay(), REMEDY);
  });
});
