/**
 * Every synthetic action with one field missing or changed, at any depth and one at a time: none
 * throws or touches another message, and each either gives a well-formed message within its bounds or is
 * counted.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { assertHarmless, assertWellFormed, CONTEXT, mutants, witness } from "../../support/action-mutants.ts";
import { replaying } from "../../support/chat-items.ts";
import { SENT, SILENT } from "../../support/every-kind.ts";
import { POLL_OPENED } from "../../support/poll-items.ts";
import { readMessages } from "../../support/read-messages.ts";

describe("a missing, empty, mistyped or huge field neither throws nor touches another message", () => {
  it("in synthetic actions of every kind, live and in a replay", () => {
    const actions = [...Object.values(SENT).flat(), ...SILENT, replaying("5000", ...SILENT, ...SENT.poll)];
    const tried = actions.map((action, i) => assertHarmless(action, `action ${i}`));
    assert.ok(tried.reduce((sum, count) => sum + count) > 20_000, `${tried}`);
  });

  it("while a poll is open", () => {
    const closing = { closeLiveChatActionPanelAction: { targetPanelId: "panel-1" } };
    for (const mutant of mutants(POLL_OPENED)) {
      const { messages } = readMessages([POLL_OPENED, mutant, closing, witness], CONTEXT);
      for (const message of messages) assertWellFormed(message, JSON.stringify(mutant).slice(0, 1000));
      assert.equal(messages.at(-1)?.id, "witness");
    }
  });
});
