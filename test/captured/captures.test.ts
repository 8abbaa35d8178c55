/**
 * Captures of the real upstream, served over HTTP again and read by a whole relay: the stream agrees with a
 * reading of the same files that shares no code with the service.
 */
import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { assertEnds } from "../support/answered-room.ts";
import { capturedJson, capturedText, noCaptures } from "../support/captures.ts";
import { openStream, refused } from "../support/opening.ts";
import { startRelay } from "../support/relay.ts";
import type { Stream } from "../support/stream.ts";

/** The items whose ids and types are compared. */
const TYPES: Record<string, string> = {
  liveChatTextMessageRenderer: "chat",
  liveChatPaidMessageRenderer: "superchat",
  liveChatPaidStickerRenderer: "supersticker",
  liveChatMembershipItemRenderer: "membership",
};

interface Renderer {
  id: string;
  headerPrimaryText?: object;
}

/** Every object under one key, anywhere in the capture, in order. */
function* under(key: string, node: unknown): Generator<Record<string, unknown>> {
  if (typeof node !== "object" || node === null) return;
  for (const [name, value] of Object.entries(node)) {
    if (name === key) yield value;
    else yield* under(key, value);
  }
}

/** Id and type of the items in captured answers, each id at its first occurrence. */
function itemsOf(captured: readonly unknown[]): [id: string, type: string][] {
  const items = new Map<string, string>();
  for (const { item } of under("addChatItemAction", captured)) {
    for (const [key, renderer] of Object.entries(item as Record<string, Renderer>)) {
      const type = TYPES[key];
      if (type && !renderer.headerPrimaryText && !items.has(renderer.id)) items.set(renderer.id, type);
    }
  }
  return [...items];
}

/**
 * Asserts that a stream brought these items, each once, and of the same types nothing but what a ticker
 * shows.
 */
function assertSame(
  stream: Stream,
  items: readonly [string, string][],
  captured: readonly unknown[] = [],
): void {
  const streamed = stream.messages.map(({ message }): [string, string] => [message.id, message.type]);
  const wanted = new Map(items);
  assert.deepEqual(
    streamed.filter(([id]) => wanted.has(id)),
    items,
  );
  const inTickers = JSON.stringify([...under("addLiveChatTickerItemAction", captured)]);
  for (const [id, type] of streamed) {
    if (wanted.has(id) || !Object.values(TYPES).includes(type)) continue;
    assert.ok(inTickers.includes(`"id":${JSON.stringify(id)}`), `${type} ${id} is in no captured item`);
  }
}

const CAPTURES = new URL("../../../shared/recorded/", import.meta.url);
const pathOf = (name: string): string => fileURLToPath(new URL(name, CAPTURES));

function filesOf(names: string | readonly string[]): string[] {
  if (typeof names !== "string") return [...names];
  const files = readdirSync(new URL(names, CAPTURES)).sort();
  return files.map((file) => `${names}/${file}`);
}

const singles = (folder: string, pattern: RegExp): string[] =>
  noCaptures ? [] : filesOf(folder).filter((name) => pattern.test(name));

/** A folder, or files in the order in which they are answered; and how many items there are. */
const PLAYED: [what: string, names: string | readonly string[], count: number][] = [
  ["a busy live chat", ["live/busy-2020.json"], 66],
  ["live answers one after the other", singles("live", /get_live_chat/), 12],
  ["a super sticker", ["live/supersticker-2019.json"], 1],
  ["a new member", ["live/new-member.json"], 1],
  ["a currency of no known code", ["live/unregistered-currency.json"], 1],
  ["the whole folder of live answers", "live", 81],
  ["pages of a replay that overlap", singles("replay", /overlapping/), 145],
  ["a page of a replay, then its end", ["replay/page-2019.json", "replay/end.json"], 48],
  ["super chats of a replay", ["replay/superchats.json"], 50],
  ["the whole folder of a replay", "replay", 243],
];

describe("captured answers pass through the relay without loss or duplicates", { skip: noCaptures }, () => {
  for (const [what, names, count] of PLAYED) {
    it(what, async () => {
      const captured = filesOf(names).map(capturedJson);
      const items = itemsOf(captured);
      assert.equal(items.length, count);
      await using relay = await startRelay();
      const paths = typeof names === "string" ? pathOf(names) : names.map(pathOf);
      const chat = await relay.upstream.play("playedagain", paths, {
        speed: Infinity,
        page: 0,
        overlap: 100,
      });
      await using stream = await openStream(relay, { videoId: "playedagain", backfill: 500 });
      chat.end("reload-only");
      await assertEnds(stream);
      assertSame(stream, items, captured);
    });
  }
});

/** A captured page, its video, its type of chat, and the pages that are asked for. */
const PAGES: [name: string, videoId: string, chatType: string, asked: readonly string[]][] = [
  ["popout-initial-data-2020.json", "7kdepDepMjk", "liveChatRenderer", ["popout", "get_live_chat"]],
  ["watch-live-2026.html", "qT5OTDvJK1Q", "liveChatRenderer", ["popout", "watch", "get_live_chat"]],
  [
    "watch-replay-2021.html",
    "dchqdFOW8EI",
    "liveChatReplayRenderer",
    ["popout", "watch", "get_live_chat", "get_live_chat_replay"],
  ],
];

describe("captured pages open a room with their own tokens", { skip: noCaptures }, () => {
  for (const [name, videoId, chatType, asked] of PAGES) {
    it(name, async () => {
      await using relay = await startRelay();
      const { upstream } = relay;
      const chat = await upstream.play(videoId, pathOf(`pages/${name}`), { kinds: ["text"] });
      const captured = name.endsWith(".json") ? [capturedJson(`pages/${name}`)] : [];
      const said = chat.say(3).map((id): [string, string] => [id, "chat"]);
      await using stream = await openStream(relay, { videoId });
      const items = [...itemsOf(captured), ...said];
      await stream.until(() => said.every(([id]) => stream.ids.includes(id)), "what was said after the page");
      assertSame(stream, items);
      assert.equal(stream.init.chatType, chatType);
      const requests = upstream.requests.slice(0, 1 + asked.length);
      assert.deepEqual(
        requests.map(({ kind }) => kind),
        ["sw.js", ...asked],
      );
      const continuation = requests.at(-1)?.continuation;
      assert.ok(capturedText(`pages/${name}`).includes(`"${continuation}"`), "the page's own token was sent");
    });
  }

  it("watch-no-chat-2026.html gives 404 NO_LIVE_CHAT and the reason", async () => {
    await using relay = await startRelay();
    await relay.upstream.play("qS50yDHZOx4", pathOf("pages/watch-no-chat-2026.html"));
    const { failure, message } = await refused(relay, "qS50yDHZOx4");
    assert.equal(failure, "404 NO_LIVE_CHAT");
    assert.match(message, /members of its channel/);
  });
});
