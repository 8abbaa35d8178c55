/** A live chat that its page shows again after each end: a recording and a channel reopen its room. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import type { VirtualRelay } from "../../harness/virtual-relay.ts";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { recorded } from "../../support/recorder-parts.ts";
import { VIDEO, withoutGaps } from "../../support/virtual-room.ts";
import { HANDLE, MINUTE, watched } from "../../support/watched-channel.ts";

const SCENARIO = { kinds: ["text"], continuation: "none" } as const;

/** The number of calls in ten minutes of a chat that goes on. Each opening may have a gap before it. */
async function callsInTenMinutes(relay: VirtualRelay, chat: Chat): Promise<number> {
  await relay.advance(MINUTE);
  const before = relay.upstream.requests.length;
  for (let minute = 0; minute < 10; minute++) {
    chat.say(3);
    await relay.advance(MINUTE);
  }
  return relay.upstream.requests.length - before;
}

describe("a live chat whose every answer ends it", () => {
  it("is opened again by a recording every 30 s, and loses no message", async () => {
    const { relay, chat, now, stored, said } = recorded(SCENARIO);
    const calls = await callsInTenMinutes(relay, chat);
    assert.ok(calls >= 20 && calls <= 120, `${calls} calls in ten minutes`);
    assert.deepEqual(withoutGaps(await stored()), said());
    assert.deepEqual(await now(), { state: "waiting", videoId: VIDEO, error: undefined });
  });

  it("is opened again for the viewers of a channel every 30 s, and loses no message", async () => {
    const { relay, channel } = watched();
    const { chat } = channel.broadcast(VIDEO, { chat: SCENARIO });
    const viewers = [
      new ChannelVisitor(relay.service),
      new ChannelVisitor(relay.service, undefined, { channels: HANDLE }),
    ];
    const calls = await callsInTenMinutes(relay, chat);
    assert.ok(calls >= 20 && calls <= 140, `${calls} calls in ten minutes`);
    for (const viewer of viewers) {
      viewer.news();
      assert.deepEqual(
        withoutGaps(viewer.ids),
        chat.ledger.map(({ id }) => id),
      );
    }
  });
});
