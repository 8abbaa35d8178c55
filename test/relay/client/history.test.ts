/** `history()`: every stored message that is asked for, once and in order, over pages and failures. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ChatError, type HistoryOptions, history } from "../../../client/index.ts";
import { AnsweringFetch, busy, silent } from "../../support/answering-fetch.ts";
import { AnsweringServer, refuses } from "../../support/answering-server.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { B, channel, said, several, withRoom } from "../../support/history.ts";
import { OTHER, ROOM } from "../../support/store-subject.ts";

const page = (next: number | null, ...cursors: number[]) =>
  refuses(200, { messages: cursors.map((cursor) => ({ cursor, type: "chat" })), next });

async function cursorsOf(messages: AsyncIterable<{ cursor: number }>, max = Number.POSITIVE_INFINITY) {
  const cursors: number[] = [];
  for await (const { cursor } of messages) if (cursors.push(cursor) >= max) break;
  return cursors;
}

describe("a history of the SDK on the service", () => {
  it("yields each matching message once and in order, over several pages", async (t) => {
    const messages = several(2500).map((one, n) => (n % 100 === 7 ? said(n, { type: "raid" }) : one));
    const { url } = await withRoom(t, messages);
    const found = async (options: Partial<HistoryOptions> = {}) =>
      (await cursorsOf(history(url, { videoId: ROOM, ...options }))).map((cursor) => cursor - B);
    const range = (first: number, last: number) =>
      Array.from({ length: last - first + 1 }, (_, n) => first + n);
    const raids = range(1, 2500).filter((n) => n % 100 === 8);
    assert.deepEqual(await found(), range(1, 2500));
    assert.deepEqual(await found({ before: B + 2100 }), range(1, 2099));
    assert.deepEqual(await found({ after: B + 20, before: B + 1200 }), range(21, 1199));
    assert.deepEqual(await found({ types: ["raid"] }), raids);
    assert.deepEqual(await found({ types: ["notices"], before: B + 300 }), [8, 108, 208]);
    assert.deepEqual(await found({ q: "SAYS 248" }), [249, 2481, ...range(2482, 2490)]);
    assert.deepEqual(await found({ author: channel("nobody") }), []);
    assert.deepEqual(await found({ to: B }), []);
    assert.equal((await found({ from: new Date(B).toISOString(), types: [], q: "" })).length, 2500);
  });

  it("throws when the service refuses", async (t) => {
    const { url } = await withRoom(t);
    for (const [options, code] of [
      [{ videoId: OTHER }, "NOT_STORED"],
      [{ videoId: ROOM, author: "somebody" }, "INVALID_REQUEST"],
    ] as const)
      await assert.rejects(cursorsOf(history(url, options)), (error) => {
        assert.ok(error instanceof ChatError);
        return error.code === code;
      });
  });
});

describe("a history of the SDK", () => {
  it("requests a page when the loop gets there, with the same bounds and filters", async () => {
    await using server = await AnsweringServer.start(page(6, 5, 6), page(8), page(null, 9));
    const options = { videoId: "v", before: 10, to: "2026-11-20T20:00:00Z", details: true, q: "a b" };
    const messages = history(`${server.url}/prefix`, { ...options, types: ["paid", "chat"] });
    assert.equal(server.calls.length, 0);
    await messages.next();
    await messages.next();
    assert.equal(server.calls.length, 1);
    assert.deepEqual(await cursorsOf(messages), [9]);
    const path =
      "/prefix/v1/messages?videoId=v&before=10&to=2026-11-20T20%3A00%3A00Z&types=paid%2Cchat&q=a+b&details=true&limit=1000";
    assert.deepEqual(
      server.calls.map((call) => call.path),
      [0, 6, 8].map((after) => `${path}&after=${after}`),
    );
  });

  it("tries a page again after a temporary failure, and gives up at the fifth in a row", async () => {
    const clock = new FakeClock();
    const pageOf = (next: number | null, cursor: number) => () =>
      Response.json({ messages: [{ cursor, type: "chat" }], next });
    const { fetch, calls } = new AnsweringFetch(
      clock,
      busy("7"),
      pageOf(1, 1),
      ...[busy(), busy(), busy(), busy()],
      pageOf(2, 2),
      busy(),
    );
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { cursor } of history("http://relay", { videoId: "v", fetch }, clock))
        seen.push(cursor);
    })();
    const failed = assert.rejects(reading, { code: "HTTP", status: 503 });
    await clock.advance(200_000);
    await failed;
    assert.deepEqual([seen, calls.length, calls[1]], [[1, 2], 12, 7000]);
  });

  it("ends by its signal and throws its reason, also between two attempts", async () => {
    const clock = new FakeClock();
    for (const answer of [silent, busy("60")]) {
      const abort = new AbortController();
      const { fetch } = new AnsweringFetch(clock, answer);
      const options = { videoId: "v", fetch, signal: abort.signal };
      const reading = assert.rejects(
        cursorsOf(history("http://relay", options, clock)),
        new RangeError("enough"),
      );
      await clock.advance(1000);
      abort.abort(new RangeError("enough"));
      await reading;
    }
  });

  it("yields nothing more once its signal aborts, and throws its reason on the last page, too", async () => {
    for (const last of [1, 2]) {
      await using server = await AnsweringServer.start(page(null, 1, 2));
      const abort = new AbortController();
      const seen: number[] = [];
      const reading = (async () => {
        for await (const { cursor } of history(server.url, { videoId: "v", signal: abort.signal })) {
          seen.push(cursor);
          if (cursor === last) abort.abort(new RangeError("enough"));
        }
      })();
      await assert.rejects(reading, new RangeError("enough"));
      assert.equal(seen.at(-1), last);
    }
  });

  it("does not go on after pages that do not advance", async () => {
    for (const next of [6, 5]) {
      await using server = await AnsweringServer.start(page(6, 5, 6), page(next, 5, 6));
      const seen: number[] = [];
      const reading = (async () => {
        for await (const { cursor } of history(server.url, { videoId: "v" })) seen.push(cursor);
      })();
      await assert.rejects(reading, { code: "HTTP" });
      assert.deepEqual([seen, server.calls.length], [[5, 6], 2]);
    }
  });

  it("does not take another service's answer for a page", async () => {
    await using server = await AnsweringServer.start(refuses(200, { messages: "none" }));
    const messages = history(server.url, { videoId: "v", retry: () => false });
    await assert.rejects(cursorsOf(messages), { code: "HTTP", status: 200 });
  });
});
