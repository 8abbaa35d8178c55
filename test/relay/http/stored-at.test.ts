/** When a message was stored: the same for every reader, on every copy. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { it } from "node:test";
import { SPECIES, startSimulator } from "../../../simulator/index.ts";
import type { Details } from "../../../src/protocol/kinds.ts";
import { ask } from "../../support/api.ts";
import { texts } from "../../support/chat-actions.ts";
import { outcome } from "../../support/command.ts";
import { startTestEdge } from "../../support/edge.ts";
import { startRelay } from "../../support/relay.ts";
import { temporaryFile } from "../../support/store-subject.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
const SAID = 60;
/** Some kinds are not sent. */
const SENT = 20;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

interface Shown {
  id: string;
  details?: Details;
}

/** The details of each message as JSON, in the order of its fields. */
const detailsIn = (messages: readonly Shown[]) => messages.map(({ details }) => JSON.stringify(details));

it("a message has one stored time for all readers, on an edge, after a restart and an import", async (t) => {
  await using upstream = await startSimulator();
  const chat = upstream.chat(VIDEO, { kind: "live", kinds: SPECIES.filter((kind) => kind !== "unknown") });
  chat.say(SAID);
  const path = await temporaryFile(t);
  const settings = { RELAY_STORE: `sqlite:${path}` };
  const before = Date.now();
  let live: string[];
  {
    await using relay = await startRelay({ upstream, settings });
    await using edge = await startTestEdge(relay.url);
    await using viewer = await Stream.open(relay.url, { videoId: VIDEO, backfill: 500, details: true });
    await using other = await Stream.open(edge.url, { videoId: VIDEO, lastEventId: 0, details: true });
    await viewer.untilMessages(SENT);
    chat.say(texts("live", 5));
    for (const stream of [viewer, other])
      await stream.until(() => stream.messages.some(({ message }) => message.id === "live-4"));
    live = detailsIn(viewer.messages.map(({ message }) => message));
    assert.deepEqual(detailsIn(other.messages.map(({ message }) => message)).slice(0, live.length), live);
    let last = "";
    for (const { message } of viewer.messages) {
      const { storedAt = "", publishedAt = "" } = message.details ?? {};
      assert.match(storedAt, ISO);
      assert.ok(storedAt >= last && Date.parse(storedAt) >= (Date.parse(publishedAt) || before), storedAt);
      assert.ok(Date.parse(storedAt) <= Date.now());
      last = storedAt;
    }
    for (const url of [relay.url, edge.url]) {
      const { body } = await ask<{ messages: Shown[] }>(url, `/v1/messages?videoId=${VIDEO}&details=true`);
      assert.deepEqual(detailsIn(body.messages).slice(0, live.length), live);
      const log = await ask<Shown[]>(url, `/v1/log/${VIDEO}`);
      assert.deepEqual(detailsIn(log.body), detailsIn(body.messages));
    }
  }
  await using again = await startRelay({ upstream, settings });
  const read = async (url: string) => {
    const answer = await fetch(`${url}/v1/messages?videoId=${VIDEO}&limit=all&format=ndjson&details=true`);
    return (await answer.text()).trimEnd();
  };
  const lines = await read(again.url);
  assert.deepEqual(detailsIn(lines.split("\n").map((line) => JSON.parse(line))).slice(0, live.length), live);

  const [capture, copy] = ["kept.jsonl", "copy.db"].map((name) => join(dirname(path), name));
  await writeFile(`${capture}`, lines);
  const { code, error } = await outcome([
    "import",
    `${capture}`,
    "--video",
    VIDEO,
    "--store",
    `sqlite:${copy}`,
  ]);
  assert.equal(code, 0, error);
  await using imported = await startRelay({ upstream, settings: { RELAY_STORE: `sqlite:${copy}` } });
  const timesOf = (text: string) =>
    text.split("\n").map((line) => {
      const { id, details } = JSON.parse(line) as Shown;
      return [id, details?.storedAt];
    });
  assert.deepEqual(timesOf(await read(imported.url)), timesOf(lines));
});
