/** A live chat that its page shows again after each end: a recording and a channel reopen its room. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChannelVisitor } from "../../support/channel-visitor.ts";
import { recorded } from "../../support/recorder-parts.ts";
import { VIDEO } from "../../support/virtual-room.ts";
import { HANDLE, MINUTE, watched } from "../../support/watched-channel.ts";

/** Each opening may have a gap before it. */
const withoutGaps = (ids: readonly string[]) => ids.filter((id) => !id.startsWith("gap:"));
const SCENARIO = { kinds: ["text"], continuation: "none" } as const;

describe("a live chat whose every answer ends it", () => {
  it("is opened again by a recording every 30 s, and loses no message", async () => {
    const { relay, chat, stored, said, upstream } = recorded(SCENARIO);
    await relay.advance(MINUTE);
    const before = upstream.requests.length;
    for (let minute = 0; minute < 10; minute++) {
      chat.say(3);
      await relay.advance(MINUTE);
    }
    const calls = upstream.requests.length - before;
    assert.ok(calls >= 20 && calls <= 120, `${calls} calls in ten minutes`);
    assert.deepEqual(withoutGaps(await stored()), said());
  });

  it("is opened again for the viewers of a channel every 30 s, and loses no message", async () => {
    const { relay, channel, upstream } = watched();
    const { chat } = channel.broadcast(VIDEO, { chat: SCENARIO });
    const viewers = [
      new ChannelVisitor(relay.service),
      new ChannelVisitor(relay.service, undefined, { channels: HANDLE }),
    ];
    await relay.advance(MINUTE);
    const before = upstream.requests.length;
    for (let minute = 0; minute < 10; minute++) {
      chat.say(3);
      await relay.advance(MINUTE);
    }
    const calls = upstream.requests.length - before;
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
