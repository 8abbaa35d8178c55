/** The addresses of egresses: only the operator may learn them, and only from the log. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";
import { describe, it } from "node:test";
import { pino } from "pino";
import type { ListedRoom } from "../../../src/rooms/listing.ts";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { ask, post, session } from "../../support/api.ts";
import { startRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const [READ, NEW] = ["egress-read", "egress-new1"];
const LOCAL = "127.0.0.9";
/** The address from which the upstream says it was called. */
const SEEN = ["203.0.113.77", "2001:db8::77"];
const ADMIN = "an-admin-token-of-a-test";

/** The port of a proxy that is gone. */
async function deadPort(): Promise<number> {
  await using server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** A relay with these egresses, and all that it says: each door's answer to `askAll`, and its log. */
async function heard(RELAY_EGRESS: string) {
  const log: string[] = [];
  const telemetry = new Telemetry(pino({ level: "trace" }, { write: (line) => void log.push(line) }));
  const settings = { RELAY_EGRESS, RELAY_ADMIN_TOKEN: ADMIN };
  const relay = await startRelay({ telemetry, settings });
  const { url } = relay;
  const answers: unknown[] = [];
  const askAll = async () => {
    const headers = { authorization: `Bearer ${ADMIN}` };
    await fetch(`${url}/v1/recordings/${NEW}`, { method: "PUT", headers });
    for (const path of ["/v1/rooms", `/v1/rooms/${READ}`, "/readyz", `/v1/stream?videoId=${NEW}`])
      answers.push(await ask(url, path));
    for (const path of ["/v1/sessions", "/v1/probe"]) answers.push(await post(url, path, { videoId: NEW }));
    answers.push(await ask(url, "/v1/recordings", { headers }), await telemetry.registry.metrics());
  };
  const assertNone = (addresses: readonly string[], lines: readonly string[]) => {
    for (const text of [...lines, ...answers.map((answer) => JSON.stringify(answer))])
      for (const address of addresses) assert.ok(!text.includes(address), `${address} is in ${text}`);
  };
  return { relay, log, answers, askAll, assertNone };
}

describe("the address of an egress", () => {
  it("is in no answer and not in the log, be it local or as the upstream sees it", async () => {
    const { relay, log, answers, askAll, assertNone } = await heard(`ip:${LOCAL}`);
    await using _owned = relay;
    const { upstream, url } = relay;
    upstream.chat(READ, { kinds: ["text"] }).say(1);
    await using viewer = await Stream.open(url, { videoId: READ });
    await viewer.untilMessages(1);
    const { body } = await ask<{ rooms: ListedRoom[] }>(url, "/v1/rooms");
    assert.equal(body.rooms[0]?.egress, "ip-1");
    const { token, client, endpoint, apiKey, webVersion } = await session(url, { videoId: READ });
    const words = `The originating IP address of the call (${SEEN.join(", ")}) violates this restriction.`;
    const as = { status: 403, body: { error: { code: 403, message: words } } };
    upstream.fault({ on: "get_live_chat", times: 100, as });
    const refused = await post(url, "/v1/poll", { token, client, endpoint, apiKey, webVersion });
    assert.match(JSON.stringify(refused.body), /originating IP address of the call \(…, …\) violates/);
    answers.push(refused);
    upstream.fault({ on: ["sw.js", "popout", "watch", "next"], times: 100, as: "reset" });
    await askAll();
    assert.match(JSON.stringify(answers), /\(ECONNRESET\)/);
    assertNone([LOCAL, ...SEEN], log);
  });

  it("is in no answer, and only in one line of the log, if a proxy is dead", async () => {
    const port = await deadPort();
    const way = `http://wayfarer:open-sesame@127.0.0.1:${port}`;
    const { relay, log, answers, askAll, assertNone } = await heard(way);
    await using _owned = relay;
    await askAll();
    assert.match(JSON.stringify(answers), /the proxy of the service gives no connection/);
    const dead = log.filter((line) => line.includes("the proxy gives no connection"));
    assert.match(dead.join(), new RegExp(`"egress":"proxy-1","proxy":"http://127.0.0.1:${port}"`));
    const others = log.filter((line) => !dead.includes(line));
    assertNone([`:${port}`], others);
    assertNone(["wayfarer", "open-sesame"], log);
  });
});
