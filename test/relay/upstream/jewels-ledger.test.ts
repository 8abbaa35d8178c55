/**
 * On real sockets: a room's jewels add up to the gifts that were given, and an answer's extras belong to the
 * right messages.
 */
import assert from "node:assert/strict";
import { join } from "node:path";
import { it } from "node:test";
import { startSimulator } from "../../../simulator/index.ts";
import type { Chat } from "../../../simulator/simulated-chat.ts";
import { GIFTS } from "../../../simulator/words.ts";
import type { MessageOf } from "../../../src/protocol/message.ts";
import { ExpectedMessages } from "../../chaos/expected-messages.ts";
import { type PollBody, pollOf, post, session } from "../../support/api.ts";
import { gift, giftWidget } from "../../support/jewels.ts";
import { openStream, textAction } from "../../support/opening.ts";
import { startRelay } from "../../support/relay.ts";
import { temporaryFolder } from "../../support/store-subject.ts";
import type { Received } from "../../support/stream.ts";

const VIDEO = "jewels-sum1";

/** The sum of all gifts: each message once. */
function given(ledger: Chat["ledger"]): number {
  const paid = new Map(ledger.map(({ says }) => [says?.id, says?.jewels ?? 0]));
  return [...paid.values()].reduce((sum, jewels) => sum + jewels, 0);
}

/** The sum of the gifts, by the gift's name in each message, and by the price if it has one. */
function received(messages: readonly Received["message"][]): number {
  let sum = 0;
  for (const message of messages) {
    if (message.type !== "jewels") continue;
    const { gift, count } = (message as MessageOf<"jewels">).details.jewels;
    const { price } =
      GIFTS.find(({ name, japanese }) => [name.toLowerCase(), japanese].includes(gift.toLowerCase())) ??
      assert.fail(`no gift is a ${gift}`);
    assert.ok(count === undefined || count === price, `${gift} for ${count}`);
    sum += price;
  }
  return sum;
}

it("the sum over all combos equals the ledger's, through expired tokens and restarts", async (t) => {
  const settings = { RELAY_STORE: `sqlite:${join(await temporaryFolder(t), "relay.db")}` };
  await using upstream = await startSimulator({ seed: 5 });
  const chat = upstream.chat(VIDEO, { timeoutMs: 5, kinds: ["jewels", "sticker"] });
  const messages: Received["message"][] = [];
  let lastEventId: number | undefined;
  for (let life = 0; life < 3; life++) {
    await using relay = await startRelay({ upstream, settings });
    const resumed = lastEventId === undefined ? {} : { lastEventId };
    await using stream = await openStream(relay, { videoId: VIDEO, details: true, ...resumed });
    for (let round = 0; round < 9; round++) {
      chat.say(1 + (round % 7));
      if (round % 3 === 0) chat.expireTokens();
      await upstream.requested(round % 3 === 0 ? "popout" : "get_live_chat");
    }
    const marker = chat.say([textAction(`life ${life}`)]);
    await stream.until(() => marker.every((id) => stream.ids.includes(id)));
    // A chat without words gives no proof that nothing is missing.
    messages.push(...stream.messages.map(({ message }) => message).filter(({ type }) => type !== "gap"));
    lastEventId = stream.cursors.at(-1);
    // Messages that are read only later.
    chat.say(10);
  }
  const judge = new ExpectedMessages();
  for (const entry of chat.ledger.slice(0, -10)) judge.hear(entry);
  const ids = messages.map(({ id }) => id);
  assert.deepEqual(ids.toSorted(), judge.messages.map(({ id }) => id).sort());
  const last = chat.ledger.length - 10;
  assert.equal(received(messages), given(chat.ledger.slice(0, last)));
  assert.ok(given(chat.ledger) > 2000 && ids.some((id) => /:[3-9]$/.test(id)), "there were combos");
});

it("both forms in one answer are also one message for callers that poll", async () => {
  await using relay = await startRelay();
  const chat = relay.upstream.chat(VIDEO);
  chat.say([gift("C", "sent Gold coin for 10 Jewels"), giftWidget("W", 1), giftWidget("W", 2)]);
  const first = await session(relay.url, { videoId: VIDEO, details: true });
  chat.say([giftWidget("X", 1), gift("D", "sent Gold coin"), gift("D", "sent Gold coin")]);
  const { body } = await post<PollBody>(relay.url, "/v1/poll", pollOf(first));
  const idsIn = ({ messages }: PollBody) => messages.map(({ id }) => id);
  assert.deepEqual([idsIn(first), idsIn(body)], [["C", "W:2"], ["X"]]);
});

const EXTRAS = ["rank", "likes", "replies", "replyTo", "months", "level", "giver", "gift"];

it("ranks, likes, replies, their targets, months, levels, givers and counts are those of the ledger", async () => {
  await using relay = await startRelay();
  const kinds = [
    ...(["text", "paid", "reply", "counts"] as const),
    ...(["membership", "upgrade", "milestone", "gift", "redemption"] as const),
  ];
  const chat = relay.upstream.chat(VIDEO, { kind: "replay", kinds });
  chat.say(2000);
  await using stream = await openStream(relay, { videoId: VIDEO, details: true });
  await stream.ended();
  const extras = stream.messages.map(({ message: { details = {} } }) =>
    Object.fromEntries(Object.entries(details).filter(([name]) => EXTRAS.includes(name))),
  );
  const said = chat.ledger.flatMap(({ says }) => (says ? [says.extras ?? {}] : []));
  assert.deepEqual(extras, said);
  for (const name of EXTRAS)
    assert.ok(
      said.some((one) => Object.hasOwn(one, name)),
      name,
    );
});
