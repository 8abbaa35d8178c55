/** The stored position of reading a chat: its text, and why a text cannot be read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decodePosition, encodePosition, UnreadablePosition } from "../../../src/upstream/position.ts";
import { POSITION } from "../../support/position.ts";

describe("a position", () => {
  it("survives its text, except for a replay's start", () => {
    const credentials = { ...POSITION.credentials, visitorData: "visitor" };
    const inTop = { ...POSITION, view: "top", offered: "a token of all messages" } as const;
    const ofPage = { ...POSITION, isOfPage: true };
    for (const position of [POSITION, inTop, ofPage, { ...POSITION, credentials, continuation: null }]) {
      assert.deepEqual(decodePosition(encodePosition({ ...position, playerOffsetMs: 0 })), position);
    }
  });

  it("reports why a text cannot be read", () => {
    const textWith = (changed: object) =>
      JSON.stringify({ ...JSON.parse(encodePosition(POSITION)), ...changed });
    for (const [text, why] of [
      ["nonsense", "it is not a JSON object"],
      ["[]", "it is not a JSON object"],
      [textWith({ version: 2 }), "its version is 2"],
      [textWith({ version: undefined }), "its version is undefined"],
      [textWith({ chatType: "smoke" }), "it has no known chat type"],
      [textWith({ continuation: undefined }), "it has no continuation"],
      [textWith({ view: undefined }), "it has no view"],
      [textWith({ pair: { ...POSITION.pair, client: "toaster" } }), "its client is not known"],
      [textWith({ pair: { client: "WEB" } }), "its endpoint is not known"],
      [textWith({ credentials: { apiKey: "key" } }), "it has no credentials"],
    ] as const) {
      assert.throws(
        () => decodePosition(text),
        (error) => error instanceof UnreadablePosition && error.message === why,
        why,
      );
    }
  });
});
