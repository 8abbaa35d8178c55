/** The demo: its output, its chats, and its state after a kill. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import type { Entry } from "../../simulator/chat-log.ts";
import { SPECIES, startSimulator } from "../../simulator/index.ts";
import type { Says } from "../../simulator/says.ts";
import { Command, outcome, Run } from "../support/command.ts";
import { own } from "../support/store-reading.ts";
import { fileStore, temporaryFile } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "demo-stream";
const URL_LINE = /curl -N '(\S+)\/v1\/stream/;

/**
 * The first message of each id. A placeholder is not a message, and a notice has another id in the service:
 * what replaces one of them is a new message.
 */
function newMessages(entries: readonly Entry[]): Says[] {
  const first = new Map<string, Says>();
  for (const { says } of entries) if (says && says.type !== "notice") first.getOrInsert(says.id, says);
  return [...first.values()];
}

describe("the demo", () => {
  it("prints a stream that brings messages and continues, logs no warning, and stops at Ctrl-C", async () => {
    // A limit that the open files of this machine allow: a lower one is a warning.
    const limits = ["--max-viewers", "100"];
    const demo = new Run(["demo", "--port", "0", "--log-level", "warn", ...limits]);
    const url = await demo.printed(URL_LINE);
    const stream = await Stream.open(url, { videoId: VIDEO });
    await stream.untilMessages(70);
    demo.signal("SIGINT");
    assert.equal(await stream.ended(), undefined);
    assert.equal(await demo.exited, 0);
    const [listening = "", ...more] = demo.out.match(/^\{.*/gm) ?? [];
    assert.match(listening, /"msg":"listening on /);
    assert.deepEqual(more, []);
  });

  it("has a channel, and a second chat", async () => {
    const demo = new Run(["demo", "--port", "0"]);
    const channel = await demo.printed(/Channel +curl -N '(\S+)'/);
    const several = await demo.printed(/Merged +curl -N '(\S+)'/);
    const sent = async (url: string, expected: RegExp) => {
      let text = "";
      for await (const part of (await fetch(url)).body ?? []) {
        text += Buffer.from(part);
        if (expected.test(text)) return;
      }
      assert.fail(`ended after ${text}`);
    };
    await Promise.all([
      sent(channel, /"state":"live","videoId":"demo-stream".*^event: message$/ms),
      sent(several, /"videoId":"demo-stream","type".*"videoId":"demo-second","type"/s),
    ]);
    demo.signal("SIGTERM");
    assert.equal(await demo.exited, 0);
  });

  it("plays a stream that is scheduled, off, on, has a gap and ends, and the channel's next one", async (t) => {
    // The gap lasts 15 s, and the room tries again at most 15 s later.
    const script = "4s:start,6s:off,9s:on,10s:gap,44s:next";
    const faster = ["--look-ms", "1000", "--channel-ms", "2000"];
    const demo = new Run(["demo", "--port", "0", "--script", script, "--ends-after", "43s", ...faster]);
    t.after(() => demo.signal("SIGTERM"));
    const url = await demo.printed(/Channel +curl -N '(\S+)'/);
    let text = "";
    const steps = [
      ...['"state":"upcoming","videoId":"demo-stream"', '"state":"live","videoId":"demo-stream"'],
      ...['"videoId":"demo-stream","type":"gap"', '"state":"live","videoId":"demo-next-2"'],
      '"videoId":"demo-next-2","type"',
    ];
    const inOrder = new RegExp(steps.join(".*"), "s");
    for await (const part of (await fetch(url)).body ?? []) {
      text += Buffer.from(part);
      if (inOrder.test(text)) break;
    }
    assert.match(text, inOrder);
    const told = [...demo.error.matchAll(/demo-stream: (\w+)/g)].map(([, step]) => step);
    assert.deepEqual(told, ["start", "off", "on", "gap", "end", "next"]);
  });

  it("ends its stream for those who follow it, however much was said", async (t) => {
    const demo = new Run(["demo", "--port", "0", "--rate", "50", "--ends-after", "6s"]);
    t.after(() => demo.signal("SIGTERM"));
    const url = await demo.printed(URL_LINE);
    await using stream = await Stream.open(url, { videoId: VIDEO });
    await stream.until(() => stream.frames.at(-1)?.event === "end", "the end");
    assert.deepEqual((await stream.ended())?.data, { reason: "no more continuations" });
  });

  it("refuses a step that it does not know, in one line", async () => {
    const { code, error } = await outcome(["demo", "--script", "5s:explode"]);
    assert.equal(code, 2);
    assert.match(error, /^livechat-relay: --script: .*start, off, on, gap, end, next.*\n$/);
  });

  it("prints the settings with which a real service reads its simulated YouTube", async () => {
    const demo = new Run(["demo", "--port", "0"]);
    const settings = await demo.printed(/Upstream +(RELAY_UPSTREAM_URL=.*)/);
    const env = Object.fromEntries(settings.split(" ").map((setting) => setting.split("=")));
    const service = new Run(["serve", "--port", "0", "--store", "memory:"], { env });
    const url = await service.printed(/"url":"([^"]+)"/);
    await using stream = await Stream.open(url, { videoId: VIDEO });
    await stream.untilMessages(10);
    for (const running of [service, demo]) {
      running.signal("SIGTERM");
      assert.equal(await running.exited, 0);
    }
  });

  it("lists the settings that it does not use", async () => {
    const demo = new Run(["demo", "--port", "0"], {
      env: { RELAY_STORE: "sqlite:/no/such/folder/relay.db" },
    });
    await demo.printed(
      /the demo ignores RELAY_STORE: it has a simulated upstream, and its own store \(--store\)/,
    );
    demo.signal("SIGTERM");
    assert.equal(await demo.exited, 0);
  });
});

describe("the demo on a store", () => {
  const RATE = 20;
  const start = async (t: TestContext, store: string) => {
    const demo = new Command(["demo", "--port", "0", "--rate", `${RATE}`, "--store", store]);
    t.after(() => demo.child.kill("SIGKILL"));
    return { demo, url: await demo.printed(URL_LINE) };
  };

  it("continues after a kill -9, with the messages sent meanwhile", async (t) => {
    const store = `sqlite:${await temporaryFile(t)}`;
    const first = await start(t, store);
    const before = await Stream.open(first.url, { videoId: VIDEO, lastEventId: 0 });
    await before.untilMessages(60);
    first.demo.child.kill("SIGKILL");
    await before.ended();
    const cursor = before.cursors.at(-1) ?? 0;

    const { url } = await start(t, store);
    await using after = await Stream.open(url, { videoId: VIDEO, lastEventId: cursor });
    await after.untilMessages(3 * RATE);
    assert.equal(after.init.cursor, cursor);
    const read = [...before.messages, ...after.messages];
    const cursors = read.map((message) => message.cursor);
    assert.deepEqual(
      cursors,
      [...cursors.keys()].map((index) => (cursors[0] ?? 0) + index),
    );

    // The chat depends on the clock alone, so another simulator gives the expected messages.
    await using upstream = await startSimulator();
    const chat = upstream.chat(VIDEO, { kinds: SPECIES.filter((kind) => kind !== "unknown") });
    chat.speakEndlessly(RATE, 10_000);
    const ids = read.filter(({ message }) => message.type === "chat").map(({ message }) => message.id);
    // From the first one that nothing replaces, which therefore has one place.
    const isOnce = (id: string) => chat.ledger.filter(({ says }) => says?.id === id).length === 1;
    const begin = ids.find(isOnce) ?? "";
    const rest = chat.ledger.slice(chat.ledger.findIndex(({ says }) => says?.id === begin));
    const seen = ids.slice(ids.indexOf(begin));
    // What replaces a message from before that one is not new.
    const earlier = ids.slice(0, ids.indexOf(begin));
    const said = newMessages(rest).filter(({ id, type }) => type === "chat" && !earlier.includes(id));
    assert.ok(seen.length > 2 * RATE);
    assert.deepEqual(
      seen,
      said.slice(0, seen.length).map(({ id }) => id),
    );
    assert.deepEqual(
      read.filter(({ message }) => message.type === "gap"),
      [],
    );
  });

  it("refuses a store in which a real service has open rooms", async (t) => {
    const { path, store } = await fileStore(t);
    await store.append(await own(store, "dQw4w9WgXcQ"), 0, [], "{}");
    await store.close();
    const { code, error } = await outcome(["demo", "--port", "0", "--store", `sqlite:${path}`]);
    assert.equal(code, 2);
    assert.match(error, /^livechat-relay: --store: sqlite:\S+ belongs to a real service \(room dQw4w9WgXcQ /);
  });
});
