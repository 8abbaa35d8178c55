/**
 * What a room does whose chat is lost to it: whether a new page gives it back, holds none, or cannot be
 * loaded.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Failure } from "../../../simulator/index.ts";
import {
  around,
  assertEnds,
  assertFails,
  bootstraps,
  MAX_FAILURES,
  roomWith,
} from "../../support/answered-room.ts";
import { asked, failAlways, openStream, PLACES, textAction } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { assertConsecutive } from "../../support/stream.ts";

const VIDEO = "lost-replay";

describe("a room whose chat is lost", () => {
  const lost: [what: string, as: Failure][] = [
    ["a silence", "no-contents"],
    ["a refused token", { status: 400 }],
    ["HTTP 403", { status: 403 }],
    ["HTTP 404", { status: 404 }],
  ];
  for (const [what, as] of lost) {
    it(`ends if a re-bootstrap after ${what} finds none, with one request`, async () => {
      await using room = await roomWith({ delayMs: 0 });
      await around(room);
      const fault = room.relay.upstream.fault({ on: "get_live_chat", times: 1, as });
      room.chat.change({ kind: "disabled" });
      await assertEnds(room.stream);
      assert.equal(fault.fired, 1);
      assert.deepEqual(asked(room.relay).slice(-3), PLACES);
      assert.equal(bootstraps(room.relay), 2);
    });

    it(`fails if the pages cannot be loaded after ${what}`, async () => {
      await using room = await roomWith({ delayMs: 0 });
      await around(room);
      failAlways(room.relay, PLACES, { status: 503 });
      const fault = room.relay.upstream.fault({ on: "get_live_chat", times: 1, as });
      await assertFails(room.stream);
      assert.equal(fault.fired, 1);
      assert.equal(bootstraps(room.relay), 1 + MAX_FAILURES);
    });
  }
});

describe("a replay", () => {
  it("ends after an answer without contents, without a re-bootstrap", async () => {
    await using room = await roomWith("no-contents", { kind: "replay", foundOn: "popout" });
    await assertEnds(room.stream);
    assert.deepEqual(room.stream.ids, ["before"]);
    const replay = "get_live_chat_replay";
    assert.deepEqual(asked(room.relay), ["sw.js", "popout", "get_live_chat", replay, replay]);
  });

  it("is read on to its end after a re-bootstrap, without loss or duplicates", async () => {
    await using relay = await startRelay();
    const { upstream } = relay;
    const ids = ["one", "two", "three", "four", "five", "six", "seven"];
    upstream.chat(VIDEO, { kind: "replay", pageSize: 2 }).say(ids.map(textAction));
    upstream.fault({ on: "get_live_chat_replay", times: 2, as: { delayMs: 0 } });
    const refusal = upstream.fault({ on: "get_live_chat_replay", times: 1, as: { status: 400 } });
    await using stream = await openStream(relay, { videoId: VIDEO });
    await assertEnds(stream);
    assert.equal(refusal.fired, 1);
    assert.equal(bootstraps(relay), 2);
    assert.deepEqual(stream.ids, ids);
    assertConsecutive(stream.cursors, stream.init.cursor);
  });

  it("does not end where its reading stopped if its video is live again", async () => {
    await using relay = await startRelay();
    const { upstream } = relay;
    const chat = upstream.chat(VIDEO, { kind: "replay", pageSize: 2 });
    chat.say(["one", "two", "three", "four", "five", "six", "seven"].map(textAction));
    upstream.fault({ on: "get_live_chat_replay", times: 2, as: { delayMs: 0 } });
    const refusal = upstream.fault({ on: "get_live_chat_replay", times: 100, as: { status: 400 } });
    await using stream = await openStream(relay, { videoId: VIDEO });
    while (refusal.fired === 0) await upstream.requested("get_live_chat_replay", { videoId: VIDEO });
    chat.change({ kind: "live" });
    await assertFails(stream);
  });
});
