/** Kinds that the upstream may add, or break: counted and logged by name, and the stream continues. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { pino } from "pino";
import { Telemetry } from "../../../src/telemetry/telemetry.ts";
import { readActions } from "../../../src/upstream/readers/actions.ts";
import { READERS } from "../../../src/upstream/readers/reader-by-kind.ts";
import { adding, TEXT } from "../../support/chat-items.ts";
import { bannered, ticking } from "../../support/every-kind.ts";
import { openStream, textAction } from "../../support/opening.ts";
import { POLL_UPDATED } from "../../support/poll-items.ts";
import { startRelay } from "../../support/relay.ts";
import { CONTEXT } from "../../support/room-log.ts";

const VIDEO = "tomorrows-1";

/** By the name under which each is reported. */
const NEW_KINDS: Record<string, object> = {
  liveChatHologramRenderer: adding({ liveChatHologramRenderer: { id: "x", message: { simpleText: "hi" } } }),
  liveChatMoodViewModel: adding({ liveChatMoodViewModel: { id: "x" } }),
  shakeScreenAction: { shakeScreenAction: { durationMs: 500 } },
  // New wrappers around known contents.
  addSpatialChatItemAction: { addSpatialChatItemAction: { item: TEXT } },
  liveChatThreadRenderer: adding({ liveChatThreadRenderer: { item: TEXT } }),
  liveChatTickerHologramRenderer: ticking("liveChatTickerHologramRenderer", TEXT),
  // And known wrappers around new contents.
  liveChatBannerHologramRenderer: bannered({ liveChatBannerHologramRenderer: { id: "x" } }),
  hologramModel: adding({
    elementRenderer: { newElement: { type: { componentType: { model: { hologramModel: {} } } } } },
  }),
};

it("new renderers, actions and wrappers show in metrics and log, and the stream continues", async () => {
  const lines: string[] = [];
  const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line: string) => lines.push(line) }));
  await using relay = await startRelay({ telemetry });
  const chat = relay.upstream.chat(VIDEO, { timeoutMs: 5 });
  chat.say([textAction("before")]);
  await using stream = await openStream(relay, { videoId: VIDEO });
  for (const [kind, action] of Object.entries(NEW_KINDS)) {
    chat.say([{ ...action }, textAction(`after ${kind}`), { ...action }]);
  }
  chat.say([textAction("last")]);
  await stream.until(() => stream.ids.includes("last"));
  const kinds = Object.keys(NEW_KINDS);
  assert.deepEqual(stream.ids, ["before", ...kinds.map((kind) => `after ${kind}`), "last"]);

  const metrics = await telemetry.registry.metrics();
  for (const kind of READERS.keys())
    assert.ok(metrics.includes(`relay_dropped_actions_total{kind="${kind}",reason="bug"} 0\n`), kind);
  const logged = lines.map((line) => JSON.parse(line)).filter(({ kind }) => kind !== undefined);
  for (const kind of kinds) {
    assert.ok(metrics.includes(`relay_dropped_actions_total{kind="${kind}",reason="unknown"} 2\n`), kind);
    const [first, ...others] = logged.filter((line) => line.kind === kind);
    assert.deepEqual([first?.reason, others], ["unknown", []], kind);
    assert.ok(first.sample.includes(`"${kind}":`), `${kind}: ${first.sample}`);
  }
});

it("a broken action is counted and logged, even if one of its kind carried nothing new before", async () => {
  const lines: string[] = [];
  const telemetry = new Telemetry(pino({ level: "warn" }, { write: (line: string) => lines.push(line) }));
  const kind = "updateLiveChatPollAction";
  const take = (...actions: unknown[]) => telemetry.actions.dropped(readActions(actions, CONTEXT).dropped);
  take(POLL_UPDATED, POLL_UPDATED);
  assert.deepEqual(lines, []);
  const broken = { [kind]: null };
  take(POLL_UPDATED, POLL_UPDATED, broken, broken);
  take(broken);
  const logged = lines.map((line) => JSON.parse(line)).map((line) => [line.kind, line.reason, line.sample]);
  assert.deepEqual(logged, [[kind, "broken", JSON.stringify(broken)]]);
  const metrics = await telemetry.registry.metrics();
  for (const [reason, count] of [
    ["silent", 2],
    ["broken", 3],
  ])
    assert.ok(metrics.includes(`relay_dropped_actions_total{kind="${kind}",reason="${reason}"} ${count}\n`));
});

it("a reader that fails is logged as a bug with its stack, counted apart, and the chat goes on", async () => {
  const lines: string[] = [];
  const telemetry = new Telemetry(pino({ level: "error" }, { write: (line: string) => lines.push(line) }));
  const failing = () => ({
    get addChatItemAction() {
      return {
        item: {
          liveChatTextMessageRenderer: new Proxy(
            {},
            { get: fail, has: fail, getOwnPropertyDescriptor: fail },
          ),
        },
      };
    },
  });
  function fail(): never {
    throw new TypeError("a bug");
  }
  const { items, dropped, bugs } = readActions([failing(), textAction("after"), failing()], CONTEXT);
  assert.deepEqual([items.map(({ message }) => message.id), dropped], [["after"], []]);
  for (const bug of bugs) telemetry.actions.readerFailed(bug);
  const [line, ...others] = lines.map((text) => JSON.parse(text));
  assert.deepEqual([line.kind, line.err.message, others], ["addChatItemAction", "a bug", []]);
  assert.match(line.err.stack, /readers\/actions\.ts/);
  const metrics = await telemetry.registry.metrics();
  assert.ok(metrics.includes('relay_dropped_actions_total{kind="addChatItemAction",reason="bug"} 2\n'));
});
