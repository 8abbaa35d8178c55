/** Questions by the chat's own time: dates, and places in the video of a replay. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { chatKey } from "../../../src/protocol/chat-key.ts";
import type { Details } from "../../../src/protocol/kinds.ts";
import { type Answer, ask } from "../../support/api.ts";
import { B, type Page, placesOf, said, serve } from "../../support/history.ts";
import { own } from "../../support/store-reading.ts";
import { openFor, ROOM, wallAt } from "../../support/store-subject.ts";

type Outside = Record<string, string | number>;

const at = (ms: number) => new Date(B + ms).toISOString();

/** A service with one chat, whose messages have these details. */
async function withChat(t: TestContext, kind: "live" | "replay", details: readonly Details[]) {
  const store = await openFor(t, "memory:", wallAt(B + 3_600_000));
  const { url } = await serve(t, store);
  const hold = await own(store, kind === "live" ? ROOM : chatKey(ROOM, "replay"));
  await store.append(
    hold,
    hold.head,
    details.map((each, n) => said(n, { details: each })),
    "",
  );
  const base = hold.head;
  const get = (query: Record<string, string>) =>
    ask<Page & { outside?: Outside }>(
      url,
      `/v1/messages?${new URLSearchParams({ videoId: ROOM, ...query })}`,
    );
  const found = async (query: Record<string, string>) => {
    const answer = await get(query);
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    return answer.body.messages.map(({ cursor }) => cursor - base);
  };
  return { get, found };
}

describe("the time at which messages were said", () => {
  it("never goes back: a message with an earlier time or none counts as said with the last one", async (t) => {
    const times = [undefined, 1000, 5000, 2000, undefined, 9000, undefined];
    const details = times.map((ms) => (ms === undefined ? {} : { publishedAt: at(ms) }));
    const { found } = await withChat(t, "live", details);
    assert.deepEqual(await found({ saidFrom: at(1000) }), [2, 3, 4, 5, 6, 7]);
    assert.deepEqual(
      await found({ saidFrom: at(3000) }),
      [3, 4, 5, 6, 7],
      "the fourth was said before the third",
    );
    assert.deepEqual(await found({ saidTo: at(5000) }), [1, 2]);
    assert.deepEqual(await found({ saidFrom: `${B + 2000}`, saidTo: at(9000) }), [3, 4, 5]);
    assert.deepEqual(await found({ saidFrom: at(0), saidTo: at(1000) }), []);
    assert.deepEqual(await found({ saidFrom: at(1000), from: at(3_600_001) }), []);
  });

  it("is found in the form that a message has it, in microseconds", async (t) => {
    const publishedAt = at(5000).replace("Z", "123Z");
    const { found } = await withChat(t, "live", [{ publishedAt: at(4000) }, { publishedAt }]);
    assert.deepEqual(await found({ saidFrom: publishedAt }), [2]);
    assert.deepEqual(await found({ saidTo: publishedAt }), [1]);
  });

  it("of a replay is also a place in the video, in each form", async (t) => {
    const offsets = [-12_000, 0, 750_000, 3_723_000];
    const { found } = await withChat(
      t,
      "replay",
      offsets.map((offsetMs) => ({ offsetMs })),
    );
    for (const [saidFrom, first] of [
      ["-0:12", 1],
      ["-0:11", 2],
      ["0:00", 2],
      ["12:30", 3],
      ["PT12M30S", 3],
      ["PT12M", 3],
      ["12:30.001", 4],
      ["1:02:03", 4],
      ["pt1h2m3s", 4],
    ] as const)
      assert.deepEqual(await found({ saidFrom }), [1, 2, 3, 4].slice(first - 1), saidFrom);
    assert.deepEqual(await found({ saidTo: "PT12M30S" }), [1, 2]);
  });

  it("cannot be a place in the video of a live chat, nor any other text", async (t) => {
    const { get } = await withChat(t, "live", [{ publishedAt: at(0) }]);
    const refused = async (query: Record<string, string>): Promise<Answer> => get(query);
    const offset = await refused({ saidFrom: "12:30" });
    assert.deepEqual([offset.status, (offset.body as { code: string }).code], [400, "INVALID_REQUEST"]);
    assert.match((offset.body as { message: string }).message, /^saidFrom: only a replay/);
    for (const saidTo of ["noon", "12:60", "PT", "2026-01-01"])
      assert.match(
        ((await refused({ saidTo })).body as { message: string }).message,
        /^saidTo: must be /,
        saidTo,
      );
  });

  it("at which nothing was said is answered with the times of the stored messages", async (t) => {
    const { get } = await withChat(t, "replay", [{ offsetMs: -500, publishedAt: at(0) }, { offsetMs: 9000 }]);
    const storedAt = at(3_600_000);
    const outside = { storedFrom: storedAt, storedTo: storedAt, saidFrom: at(0), saidTo: at(0) };
    for (const query of [{ saidFrom: "1:00" }, { to: at(0) }, { saidFrom: at(1) }]) {
      const { body } = await get(query);
      assert.deepEqual(body.messages, []);
      assert.deepEqual(body.outside, { ...outside, offsetFromMs: -500, offsetToMs: 9000 });
    }
    assert.equal((await get({ saidFrom: "0:01" })).body.outside, undefined);
    assert.equal((await get({ q: "nobody says this" })).body.outside, undefined);
  });
});

it("text= looks for words, and not for names", async (t) => {
  const store = await openFor(t, "memory:", wallAt(B));
  const { url } = await serve(t, store);
  const hold = await own(store, ROOM);
  const messages = [said(1, { author: "@hello", message: "bye" }), said(2, { message: "HELLO you" })];
  await store.append(hold, hold.head, messages, "");
  const places = async (query: string) =>
    placesOf(await ask<Page>(url, `/v1/messages?videoId=${ROOM}&${query}`))[0];
  assert.deepEqual(await places("q=hello"), [1, 2]);
  assert.deepEqual(await places("text=hello"), [2]);
  assert.deepEqual(await places("text=bye&q=hello"), [1]);
});
