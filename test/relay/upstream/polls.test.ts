/**
 * Polls from answer to answer: a message when one opens, when its contents change, and once when it closes.
 */
import assert from "node:assert/strict";
import { it } from "node:test";
import type { Details } from "../../../src/protocol/kinds.ts";
import { decodePosition, encodePosition } from "../../../src/upstream/position.ts";
import { NO_PANELS, type Panels } from "../../../src/upstream/readers/panels.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import { frozen } from "../../support/frozen.ts";
import { textAction } from "../../support/opening.ts";
import {
  BANNER_REMOVED,
  POLL_CLOSED,
  POLL_IN_BANNER,
  POLL_OPENED,
  POLL_UPDATED,
  poll,
} from "../../support/poll-items.ts";
import { POSITION } from "../../support/position.ts";
import { readMessages, UTC } from "../../support/read-messages.ts";

const VIDEO = "many-polls1";
const updated = (votes: string, ...ratios: number[]) => ({
  updateLiveChatPollAction: { pollToUpdate: { pollRenderer: poll(votes, ...ratios) } },
});

function read(actions: readonly unknown[], panels: Panels = NO_PANELS) {
  return readMessages(frozen(structuredClone(actions)), {
    receivedAt: 0,
    timeOfDay: UTC,
    panels: frozen(panels),
  });
}
const pollOf = (message?: { details?: Details }) => message?.details?.poll;
const states = ({ messages }: ReturnType<typeof read>) =>
  messages.map((message) => `${pollOf(message)?.state} ${pollOf(message)?.votes}`);

it("a closing repeats the last state of the poll, under an id of its own", () => {
  const opened = read([POLL_OPENED]);
  const { messages } = read([POLL_UPDATED, POLL_CLOSED], opened.panels);
  const [shown, closed] = messages;
  assert.equal(closed?.message, "Wall or floor?");
  assert.deepEqual(pollOf(closed), { ...pollOf(shown), state: "closed" });
  assert.notEqual(closed?.id, shown?.id);
});

it("a panel may have another id than its poll", () => {
  assert.deepEqual(states(read([POLL_OPENED, POLL_UPDATED, POLL_CLOSED])), [
    "open 0",
    "updated 1972",
    "closed 1972",
  ]);
  const byPollId = { closeLiveChatActionPanelAction: { targetPanelId: "poll-1" } };
  assert.deepEqual(states(read([POLL_UPDATED, byPollId])), ["updated 1972", "closed 1972"]);
});

it("a poll in a banner closes just before its banner is removed, also by a later answer", () => {
  const shown = read([POLL_IN_BANNER]);
  const once = read([POLL_IN_BANNER, BANNER_REMOVED, BANNER_REMOVED]).messages;
  const later = read([BANNER_REMOVED], shown.panels).messages;
  for (const [closed, removed] of [once.slice(1), later]) {
    assert.equal(closed?.type, "poll");
    assert.deepEqual(pollOf(closed), { ...pollOf(shown.messages[0]), state: "closed" });
    assert.match(closed?.id ?? "", /^poll:banner-1:/);
    assert.equal(removed?.id, "banner_removed:banner-1");
  }
  assert.deepEqual(
    once.map(({ type }) => type),
    ["poll", "poll", "banner_removed", "banner_removed"],
  );
  assert.deepEqual(
    read([BANNER_REMOVED]).messages.map(({ type }) => type),
    ["banner_removed"],
  );
});

it("the closing of a poll that was closed before, or never shown, gives no message", () => {
  const { messages, dropped } = read([POLL_CLOSED, POLL_OPENED, POLL_CLOSED, POLL_CLOSED]);
  assert.equal(messages.length, 2);
  assert.deepEqual(
    dropped.map(({ reason, count }) => [reason, count]),
    [["silent", 2]],
  );
});

it("the id changes with the poll's contents, and only with them", () => {
  const id = (action: object) => read([action]).messages[0]?.id;
  const shown = id(updated("1,972 votes", 0.47, 0.53));
  assert.equal(shown, id(POLL_UPDATED));
  const later = structuredClone(POLL_UPDATED);
  const { metadataText } = later.updateLiveChatPollAction.pollToUpdate.pollRenderer.header.pollHeaderRenderer;
  metadataText.runs[2] = { text: "20 min ago" };
  assert.equal(id(later), shown);
  const others = [updated("1,973 votes", 0.47, 0.53), updated("1,972 votes", 0.46, 0.54), POLL_OPENED].map(
    id,
  );
  assert.equal(new Set([shown, ...others]).size, 4);
});

it("an update with the contents of the opening gives no message", () => {
  const opened = read([POLL_OPENED]);
  const again = read([updated("0 votes")], opened.panels);
  assert.deepEqual([again.messages, again.panels], [[], opened.panels]);
  assert.equal(again.dropped[0]?.reason, "silent");
});

it("a repeated state gives one message per answer, with the same id in every answer", () => {
  const first = read([POLL_OPENED, POLL_UPDATED, POLL_UPDATED, POLL_CLOSED, POLL_CLOSED]);
  assert.deepEqual(states(first), ["open 0", "updated 1972", "closed 1972"]);
  const again = read([POLL_UPDATED, POLL_CLOSED], first.panels);
  assert.deepEqual(again.messages, first.messages.slice(1));
});

it("a room gets each state of a poll once, and the last one again when the poll closes", async () => {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { page: 0 });
  const stream = await relay.enter({ videoId: VIDEO, details: true });
  const opening = { updateLiveChatPollAction: { pollToUpdate: { pollRenderer: poll("0 votes") } } };
  for (const action of [POLL_OPENED, opening, POLL_UPDATED, opening, POLL_UPDATED, POLL_CLOSED]) {
    chat.say([structuredClone(action)]);
    await relay.requested("get_live_chat", { count: 2, finished: true });
  }
  chat.say([textAction("after")]);
  await stream.until(() => stream.ids.includes("after"));
  const sent = stream.messages.map(({ message }) => pollOf(message)?.state ?? message.type);
  assert.deepEqual(sent, ["open", "updated", "closed", "chat"]);
});

for (const [where, actions, closing] of [
  ["a panel", [POLL_OPENED, POLL_UPDATED], POLL_CLOSED],
  ["a banner", [POLL_IN_BANNER], BANNER_REMOVED],
] as const)
  it(`a poll in ${where} also closes if its room was released, and opened by a page without it`, async () => {
    const relay = new VirtualRelay();
    const chat = relay.upstream.chat(VIDEO, { page: 0 });
    const before = await relay.enter({ videoId: VIDEO, details: true });
    chat.say([...structuredClone(actions), textAction("before")]);
    await before.until(() => before.ids.includes("before"));
    before.leave();
    await relay.advance(100_000);
    relay.upstream.fault({ on: "popout", times: Number.POSITIVE_INFINITY, as: { status: 503 } });
    const lastEventId = before.cursors.at(-1) ?? 0;
    const stream = await relay.enter({ videoId: VIDEO, details: true, lastEventId });
    chat.say([structuredClone(closing), textAction("after")]);
    await stream.until(() => stream.ids.includes("after"));
    const states = stream.messages.map(({ message }) => pollOf(message)?.state);
    assert.deepEqual(
      states.filter((state) => state !== undefined),
      ["closed"],
    );
  });

it("votes are a whole number, or absent", () => {
  for (const [text, votes] of [
    ["0 votes", 0],
    ["1 vote", 1],
    ["13,869 votes", 13869],
    ["1.234.567 Stimmen", 1234567],
    ["12 345 голосов", 12345],
    ["1234票", 1234],
    ["1.3K votes", undefined],
    ["12K votes", undefined],
    ["votes: 3", undefined],
    ["", undefined],
  ] as const) {
    assert.equal(pollOf(read([updated(text)]).messages[0])?.votes, votes, text);
  }
});

it("polls that never close are forgotten, the least recently updated first", () => {
  const open = (n: number) => ({
    updateLiveChatPollAction: {
      pollToUpdate: { pollRenderer: { ...poll("0 votes"), liveChatPollId: `poll-${n}` } },
    },
  });
  const { panels } = read([...Array(25).keys()].map(open));
  assert.deepEqual(
    panels.map(({ pollId }) => pollId),
    [...Array(20).keys()].map((n) => `poll-${n + 5}`),
  );
  const { panels: withUpdated } = read([...[...Array(20).keys()].map(open), ...[0, 20, 21].map(open)]);
  assert.deepEqual(
    withUpdated.map(({ pollId }) => pollId),
    [...[...Array(17).keys()].map((n) => `poll-${n + 3}`), "poll-0", "poll-20", "poll-21"],
  );
});

it("panels survive in a position's text, and odd ones are ignored", () => {
  const { panels } = read([POLL_OPENED, POLL_UPDATED]);
  const position = { ...POSITION, panels };
  assert.deepEqual(decodePosition(encodePosition(position)), position);
  const odd = [
    undefined,
    null,
    7,
    "x",
    {},
    [null, 7, {}, { panelId: "p", pollId: "p" }, { ...panels[0], poll: {} }],
  ];
  for (const panels of odd) {
    assert.deepEqual(
      decodePosition(JSON.stringify({ ...JSON.parse(encodePosition(position)), panels })).panels,
      [],
    );
  }
});

it("a poll that was open when the service stopped is closed after the restart", async () => {
  const relay = new VirtualRelay({ hasDisk: true });
  const chat = relay.upstream.chat(VIDEO, { page: 0 });
  const before = await relay.enter({ videoId: VIDEO });
  chat.say([POLL_OPENED, POLL_UPDATED]);
  await before.untilMessages(2);
  await relay.restart();
  const viewer = await relay.enter({ videoId: VIDEO, backfill: 0, details: true });
  chat.say([POLL_CLOSED, POLL_CLOSED, textAction("after")]);
  await viewer.until(() => viewer.ids.includes("after"));
  const told = viewer.messages.map(({ message }) => pollOf(message)?.state ?? message.type);
  assert.deepEqual(told, ["closed", "chat"]);
});

it("a poll that opened while the room could not be read is closed", async () => {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { holdsMessages: 1 });
  chat.say([textAction("before")]);
  const viewer = await relay.enter({ videoId: VIDEO, details: true });
  const throttled = relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
  await relay.until(() => throttled.fired === 1);
  chat.say([POLL_OPENED, textAction("during")]);
  await viewer.until(() => viewer.ids.includes("during"));
  chat.say([POLL_CLOSED]);
  await relay.requested("get_live_chat", { finished: true });
  chat.say([textAction("after")]);
  await viewer.until(() => viewer.ids.includes("after"));
  const sent = viewer.messages.map(({ message }) => pollOf(message)?.state ?? message.type);
  assert.deepEqual(sent, ["chat", "open", "chat", "closed", "chat"]);
});
