/** The rooms, viewers and calls that are kept for recordings, so that strangers never displace them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SettingName } from "../../../src/cli/setting-table.ts";
import { ChatLoad } from "../../../src/upstream/egress/chat-load.ts";
import { ask } from "../../support/api.ts";
import { eventually } from "../../support/eventually.ts";
import { startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";
import { bearer } from "../../support/tokens.ts";

const TOKEN = "a-token-of-many-letters";
const STRANGERS = ["stranger-01", "stranger-02", "stranger-03"] as const;
/** Its chat has not begun. */
const LATER = "record-late";

async function relayWith(settings: Partial<Record<SettingName, string>>): Promise<TestRelay> {
  const relay = await startRelay({ settings: { RELAY_ADMIN_TOKEN: TOKEN, ...settings } });
  for (const videoId of [...STRANGERS, "record-soon", "record-more"])
    relay.upstream.chat(videoId, { kinds: ["text"] }).say(1);
  return relay;
}

async function stateOf({ url }: TestRelay, name: string) {
  const { body } = await ask<{ recordings: { name: string; state: string; error?: string }[] }>(
    url,
    "/v1/recordings",
    { headers: bearer(TOKEN) },
  );
  return body.recordings.find((recording) => recording.name === name);
}

const record = (relay: TestRelay, name: string) =>
  fetch(`${relay.url}/v1/recordings/${name}`, { method: "PUT", headers: bearer(TOKEN) });

const isRecording = (relay: TestRelay, name: string) =>
  eventually("recording", async () => (await stateOf(relay, name))?.state);

const refusalOf = async (relay: TestRelay, videoId: string) => {
  const { status, body } = await ask<{ message: string }>(relay.url, `/v1/stream?videoId=${videoId}`);
  return [status, body.message];
};

describe("a recording whose chat has not begun", () => {
  it("keeps a room for it: strangers are refused one before the limit", async () => {
    await using relay = await relayWith({ RELAY_MAX_ROOMS: "2", RELAY_RECORD: LATER });
    await eventually(true, async () => (await stateOf(relay, LATER))?.error !== undefined);
    await using stream = await Stream.open(relay.url, { videoId: STRANGERS[0] });
    await stream.untilMessages(1);
    assert.deepEqual(await refusalOf(relay, STRANGERS[1]), [503, "Too many rooms are open."]);
    await fetch(`${relay.url}/v1/recordings/${LATER}`, { method: "DELETE", headers: bearer(TOKEN) });
  });

  it("keeps the place of a viewer for it", async () => {
    await using relay = await relayWith({ RELAY_MAX_VIEWERS: "2", RELAY_RECORD: LATER });
    await eventually(true, async () => (await stateOf(relay, LATER))?.error !== undefined);
    await using stream = await Stream.open(relay.url, { videoId: STRANGERS[0] });
    await stream.untilMessages(1);
    assert.deepEqual(await refusalOf(relay, STRANGERS[0]), [503, "Too many viewers are connected."]);
  });

  it("keeps nothing any more once it is deleted", async () => {
    await using relay = await relayWith({ RELAY_MAX_ROOMS: "1" });
    await record(relay, LATER);
    await eventually(true, async () => (await stateOf(relay, LATER))?.error !== undefined);
    assert.equal((await refusalOf(relay, STRANGERS[0]))[0], 503);
    await fetch(`${relay.url}/v1/recordings/${LATER}`, { method: "DELETE", headers: bearer(TOKEN) });
    await eventually(200, async () => {
      const cut = new AbortController();
      const { status } = await fetch(`${relay.url}/v1/stream?videoId=${STRANGERS[0]}`, {
        signal: cut.signal,
      });
      cut.abort();
      return status;
    });
  });
});

describe("a recording", () => {
  it("that is added begins, although viewers have taken every room and place", async () => {
    await using relay = await relayWith({ RELAY_MAX_ROOMS: "1", RELAY_MAX_VIEWERS: "1" });
    await using stream = await Stream.open(relay.url, { videoId: STRANGERS[0] });
    await stream.untilMessages(1);
    await record(relay, "record-soon");
    await isRecording(relay, "record-soon");
    assert.equal(stream.over, false, "the stranger stays");
    assert.equal((await refusalOf(relay, STRANGERS[1]))[0], 503);
  });

  it("is refused if recordings alone take all rooms", async () => {
    await using relay = await relayWith({ RELAY_MAX_ROOMS: "1", RELAY_RECORD: "record-soon" });
    await isRecording(relay, "record-soon");
    await record(relay, "record-more");
    await eventually("failed", async () => (await stateOf(relay, "record-more"))?.state);
    assert.match((await stateOf(relay, "record-more"))?.error ?? "", /Too many rooms are open/);
  });
});

describe("the calls of an address", () => {
  const LIVE = { intervalMs: 9000, windowMs: 18_000 };

  it("are reserved for chats to come: each reservation admits one chat fewer", () => {
    const admitted = (reserved: number) => {
      const load = new ChatLoad({ spacingMs: 250, maxLatenessMs: 5000 });
      for (let room = 0; ; room++) {
        try {
          load.carry(`${room}`, LIVE, reserved);
        } catch {
          return room;
        }
      }
    };
    const all = admitted(0);
    assert.ok(all > 10);
    assert.equal(admitted(1), all - 1);
    assert.equal(admitted(7), all - 7);
    assert.equal(admitted(all + 5), 0);
  });
});
