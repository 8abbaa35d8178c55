/** Chats that are read through real proxies, HTTP and SOCKS: through one, and through another if it dies. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { pino } from "pino";
import type { ListedRoom } from "../../src/rooms/listing.ts";
import { Telemetry } from "../../src/telemetry/telemetry.ts";
import { ask, post } from "../support/api.ts";
import { eventually, inTime } from "../support/eventually.ts";
import { type Need, without } from "../support/needs.ts";
import { PASSWORD, PROXIES, RealProxy, USER } from "../support/proxy.ts";
import { metric, startRelay, type TestRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { assertConsecutive, Stream } from "../support/stream.ts";

const VIDEO = "by-a-proxy1";

/** A relay whose log, at its most talkative, is kept. */
async function talkativeRelay(ways: string): Promise<{ relay: TestRelay; log: string[] }> {
  const log: string[] = [];
  const telemetry = new Telemetry(pino({ level: "trace" }, { write: (line) => void log.push(line) }));
  const relay = await startRelay({
    settings: { RELAY_EGRESS: ways, RELAY_COOLDOWN_MS: "3600000" },
    telemetry,
  });
  return { relay, log };
}

async function assertSecret(
  relay: TestRelay,
  log: readonly string[],
  answers: readonly unknown[],
): Promise<void> {
  const { body } = await ask(relay.url, "/v1/rooms");
  const texts = [...log, await relay.telemetry.registry.metrics(), JSON.stringify([body, answers])];
  const basic = Buffer.from(`${USER}:${PASSWORD}`).toString("base64");
  for (const text of texts) {
    for (const secret of [USER, PASSWORD, basic]) assert.ok(!text.includes(secret), text);
  }
}

const egressOf = async (relay: TestRelay) =>
  (await ask<{ rooms: ListedRoom[] }>(relay.url, "/v1/rooms")).body.rooms[0]?.egress;

for (const [program, { scheme, asks }] of Object.entries(PROXIES)) {
  describe(`${program}, which speaks ${scheme}`, { skip: without(program as Need) }, () => {
    it("carries a chat; if it is gone, another egress takes over without a gap, until it is back", async (t) => {
      await using proxy = await RealProxy.start(program, await temporaryFolder(t));
      const { relay, log } = await talkativeRelay(`${proxy.way},spare=ip:127.0.0.9`);
      await using _owned = relay;
      const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], timeoutMs: 50 });
      chat.say(5);
      await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
      await inTime(viewer.untilMessages(5), "messages by the proxy");
      assert.equal(await egressOf(relay), "proxy-1");
      assert.ok(relay.upstream.requests.every(({ from }) => from === "127.0.0.1"));
      await proxy.stop();
      chat.say(5);
      await inTime(viewer.untilMessages(10), "messages by another");
      assert.equal(await egressOf(relay), "spare");
      assert.deepEqual(
        viewer.ids,
        chat.ledger.map(({ id }) => id),
      );
      assertConsecutive(viewer.cursors, viewer.init.cursor);
      const up = 'relay_egress_up{egress="proxy-1"}';
      assert.equal(await metric(relay, up), 0);
      await proxy.start();
      await eventually(1, () => metric(relay, up));
      await assertSecret(relay, log, []);
    });

    it("says without user and password that a proxy is unreachable, if it refuses them or is down", async (t) => {
      await using proxy = await RealProxy.start(program, await temporaryFolder(t));
      const wrong = `${scheme}://${USER}:${PASSWORD}@${proxy.name}`.replace(`:${PASSWORD}@`, ":open-sesame@");
      const { relay, log } = await talkativeRelay(wrong);
      await using _owned = relay;
      relay.upstream.chat(VIDEO, { kinds: ["text"] }).say(1);
      const answers: unknown[] = [];
      if (asks) answers.push((await post(relay.url, "/v1/sessions", { videoId: VIDEO })).body);
      await proxy.stop();
      answers.push((await post(relay.url, "/v1/sessions", { videoId: VIDEO })).body);
      for (const answer of answers)
        assert.match(JSON.stringify(answer), /127\.0\.0\.1:\d+ cannot be reached/);
      assert.equal(relay.upstream.requests.length, 0);
      await assertSecret(relay, log, answers);
    });
  });
}
