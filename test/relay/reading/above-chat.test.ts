/**
 * Banners and polls that were taken down while nobody read the chat: they are taken down behind the gap, if
 * the popout page that was loaded after it does not show them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { realisticHold } from "../../../simulator/index.ts";
import type { JsonObject } from "../../../simulator/plain-json.ts";
import type { Scenario } from "../../../simulator/scenario.ts";
import type { Details } from "../../../src/protocol/kinds.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { adding } from "../../support/chat-items.ts";
import { bannered } from "../../support/every-kind.ts";
import {
  BANNER_REMOVED,
  POLL_CLOSED,
  POLL_IN_BANNER,
  POLL_OPENED,
  POLL_UPDATED,
} from "../../support/poll-items.ts";

const VIDEO = "above-chat1";
/** The upstream keeps messages for ten seconds. */
const AWAY_MS = 20_000;
const PINNED = bannered(
  { liveChatTextMessageRenderer: { id: "pinned-1", message: { simpleText: "rules" } } },
  { actionId: "banner-2" },
);
const NOTICE = adding({
  liveChatViewerEngagementMessageRenderer: {
    id: "notice-1",
    icon: { iconType: "YOUTUBE_ROUND" },
    message: { simpleText: "Subscribers-only mode." },
  },
}) as JsonObject;
const UNPINNED = { removeBannerForLiveChatCommand: { targetActionId: "banner-2" } };
const ALL_SHOWN = [PINNED, POLL_OPENED, POLL_UPDATED, POLL_IN_BANNER];
const ALL_DOWN = [UNPINNED, POLL_CLOSED, BANNER_REMOVED];

interface Away {
  /** Said while nobody reads. */
  meanwhile: JsonObject[];
  awayMs?: number;
  scenario?: Partial<Scenario>;
  settings?: { RELAY_GRACE_MS: string };
}

/** A room whose service is killed, after banners and polls were shown, and started again later. */
async function readAgain({ meanwhile, awayMs = AWAY_MS, scenario = {}, settings }: Away) {
  const relay = new VirtualRelay({ hasDisk: true, settings: { RELAY_GRACE_MS: "600000", ...settings } });
  const limits = { page: 10, holdsMs: 10_000, holdsMessages: 10 };
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], ...limits, ...scenario });
  chat.say(1);
  const before = await relay.enter({ videoId: VIDEO });
  await before.untilMessages(1);
  chat.say(structuredClone(ALL_SHOWN));
  const [shown = ""] = chat.say(5).slice(-1);
  await before.until(() => before.ids.includes(shown));
  const pause = async (actions: JsonObject[], ms: number) => {
    relay.kill();
    await relay.advance(ms);
    chat.say(structuredClone(actions));
    chat.say(30);
    relay.start();
  };
  await pause(meanwhile, awayMs);
  const viewer = await relay.enter({
    videoId: VIDEO,
    lastEventId: before.cursors.at(-1) ?? 0,
    details: true,
  });
  const isRead = () => viewer.until(() => viewer.ids.includes(chat.ledger.at(-1)?.id ?? ""));
  await isRead();
  chat.say(1);
  await isRead();
  return { relay, chat, viewer, pause, told: toldTo(viewer) };
}

/** Everything but chat messages, in the order of the log. */
function toldTo({ messages }: VirtualViewer): string[] {
  return messages.flatMap(({ message }) => {
    if (message.type === "chat") return [];
    const { poll }: Details = message.details as Details;
    const id = message.id.replace(/^(gap|poll:.*):[\w-]+$/, "$1");
    return [poll ? `${id} ${poll.state} ${poll.votes ?? ""}`.trim() : id];
  });
}

const TAKEN_DOWN = [
  "gap",
  "banner_removed:banner-2",
  "poll:poll-1 closed 1972",
  "poll:banner-1 closed",
  "banner_removed:banner-1",
];

describe("a banner or a poll above the chat", () => {
  it("is taken down once, behind the gap, if the popout page no longer shows it", async () => {
    const { told, chat, relay, pause } = await readAgain({ meanwhile: ALL_DOWN });
    assert.deepEqual(told, TAKEN_DOWN);
    await pause([], AWAY_MS);
    const viewer = await relay.enter({ videoId: VIDEO, backfill: 500 });
    await viewer.until(() => viewer.ids.includes(chat.ledger.at(-1)?.id ?? ""));
    const removed = viewer.ids.filter((id) => id.startsWith("banner_removed:"));
    assert.deepEqual(removed, ["banner_removed:banner-2", "banner_removed:banner-1"]);
  });

  it("is taken down, too, where the next viewer opens the room again", async () => {
    const { told } = await readAgain({ meanwhile: ALL_DOWN, settings: { RELAY_GRACE_MS: "1000" } });
    assert.deepEqual(told, TAKEN_DOWN);
  });

  it("stays where the page shows it, however long ago it came", async () => {
    assert.deepEqual((await readAgain({ meanwhile: [] })).told, ["gap"]);
    const some = await readAgain({ meanwhile: [BANNER_REMOVED] });
    assert.deepEqual(some.told, ["gap", "poll:banner-1 closed", "banner_removed:banner-1"]);
  });

  it("stays if the page lists an update to a poll that an earlier page showed with the same votes", async () => {
    const { relay, chat, viewer: before } = await readAgain({ meanwhile: [] });
    relay.kill();
    await relay.advance(AWAY_MS);
    chat.say(30);
    chat.say(structuredClone([POLL_UPDATED]));
    chat.say(2);
    relay.start();
    const lastEventId = before.cursors.at(-1) ?? 0;
    const viewer = await relay.enter({ videoId: VIDEO, lastEventId, details: true });
    await viewer.until(() => viewer.ids.includes(chat.ledger.at(-1)?.id ?? ""));
    const [last = ""] = chat.say(1);
    await viewer.until(() => viewer.ids.includes(last));
    assert.deepEqual(toldTo(viewer), ["gap"]);
  });

  it("stays without a gap, and without a popout page", async () => {
    const noGap = { awayMs: 2000, scenario: { holdsMs: 60_000, holdsMessages: 1000 } };
    assert.deepEqual((await readAgain({ meanwhile: [], ...noGap })).told, []);
    const scenario = { foundOn: "watch" } as const;
    for (const RELAY_GRACE_MS of ["600000", "1000"]) {
      const { told } = await readAgain({ meanwhile: ALL_DOWN, scenario, settings: { RELAY_GRACE_MS } });
      assert.deepEqual(told, ["gap"]);
    }
  });
});

for (const how of ["while an answer is late", "while the service is down"] as const)
  it(`a notice, banner and poll ${how} are read in place from the page`, async () => {
    const relay = new VirtualRelay({ hasDisk: true });
    const chat = relay.upstream.chat(VIDEO, { ...realisticHold, tokens: "reusable" });
    const say = (id: string) => {
      const said = { id, timestampUsec: `${relay.clock.now() * 1000}`, message: { simpleText: id } };
      chat.say([adding({ liveChatTextMessageRenderer: said }) as JsonObject]);
    };
    say("1");
    let viewer = await relay.enter({ videoId: VIDEO });
    await viewer.untilMessages(1);
    await relay.advance(3000);
    if (how === "while the service is down") relay.kill();
    else {
      relay.upstream.fault({ on: "get_live_chat", times: 1, as: "quota" });
      await relay.requested("get_live_chat", { finished: true });
    }
    await relay.advance(5000);
    say("2");
    chat.say([NOTICE]);
    await relay.advance(500);
    say("3");
    chat.say(structuredClone([PINNED, POLL_OPENED]));
    await relay.advance(15_000);
    if (how === "while the service is down") {
      relay.start();
      viewer = await relay.enter({ videoId: VIDEO, lastEventId: viewer.cursors.at(-1) });
    }
    await relay.advance(45_000);
    say("4");
    await relay.advance(60_000);
    const types = viewer.messages.map(({ message }) => (message.type === "chat" ? message.id : message.type));
    assert.deepEqual(types.slice(-6), ["2", "notice", "3", "banner", "poll", "4"]);
  });
