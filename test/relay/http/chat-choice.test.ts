/** `chat=live|replay`: which stored chat of a video a request means, and what its answer says of both. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { roomsIn, startRelay, type TestRelay } from "../../support/relay.ts";
import { Stream } from "../../support/stream.ts";

const VIDEO = "both-chats1";
let relay: TestRelay;
let live: Stream;
let replay: Stream;

interface Page {
  chatType: string;
  chats: string[];
  base: number;
  messages: { cursor: number; id: string }[];
}

before(async () => {
  relay = await startRelay({ settings: { RELAY_GRACE_MS: "1" } });
  const chat = relay.upstream.chat(VIDEO, { kinds: ["text"] });
  chat.say(4);
  live = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: 0 });
  await live.untilMessages(4);
  chat.end("reload-only");
  await live.ended();
  await roomsIn(relay, "ended", 0);
  chat.say(2);
  chat.change({ kind: "replay" });
  replay = await Stream.open(relay.url, { videoId: VIDEO });
  await replay.ended();
});
after(() => relay[Symbol.asyncDispose]());

async function get(path: string, query: Record<string, string | number> = {}) {
  const text = new URLSearchParams(Object.entries(query).map(([name, value]) => [name, `${value}`]));
  const answer = await fetch(`${relay.url}${path}?${text}`);
  return { status: answer.status, body: await answer.json() };
}
const page = async (query: Record<string, string | number>): Promise<Page> =>
  (await get("/v1/messages", { videoId: VIDEO, ...query })).body as Page;

describe("a request for stored messages", () => {
  it("is of the chat that it names, else of the one with its cursor, else of the live one", async () => {
    const last = (stream: Stream) => stream.cursors.at(-1) ?? 0;
    const rows: [query: Record<string, string | number>, ids: string[]][] = [
      [{}, live.ids],
      [{ chat: "live" }, live.ids],
      [{ chat: "replay" }, replay.ids],
      [{ after: replay.cursors[1] ?? 0 }, replay.ids.slice(2)],
      [{ after: live.cursors[1] ?? 0 }, live.ids.slice(2)],
      [{ before: last(live) + 1 }, live.ids],
      [{ before: last(replay) + 1 }, replay.ids],
      [{ after: 5 }, live.ids],
    ];
    for (const [query, ids] of rows) {
      const { chats, messages } = await page(query);
      assert.deepEqual(
        messages.map(({ id }) => id),
        ids,
        JSON.stringify(query),
      );
      assert.deepEqual(chats, ["live", "replay"]);
    }
    assert.equal((await page({ chat: "replay" })).chatType, "liveChatReplayRenderer");
    assert.equal((await page({})).chatType, "liveChatRenderer");
  });

  it("is refused if it names no chat, another word, or a cursor of the other chat", async () => {
    const cursor = live.cursors[0] ?? 0;
    const wrong: [path: string, query: Record<string, string | number>][] = [
      ["/v1/messages", { videoId: VIDEO, chat: "" }],
      ["/v1/messages", { videoId: VIDEO, chat: "both" }],
      ["/v1/messages", { videoId: VIDEO, chat: "replay", after: cursor }],
      ["/v1/messages", { videoId: VIDEO, chat: "replay", before: cursor + 1 }],
      [`/v1/rooms/${VIDEO}`, { chat: "" }],
      [`/v1/log/${VIDEO}`, { chat: "both" }],
      ["/v1/stream", { videoId: VIDEO, chat: "both", until: "now" }],
      ["/v1/stream", { videoId: VIDEO, chat: "replay", until: "now", lastEventId: cursor }],
      ["/v1/stream", { videoId: VIDEO, chat: "replay" }],
      ["/v1/merged", { videoIds: VIDEO, chat: "replay" }],
    ];
    for (const [path, query] of wrong) {
      const { status, body } = await get(path, query);
      assert.equal(status, 400, `${path} ${JSON.stringify(query)}`);
      assert.match((body as { message: string }).message, /^chat: /);
    }
  });
});

it("a room is shown with its chat, and the list has an entry for each", async () => {
  const type = async (query: Record<string, string>) => {
    const { body } = await get(`/v1/rooms/${VIDEO}`, query);
    const { chatType, chats, messages } = body as { chatType: string; chats: string[]; messages: number };
    assert.deepEqual(chats, ["live", "replay"]);
    return [chatType, messages];
  };
  assert.deepEqual(await type({}), ["liveChatRenderer", 4]);
  assert.deepEqual(await type({ chat: "replay" }), ["liveChatReplayRenderer", 6]);
  const { rooms } = (await get("/v1/rooms")).body as { rooms: { videoId: string; chatType: string }[] };
  assert.deepEqual(
    rooms.map(({ videoId, chatType }) => [videoId, chatType]),
    [
      [VIDEO, "liveChatReplayRenderer"],
      [VIDEO, "liveChatRenderer"],
    ],
  );
});

it("a stream until now sends the chat that it names, and its first frame lists the stored ones", async () => {
  for (const [chat, { ids, init }] of [
    ["live", live],
    ["replay", replay],
  ] as const) {
    const url = `${relay.url}/v1/stream?${new URLSearchParams({ videoId: VIDEO, until: "now", chat })}`;
    const text = await (await fetch(url)).text();
    const first = JSON.parse(/^event: init\ndata: (.*)$/m.exec(text)?.[1] ?? "");
    assert.deepEqual([first.chatType, first.chats], [init.chatType, ["live", "replay"]]);
    assert.deepEqual(text.match(/^id: /gm)?.length, ids.length);
  }
});

it("the log is the live chat's, and never becomes the replay's, which has a log of its own", async () => {
  const log = async (query: Record<string, string>) => {
    const answer = await fetch(`${relay.url}/v1/log/${VIDEO}?${new URLSearchParams(query)}`);
    const { status, headers } = answer;
    const ids = status === 200 ? ((await answer.json()) as { id: string }[]).map(({ id }) => id) : [];
    return { status, ids, isClosed: headers.get("stream-closed") };
  };
  assert.deepEqual(await log({ offset: "-1" }), { status: 200, ids: live.ids, isClosed: "true" });
  const ofReplay = { status: 200, ids: replay.ids, isClosed: "true" };
  assert.deepEqual(await log({ offset: "-1", chat: "replay" }), ofReplay);
  const atOnce = Array(10).fill(["live", "replay"]).flat();
  const logs = await Promise.all(atOnce.map((chat) => log({ offset: "-1", chat })));
  assert.deepEqual(
    logs.map(({ ids }) => ids),
    Array(10).fill([live.ids, replay.ids]).flat(),
  );
  const offset = String(replay.cursors[1]).padStart(16, "0");
  assert.equal((await log({ offset })).status, 410);
  assert.deepEqual((await log({ offset, chat: "replay" })).ids, replay.ids.slice(2));
  assert.equal((await log({ offset, live: "long-poll" })).status, 410);
});
