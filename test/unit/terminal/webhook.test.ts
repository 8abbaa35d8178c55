/** The webhook of `watch --post`: how long it waits for its receiver. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Clock, systemClock } from "../../../src/base/clock.ts";
import type { ReceivedMessage } from "../../../src/serving/history/received-message.ts";
import { Webhook } from "../../../terminal/reader/webhook.ts";
import { AnsweringServer, refuses } from "../../support/answering-server.ts";

const MESSAGE = { cursor: 1, type: "chat", id: "m", message: "words" } as unknown as ReceivedMessage;
const NOW = Date.UTC(2026, 0, 1);
const at = (ms: number) => new Date(NOW + ms).toUTCString();

describe("a webhook whose receiver asks for time", () => {
  for (const [form, retryAfter, waitMs] of [
    ["in seconds", "2", 2000],
    ["as a date", at(3000), 3000],
    ["for more than an hour", "7200", 3_600_000],
    ["until a time that has passed", at(-3000), 0],
    ["in words", "soon", 0],
  ] as const)
    it(`waits ${waitMs} ms before the usual second: ${form}`, async () => {
      await using server = await AnsweringServer.start(
        refuses(503, "", { "retry-after": retryAfter }),
        refuses(200, ""),
      );
      const waits: number[] = [];
      const clock: Clock = {
        ...systemClock,
        now: () => NOW,
        sleep: async (ms) => void waits.push(ms),
      };
      const webhook = new Webhook(new URL(server.url), undefined, "video", () => {}, clock);
      await webhook.post(MESSAGE, new AbortController().signal);
      assert.deepEqual(waits, [waitMs, 1000]);
      assert.equal(server.calls.length, 2);
    });
});
