/** `watch` after its connection was open: it reconnects for ever, whatever the service answers meanwhile. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  AnsweringServer,
  cuts,
  END,
  init,
  message,
  messages,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { outcome } from "../support/command.ts";

const VIDEO = "dQw4w9WgXcQ";
const RETRY = "retry: 10\n\n";

describe("a refusal after the chat was open", () => {
  for (const [status, code] of [
    [404, "NO_LIVE_CHAT"],
    [400, "INVALID_REQUEST"],
    [403, undefined],
  ] as const) {
    it(`does not end watch (${status} ${code ?? "of a proxy"})`, async () => {
      await using server = await AnsweringServer.start(
        cuts(RETRY, init(0), message(1)),
        refuses(status, code ? { code, message: "No." } : "<h1>No.</h1>"),
        streams(init(1), messages(2, 3), END),
      );
      const { code: exit, out, error } = await outcome(["watch", VIDEO, "--server", server.url, "--json"]);
      assert.deepEqual([exit, out.split("\n").length - 1], [0, 3], error);
      const [cut = "", refused = "", ...rest] = error.split("\n");
      assert.match(cut, /; reconnecting$/);
      assert.match(refused, /; reconnecting$/);
      assert.equal(refused.includes(`${code}: No.`), code !== undefined, refused);
      assert.deepEqual(rest, [
        "livechat-relay: connected",
        "livechat-relay: the chat is over: no more continuations",
        "",
      ]);
    });
  }

  it("ends export, which says why and nothing else", async () => {
    await using server = await AnsweringServer.start(
      cuts(RETRY, init(0), message(1)),
      refuses(404, { code: "NO_LIVE_CHAT", message: "No." }),
    );
    const { code, error } = await outcome(["export", VIDEO, "--server", server.url, "--follow"]);
    assert.equal(code, 1);
    assert.match(
      error,
      /; reconnecting\nlivechat-relay: the file has .*\nlivechat-relay: NO_LIVE_CHAT: No\.\n$/,
    );
  });
});
