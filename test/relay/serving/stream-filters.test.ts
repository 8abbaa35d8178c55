/**
 * `types` on `/v1/stream`: which messages pass a filter, how its client learns the cursors in between, and
 * what viewers share.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { filterAsked } from "../../../src/http/filter-query.ts";
import { GROUPS, MESSAGE_TYPES } from "../../../src/protocol/kinds.ts";
import { Feeds } from "../../../src/serving/feeds.ts";
import { FORMS } from "../../../src/serving/form.ts";
import { MessageFilter } from "../../../src/serving/message-filter.ts";
import { Tail } from "../../../src/serving/tail.ts";
import { typeBit } from "../../../src/serving/type-filter.ts";
import { VirtualRelay } from "../../harness/virtual-relay.ts";
import type { VirtualViewer } from "../../harness/virtual-viewer.ts";
import { paidAction, textAction } from "../../support/chat-actions.ts";

const VIDEO = "filtered-ab";
/** The interval of keepalives, and that of the checks whether one is due. */
const KEEPALIVE_MS = 16_000;

const typed = (type: string, cursor = 1) => {
  return { id: `${cursor}`, cursor, body: JSON.stringify({ type, id: `${cursor}` }), details: "{}" };
};

describe("a list of types", () => {
  const passed = (types: string) =>
    MESSAGE_TYPES.filter((type) => filterAsked({ types }).passes(typed(type)));
  for (const [list, types] of [
    ["superchat", ["superchat"]],
    ["paid", GROUPS.paid],
    [" polls ,raid", [...GROUPS.polls, "raid"]],
    ["raid,raid,notices", GROUPS.notices],
    ["gap", []],
    [Object.keys(GROUPS).join(","), Object.values(GROUPS).flat()],
  ] as const) {
    it(`"${list}" passes ${types.join(", ") || "nothing else"}, and gap`, () => {
      assert.deepEqual(passed(list), [...types, "gap"]);
    });
  }

  it("that is empty passes everything, even a type of a later version", () => {
    assert.equal(filterAsked({ types: " " }).isEverything, true);
    assert.equal(MessageFilter.everything.passes(typed("hologram")), true);
    assert.equal(filterAsked({ types: "paid,notices" }).passes(typed("hologram")), false);
  });

  for (const list of [",", "nobody", "Chat", "constructor", "superchat;chat", "chat,Paid"])
    it(`"${list}" has a name of none, and is refused`, () => {
      const words = /^types: ".*" is not a type or group of messages; /;
      assert.throws(() => filterAsked({ types: list }), { code: "INVALID_REQUEST", message: words });
    });

  it("finds the type anywhere in a stored message", () => {
    const message = { ...typed("chat"), body: '{"id":"x","type":"raid"}' };
    assert.equal(typeBit(message), typeBit(typed("raid")));
  });
});

/** A room whose chat has said texts and Super Chats: t1 p1 t2 p2 t3 t4. */
async function mixedRoom(backfill: number, types: string) {
  const relay = new VirtualRelay();
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"], page: 6, timeoutMs: 500 });
  const action = (id: string) => (id.startsWith("p") ? paidAction(id, "$5.00") : textAction(id));
  chat.say(["t1", "p1", "t2", "p2", "t3", "t4"].map(action));
  const viewer = await relay.enter({ videoId: VIDEO, backfill, types });
  const say = async (...ids: string[]) => {
    chat.say(ids.map(action));
    await relay.advance(1000);
  };
  return { relay, chat, viewer, say };
}

/** What it was sent behind the last frame that has data. */
const latest = ({ text }: VirtualViewer) => text.slice(text.lastIndexOf("}\n\n") + 3);
const KEEPALIVE = ": keepalive\n\n";

describe("a viewer with types", () => {
  it("is sent the newest of these from the history, and then all of these", async () => {
    for (const [backfill, ids] of [
      [0, []],
      [1, ["p2"]],
      [50, ["p1", "p2"]],
    ] as const) {
      const { viewer, say } = await mixedRoom(backfill, "paid");
      await say("t5", "p3", "t6");
      await say("t7");
      await say("p4");
      assert.deepEqual(viewer.ids, [...ids, "p3", "p4"]);
    }
  });

  it("that joins an open room gets the newest of these, with their own cursors", async () => {
    const { relay, viewer, say } = await mixedRoom(50, "");
    await say("p3");
    const joined = await relay.enter({ videoId: VIDEO, backfill: 2, types: "superchat" });
    assert.deepEqual(joined.messages, [viewer.messages[3], viewer.messages[6]]);
    assert.equal(joined.init.cursor, (viewer.cursors[3] ?? 0) - 1);
  });

  it("gets its cursor with a keepalive if the cursor has moved, and never twice", async () => {
    const { relay, viewer, say } = await mixedRoom(1, "paid");
    const head = viewer.init.cursor + 3; // p2 t3 t4
    await relay.advance(KEEPALIVE_MS);
    assert.equal(latest(viewer), `id: ${head}\n\n${KEEPALIVE}`);
    await relay.advance(KEEPALIVE_MS);
    assert.equal(latest(viewer), `id: ${head}\n\n${KEEPALIVE}${KEEPALIVE}`);
    await say("t5", "p3");
    await relay.advance(KEEPALIVE_MS);
    assert.equal(latest(viewer), KEEPALIVE);
    await say("t6");
    await relay.advance(KEEPALIVE_MS);
    assert.equal(latest(viewer), `${KEEPALIVE}id: ${head + 3}\n\n${KEEPALIVE}`);
  });

  it("gets its cursor if nothing was sent, unless it came with that cursor", async () => {
    const { relay, viewer } = await mixedRoom(50, "");
    const head = viewer.cursors.at(-1) ?? 0;
    const [without, behind, foreign] = [
      await relay.enter({ videoId: VIDEO, types: "raid" }),
      await relay.enter({ videoId: VIDEO, types: "raid", lastEventId: head }),
      await relay.enter({ videoId: VIDEO, types: "raid", lastEventId: head + 100 }),
    ];
    await relay.advance(KEEPALIVE_MS);
    const told = `id: ${head}\n\n${KEEPALIVE}`;
    assert.deepEqual([without, behind, foreign].map(latest), [told, KEEPALIVE, told]);
  });

  it("gets its cursor before the end, and only the end if it comes back with that cursor", async () => {
    const { relay, viewer, chat, say } = await mixedRoom(50, "raid");
    const head = viewer.init.cursor + 1;
    await say("t5");
    chat.end("reload-only");
    await viewer.ended();
    assert.match(viewer.text, new RegExp(`\n\nid: ${head}\n\nevent: end\ndata: {.*}\n\n$`));
    const again = await relay.enter({ videoId: VIDEO, types: "raid", lastEventId: head });
    await again.ended();
    assert.match(again.text, /init\ndata: .*\n\nevent: end\n/);
  });
});

it("a viewer of all types gets cursors only with its messages", async () => {
  const { relay, viewer, chat, say } = await mixedRoom(50, "");
  const silent = await relay.enter({ videoId: VIDEO, backfill: 0 });
  await relay.advance(KEEPALIVE_MS);
  assert.deepEqual([viewer, silent].map(latest), [KEEPALIVE, KEEPALIVE]);
  await say("t5");
  chat.end("reload-only");
  await viewer.ended();
  assert.deepEqual(
    [...viewer.text.matchAll(/^id: (\d+)\n(.*)$/gm)].map(([, cursor, next]) => [Number(cursor), next]),
    viewer.cursors.map((cursor) => [cursor, "event: message"]),
  );
});

describe("viewers with the same filter", () => {
  const form = FORMS.sse.plain.gzip;
  const filters = GROUPS.notices.flatMap((one) =>
    MESSAGE_TYPES.map((other) => filterAsked({ types: `${one},${other},superchat` })),
  );
  const distinct = [...new Map(filters.map((filter) => [filter.key, filter])).values()];

  it("share their bytes, up to 64 filters per room; further ones get their own, uncompressed", () => {
    const feeds = new Feeds();
    const tail = new Tail(0, { isBlanking: false });
    tail.push([typed("superchat", 1), typed("chat", 2)]);
    assert.ok(distinct.length > 70);
    const joined = distinct
      .slice(0, 70)
      .map((filter) => [feeds.join(form, filter), feeds.join(form, filter)]);
    const shared = joined.map(([one, other]) => one && other && tail.chunk(0, one) === tail.chunk(0, other));
    assert.deepEqual(shared, [...Array(64).fill(true), ...Array(6).fill(false)]);
    const plain = (index: number) =>
      String(joined[index]?.[0] && tail.chunk(0, joined[index][0])?.packet?.bytes);
    assert.ok(!plain(63).includes("superchat") && plain(64).includes("superchat"));

    assert.equal(feeds.join(form, MessageFilter.everything).isShared, true);
    for (const feed of joined[3] ?? []) feeds.leave(feed);
    assert.equal(
      feeds.join(form, distinct[71] as MessageFilter).isShared,
      true,
      "the place of one that has left",
    );
    assert.equal(feeds.join(form, distinct[72] as MessageFilter).isShared, false);
  });

  it("are counted by form and filter", async () => {
    const { relay, viewer } = await mixedRoom(50, "paid");
    const other = await relay.enter({ videoId: VIDEO, types: "paid" });
    await relay.enter({ videoId: VIDEO, details: true });
    const count = (form: string, filter: string) =>
      relay.metric(`relay_viewers_by_form{form="${form}",filter="${filter}"}`);
    assert.equal(await count("sse plain bare", "shared"), 2);
    assert.equal(await count("sse detailed bare", "none"), 1);
    for (const one of [viewer, other]) one.leave();
    assert.equal(await count("sse plain bare", "shared"), undefined);
    const pairs = GROUPS.notices.flatMap((one) => MESSAGE_TYPES.map((type) => `${one},${type}`));
    for (const types of pairs.slice(0, 80)) await relay.enter({ videoId: VIDEO, types });
    assert.equal(
      await count("sse plain bare", "shared"),
      80 - ((await count("sse plain bare", "alone")) ?? 0),
    );
    assert.ok(Number(await count("sse plain bare", "alone")) > 0);
  });

  it("count as one filter in every form", () => {
    const feeds = new Feeds();
    for (const filter of distinct.slice(0, 64)) feeds.join(form, filter);
    assert.equal(feeds.join(FORMS.ndjson.detailed.bare, distinct[5] as MessageFilter).isShared, true);
    assert.equal(feeds.join(FORMS.ndjson.detailed.bare, distinct[65] as MessageFilter).isShared, false);
  });
});
