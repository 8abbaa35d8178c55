/**
 * docs/messages.md: its examples are what the service makes of the upstream's, and its tables name all there
 * is.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { DETAILS_BY_TYPE } from "../../../src/http/schemas/message-schemas.ts";
import { NAMED_SCHEMAS, refTo } from "../../../src/http/schemas/schemas.ts";
import { MESSAGE_TYPES } from "../../../src/protocol/kinds.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { CHATS_TABLE } from "../../../src/serving/history/csv.ts";
import { READERS } from "../../../src/upstream/readers/reader-by-kind.ts";
import { MUTATIONS } from "../../support/chat-items.ts";
import { gapAfter, REPLACED, SENT, SILENT } from "../../support/every-kind.ts";
import { readMessages, UTC } from "../../support/read-messages.ts";

const CONTEXT = { receivedAt: Date.parse("2026-01-02T15:04:05Z"), timeOfDay: UTC, mutations: MUTATIONS };
const DOCS = readFileSync(join(import.meta.dirname, "../../../docs/messages.md"), "utf8");
const EXAMPLES = new Map(
  [...DOCS.matchAll(/^### `(\w+)`\n\n```json\n(.*?)\n```$/gms)].map(([, type = "", json = ""]) => [
    type,
    JSON.parse(json) as Message,
  ]),
);

/** The text between a heading and the next of its rank. */
function section(heading: string): string {
  return DOCS.split(`\n## ${heading}\n`)[1]?.split("\n## ")[0] ?? assert.fail(`no ${heading}`);
}
/** The names in the first column of a section's table. */
const rowsOf = (heading: string): string[] =>
  [...section(heading).matchAll(/^\| `(\w+)` \|/gm)].map(([, name = ""]) => name);

/** The message as a room shows it, which stored it at once. */
const stored = (message: Message) => {
  const storedAt = new Date(CONTEXT.receivedAt).toISOString();
  return { ...message, details: { storedAt, ...message.details } };
};
const messagesOf = (action: object): Message[] => readMessages([action], CONTEXT).messages;
const GAP = gapAfter(1767323045678);
const forHolder = readMessages([REPLACED], CONTEXT).items.flatMap(({ replaces }) => replaces?.as ?? []);

describe("docs/messages.md", () => {
  for (const [type, [first]] of Object.entries(SENT)) {
    it(`shows ${type} as it is read`, () =>
      assert.deepEqual([EXAMPLES.get(type)], messagesOf(first).map(stored)));
  }

  it("shows replaced as a room with the message gets it", () => {
    assert.deepEqual([EXAMPLES.get("replaced")], forHolder.map(stored));
  });

  it("shows the gap that a room writes", () => {
    assert.deepEqual(EXAMPLES.get("gap"), stored(GAP));
  });

  it("lists every type, and nothing else", () => {
    const types = MESSAGE_TYPES.toSorted();
    assert.deepEqual(rowsOf("Types").sort(), types);
    assert.deepEqual([...EXAMPLES.keys()].sort(), types);
  });

  it("lists every field of the details of any kind", () => {
    const messages = [...Object.values(SENT).flat().flatMap(messagesOf), ...forHolder, GAP].map(stored);
    const fields = new Set(messages.flatMap(({ details }) => Object.keys(details)));
    assert.deepEqual(new Set(rowsOf("Details")), fields.add("offsetMs"));
  });

  it("lists the columns of CSV in their order", () => {
    assert.deepEqual(rowsOf("CSV").join(","), CHATS_TABLE.header.trimEnd());
  });

  it("lists every known kind in the right place", () => {
    const [sent = "", silent = ""] = section("Upstream kinds").split(
      "counts these kinds but does not send them",
    );
    for (const [kind, reader] of READERS) {
      assert.ok((reader === "silent" ? silent : sent).includes(`\`${kind}\``), kind);
    }
  });
});

describe("the actions of every kind", () => {
  it("give the messages that the API describes, and no other details", () => {
    const described = { ...refTo("Message"), components: { schemas: NAMED_SCHEMAS } };
    const validate = new Ajv2020({ strict: false }).compile(described);
    for (const message of [...Object.values(SENT).flat().flatMap(messagesOf), ...forHolder, GAP]) {
      assert.ok(validate(message), `${message.type}: ${JSON.stringify(validate.errors)}`);
      const { properties } = DETAILS_BY_TYPE[message.type];
      for (const field of Object.keys(message.details))
        assert.ok(field in properties, `${message.type} ${field}`);
    }
  });

  it("give one whole message of their type", () => {
    for (const [type, actions] of Object.entries(SENT)) {
      for (const action of actions)
        assert.deepEqual(
          messagesOf(action).map((message) => message.type),
          [type],
        );
    }
  });

  it("give nothing if they are listed as silent", () => {
    for (const action of SILENT) {
      const { messages, dropped } = readMessages([action], CONTEXT);
      assert.deepEqual([messages, dropped.map(({ reason }) => reason)], [[], ["silent"]]);
    }
  });

  it("use every reader that exists", () => {
    const used = JSON.stringify([SENT, SILENT]);
    for (const kind of READERS.keys()) assert.ok(used.includes(`"${kind}":`), kind);
  });
});
