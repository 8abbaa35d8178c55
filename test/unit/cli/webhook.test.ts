/** The webhook of `watch --post`: how long it waits for its receiver. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Webhook } from "../../../src/cli/reader/webhook.ts";
import type { ReceivedMessage } from "../../../src/formats/received-message.ts";
import { AnsweringServer, refuses } from "../../support/answering-server.ts";

const MESSAGE = { cursor: 1, type: "chat", id: "m", message: "words" } as unknown as ReceivedMessage;

describe("a webhook whose receiver asks for time", () => {
  // A date has whole seconds. Without such a wait, the next attempt comes after one second.
  for (const [form, retryAfter] of [
    ["seconds", () => "2"],
    ["a date", () => new Date(Date.now() + 3000).toUTCString()],
  ] as const)
    it(`gets it, in ${form}`, async () => {
      await using server = await AnsweringServer.start(
        (...given) => refuses(503, "", { "retry-after": retryAfter() })(...given),
        refuses(200, ""),
      );
      const webhook = new Webhook(new URL(server.url), undefined, "video", () => {});
      await webhook.post(MESSAGE, new AbortController().signal);
      const [waitedMs = 0] = server.waits;
      assert.ok(waitedMs > 1900, `${waitedMs} ms`);
    });
});
