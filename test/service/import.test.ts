/** `import`: captured chats become rooms, as if the service had read them. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createWriteStream, readFileSync } from "node:fs";
import { readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { before, describe, it, type TestContext } from "node:test";
import { SPECIES, startSimulator } from "../../simulator/index.ts";
import { asReplay } from "../../simulator/replay.ts";
import { chatKey } from "../../src/protocol/chat-key.ts";
import type { Details } from "../../src/protocol/kinds.ts";
import type { StoredMessage } from "../../src/store/stored-message.ts";
import { timeOfDay } from "../../src/upstream/readers/timestamp.ts";
import { videoIdIn } from "../../src/upstream/readers/video.ts";
import { capturedBatches, videoIdInName } from "../../terminal/import/captured-chat.ts";
import { ask } from "../support/api.ts";
import { outcome, ROOT, Run } from "../support/command.ts";
import { startRelay } from "../support/relay.ts";
import { own, readAll } from "../support/store-reading.ts";
import { fileStore, openFor, temporaryFile, wallAt } from "../support/store-subject.ts";
import { Stream } from "../support/stream.ts";

const VIDEO = "dQw4w9WgXcQ";
/** More than one batch. */
const COUNT = 1300;
const DAY_MS = 24 * 3_600_000;
const READING = { timeOfDay: timeOfDay("UTC"), now: Date.now };

/** The lines of a replay as yt-dlp writes them, and the messages that the service reads from it. */
let lines: string[];
let read: StoredMessage[];
before(async () => {
  await using upstream = await startSimulator();
  const kinds = SPECIES.filter((kind) => kind !== "unknown");
  const chat = upstream.chat(VIDEO, { kind: "replay", kinds, pageSize: 500, spacingMs: 100 });
  chat.say(COUNT);
  lines = asReplay(chat.ledger).map((wrapper) => JSON.stringify(wrapper));
  await using relay = await startRelay({ upstream });
  await using viewer = await Stream.open(relay.url, { videoId: VIDEO, lastEventId: 0, details: true });
  await viewer.ended();
  read = viewer.messages.map(({ cursor, message: { details, ...body } }) => {
    // Likes and replies come beside the actions; the time is that of the import.
    const { likes: _, replies: __, storedAt: ___, ...captured }: Details = details ?? {};
    return { cursor, id: body.id, body: JSON.stringify(body), details: JSON.stringify(captured) };
  });
});

async function captured(t: TestContext, name: string, text = lines.join("\n")): Promise<string> {
  const path = join(dirname(await temporaryFile(t)), name);
  await writeFile(path, text);
  return path;
}

const REPLAY = chatKey(VIDEO, "replay");

const importing = (store: string, ...args: string[]) =>
  outcome(["import", ...args, "--store", `sqlite:${store}`]);

/** The messages in a file, without their cursors. */
async function messagesIn(t: TestContext, store: string) {
  const opened = await openFor(t, `sqlite:${store}`);
  const messages = [...(await readAll(opened, VIDEO)), ...(await readAll(opened, REPLAY))];
  await opened.close();
  return messages.map(({ cursor: _, storedAt: __, ...message }) => message);
}

const withoutCursors = () => read.map(({ cursor: _, ...message }) => message);

describe("import", () => {
  it("stores yt-dlp's file as the service stores the same chat", async (t) => {
    const store = await temporaryFile(t);
    const path = await captured(t, `A stream [${VIDEO}].live_chat.json`);
    const { code, error } = await importing(store, path);
    const kept = "imported chats are kept until you delete them: RELAY_RETENTION_DAYS does not apply to them";
    assert.equal(
      error,
      `livechat-relay: ${kept}, RELAY_MAX_STORE_BYTES does\n` +
        `livechat-relay: ${path}: room ${VIDEO}: ${read.length} new messages\n`,
    );
    assert.equal(code, 0);
    assert.deepEqual(await messagesIn(t, store), withoutCursors());
  });

  it("stores a chat that the retention deletes once its mark is removed as documented, and not before", async (t) => {
    const path = await temporaryFile(t);
    await importing(path, await captured(t, `[${VIDEO}].live_chat.json`));
    const wall = wallAt(Date.now() + 400 * DAY_MS);
    const store = await openFor(t, `sqlite:${path}`, wall);
    assert.equal(await store.prune(30 * DAY_MS, 10_000), 0);
    assert.deepEqual(
      (await store.listRooms(10)).map(({ isKept }) => isKept),
      [true],
    );
    await store.close();
    const documents = readFileSync(join(ROOT, "docs/terminal.md"), "utf8");
    const command = /^update room set is_kept .*$/m.exec(documents)?.[0] ?? assert.fail("no such command");
    using database = new DatabaseSync(path);
    database.exec(command);
    const again = await openFor(t, `sqlite:${path}`, wall);
    assert.equal(await again.prune(30 * DAY_MS, 10_000), read.length);
    assert.deepEqual(await again.listRooms(10), []);
  });

  it("stores a chat of which rooms says that it is kept", async (t) => {
    const path = await temporaryFile(t);
    await importing(path, await captured(t, `[${VIDEO}].live_chat.json`));
    await using relay = await startRelay({ settings: { RELAY_STORE: `sqlite:${path}` } });
    const { error } = await outcome(["rooms", "--server", relay.url]);
    assert.match(error, /deleted after 30 days .*; those of imported chats are kept\n$/);
  });

  it("stores an export with the ids of its messages", async (t) => {
    const store = await temporaryFile(t);
    const exported = read.map(({ cursor, body, details }) => {
      return JSON.stringify({ cursor, ...JSON.parse(body), details: JSON.parse(details) });
    });
    const path = await captured(t, "chat.jsonl", `${exported.join("\n")}\n`);
    const { code } = await importing(store, path, "--video", `https://youtu.be/${VIDEO}`);
    assert.equal(code, 0);
    assert.deepEqual(await messagesIn(t, store), withoutCursors());
  });

  it("stores the lines of one video of a channel, and refuses lines of several", async (t) => {
    const store = await temporaryFile(t);
    const lineOf = (videoId: string, { body, details }: StoredMessage) =>
      JSON.stringify({ cursor: 1, videoId, ...JSON.parse(body), details: JSON.parse(details) });
    const own = read.slice(0, 5).map((message) => lineOf(VIDEO, message));
    const path = await captured(t, "channel.jsonl", own.join("\n"));
    const { code, error } = await importing(store, path);
    assert.deepEqual([code, error.includes(`room ${VIDEO}: 5 new messages`)], [0, true], error);
    const mixed = [...own, lineOf("other-video", read[5] ?? assert.fail("no message"))];
    const refused = await importing(store, await captured(t, "mixed.jsonl", mixed.join("\n")));
    assert.equal(refused.code, 1);
    assert.match(refused.error, /chats of several videos.*: dQw4w9WgXcQ, other-video\n/);
  });

  it("fails in one line if the store refuses the end of a room, and another try writes it", async (t) => {
    const store = await temporaryFile(t);
    await (await openFor(t, `sqlite:${store}`)).close();
    using database = new DatabaseSync(store);
    database.exec(
      "create trigger refusal before update on room when new.ending is not null begin select raise(fail, 'no end'); end",
    );
    const path = await captured(t, `[${VIDEO}].live_chat.json`);
    const { code, error } = await importing(store, path);
    assert.equal(code, 1);
    assert.match(
      error,
      /^livechat-relay: .*live_chat\.json: .*no end.*; import it again when the store works\n$/,
    );
    database.exec("drop trigger refusal");
    assert.equal((await importing(store, path)).code, 0);
    assert.ok(database.prepare("select ended_at as at from room where video_id = ?").get(REPLAY)?.at);
  });

  it("keeps the ids of an author's deletions, including the second one's own", async (t) => {
    const store = await temporaryFile(t);
    const body = { timestamp: "0:01", author: "", message: "", amount: "", color: "", parts: [] };
    const says = { type: "chat", details: { authorId: "UC1" } };
    const deletion = { type: "author_deleted", details: { target: { authorId: "UC1" } } };
    const exported = [
      { ...says, id: "one" },
      { ...deletion, id: "author_deleted:UC1" },
      { ...says, id: "two" },
      { ...deletion, id: "author_deleted:UC1:two" },
    ];
    const text = exported.map((line) => JSON.stringify({ ...body, ...line })).join("\n");
    await importing(store, await captured(t, `${VIDEO}.jsonl`, text));
    const ids = (await messagesIn(t, store)).map(({ id }) => id);
    assert.deepEqual(
      ids,
      exported.map(({ id }) => id),
    );
  });

  it("skips and counts lines without the fields that their type needs", async (t) => {
    const store = await temporaryFile(t);
    const body = {
      id: "1",
      timestamp: "",
      author: "",
      message: "",
      amount: "",
      color: "",
      parts: [],
      details: {},
    };
    const lines = [
      { ...body, type: "chat" },
      { ...body, type: "deleted" },
      { ...body, type: "new kind" },
      { ...body, type: "chat", id: "2", details: undefined },
      { ...body, type: "chat", id: "3", parts: [{ kind: "link", text: "x" }] },
      { ...body, type: "chat", id: "4", author: 1 },
    ].map((line) => JSON.stringify(line));
    const { error } = await importing(store, await captured(t, `${VIDEO}.jsonl`, lines.join("\n")));
    assert.match(
      error,
      /: room dQw4w9WgXcQ: 1 new message; left out: 5 lines, damaged or of unknown kinds\n$/,
    );
  });

  it("leaves out messages that the upstream could not have said", async (t) => {
    const store = await temporaryFile(t);
    const said = { type: "chat", id: "1", timestamp: "", author: "", message: "", amount: "", color: "" };
    const body = { ...said, parts: [] as object[], details: {} };
    const link = (url: string) => [{ kind: "link", text: "x", url }];
    const kept = [
      { ...body, id: "right", message: "x".repeat(10_000), parts: link("https://example.org/a") },
      { ...body, id: "emoji", parts: [{ kind: "emoji", text: "x", custom: false }], color: "#00ff7f" },
    ];
    const left = [
      { ...body, message: "x".repeat(10_001) },
      { ...body, parts: [{ kind: "text", text: "x".repeat(1_000_000) }] },
      { ...body, parts: Array(501).fill({ kind: "text", text: "x" }) },
      { ...body, details: { header: "x".repeat(1_000_000) } },
      { ...body, author: "x".repeat(501) },
      { ...body, color: "red" },
      { ...body, id: "x".repeat(501) },
      { ...body, id: "\u001b]0;title\u0007" },
      { ...body, parts: link("javascript:alert(1)") },
      { ...body, parts: link(`https://example.org/${"x".repeat(3000)}`) },
      { ...body, details: { authorPhoto: "file:///etc/passwd" } },
    ].map((line) => JSON.stringify(line));
    const deep = JSON.stringify({ ...body, details: "DEEP" }).replace(
      '"DEEP"',
      `${"[".repeat(1e5)}${"]".repeat(1e5)}`,
    );
    const text = [...kept.map((line) => JSON.stringify(line)), ...left, deep].join("\n");
    const { code, error } = await importing(store, await captured(t, `${VIDEO}.jsonl`, text));
    assert.equal(code, 0, error);
    assert.match(error, /: 2 new messages; left out: 12 lines, damaged or of unknown kinds\n$/);
    assert.deepEqual(
      (await messagesIn(t, store)).map(({ id }) => id),
      ["right", "emoji"],
    );
  });

  it("refuses lines whose video has an invalid id, and does not print that raw", async (t) => {
    const store = await temporaryFile(t);
    const line = { type: "chat", id: "1", timestamp: "", author: "", message: "", amount: "", color: "" };
    for (const videoId of ["../imported", "e\u001b]0;OWNED\u0007\u001b[2Jx", "\u202eabc"]) {
      const text = JSON.stringify({ ...line, videoId, parts: [], details: {} });
      const { code, error } = await importing(store, await captured(t, "capture.jsonl", text));
      assert.equal(code, 1);
      assert.match(error, /: names no video: "[^\p{Cc}\u202e]+"\n$/u);
    }
  });

  it("continues where it was interrupted, or where a capture that has grown had ended", async (t) => {
    const store = await temporaryFile(t);
    const name = `[${VIDEO}].live_chat.json`;
    await importing(store, await captured(t, name, lines.join("\n").slice(0, 700_000)));
    const part = await messagesIn(t, store);
    assert.ok(part.length > 100 && part.length < read.length - 100);
    const whole = await captured(t, name);
    const { error } = await importing(store, whole);
    assert.match(error, new RegExp(`: ${read.length - part.length} new messages\n$`));
    assert.deepEqual(await messagesIn(t, store), withoutCursors());
    assert.match((await importing(store, whole)).error, /: 0 new messages\n$/);
    await writeFile(whole, ["", ...lines.slice(0, 9)].join("\n"), { flag: "a" });
    assert.match((await importing(store, whole)).error, /: 0 new messages\n$/); // each of them is stored once
  });

  it("counts what it has stored, and what an interrupted run has left uncounted", async (t) => {
    const store = await temporaryFile(t);
    const path = await captured(t, `[${VIDEO}].live_chat.json`);
    for (let times = 0; times < 2; times++) {
      assert.equal((await importing(store, path)).code, 0);
      using database = new DatabaseSync(store);
      const counted = database.prepare("select cursor from tally").get();
      assert.deepEqual({ ...counted }, { ...database.prepare("select head as cursor from room").get() });
      database.exec("delete from tally; delete from tally_item");
    }
  });

  it("refuses a room that the service has read, and one of another capture", async (t) => {
    const { path: store, store: opened } = await fileStore(t);
    await opened.append(await own(opened, REPLAY), 0, [], "{}");
    await opened.close();
    const path = await captured(t, `[${VIDEO}].live_chat.json`);
    const { code, error } = await importing(store, path);
    assert.equal(code, 1);
    assert.match(
      error,
      /: room dQw4w9WgXcQ exists already, with 0 messages which the service has read: .*--store/,
    );
    const other = await temporaryFile(t);
    await importing(other, path);
    const { error: refusal } = await importing(
      other,
      await captured(t, `${VIDEO}.json`, lines.slice(1).join("\n")),
    );
    assert.match(
      refusal,
      /exists already, with \d+ messages from another capture: .* import that one again\n$/,
    );
  });

  it("makes no store if it stores nothing", async (t) => {
    const store = await temporaryFile(t);
    const files = [await captured(t, `${VIDEO}.json`, "{}"), await captured(t, "no-id.live_chat.json")];
    const { code } = await importing(store, ...files, "/no/such/file");
    assert.equal(code, 1);
    assert.deepEqual(await readdir(dirname(store)), []);
  });

  it("continues with the next file if one is not a capture, and gives the reason for each", async (t) => {
    const store = await temporaryFile(t);
    const files = [
      await captured(t, `${VIDEO}.json`, "{}\nnot JSON"),
      await captured(t, "no-id.live_chat.json"),
      "/no/such/file",
      "/dev/null",
      await captured(t, `[${VIDEO}].live_chat.json`, `\ufeff${lines.join("\n")}`),
    ];
    const { code, error } = await importing(store, ...files);
    assert.equal(code, 1);
    const said = error.split("\n").map((line) => line.replace(/^livechat-relay: \/\S+: /, ""));
    assert.match(said[0] ?? "", /^is not a captured chat: give a \.live_chat\.json of yt-dlp/);
    assert.match(said[1] ?? "", /^the video's id is neither in the file nor in its name: add --video/);
    assert.match(said[2] ?? "", /^cannot be read: there is no such file: check its name \(ENOENT\)$/);
    assert.match(said[3] ?? "", /^is a pipe or a device, which can be read only once: write a file first$/);
    assert.match(said[4] ?? "", /imported chats are kept until you delete them/);
    assert.match(said[5] ?? "", /^room dQw4w9WgXcQ: \d+ new messages$/);
  });

  for (const [signal, code] of [
    ["SIGINT", 130],
    ["SIGTERM", 143],
  ] as const)
    it(`ends at ${signal} with exit code ${code}`, async (t) => {
      const command = new Run(["import", "/no/such/file", "--store", `sqlite:${await temporaryFile(t)}`]);
      command.signal(signal);
      assert.equal(await command.exited, code);
    });

  for (const [args, expected] of [
    [["a", "b", "--video", VIDEO], /--video names the room of one file/],
    [["a", "--video", "x"], /--video: must be the id or the URL of a video, not "x"/],
    [["a", "--store", "memory:"], /RELAY_STORE: memory: keeps nothing/],
    [[], /<file> is missing/],
  ] as const)
    it(`refuses ${["import", ...args].join(" ")}`, async () => {
      const { code, error } = await outcome(["import", ...args]);
      assert.equal(code, 2);
      assert.match(error, expected);
    });
});

it("an imported room is served whole from the store at any time, without an upstream call", async (t) => {
  const path = await temporaryFile(t);
  await importing(path, await captured(t, `[${VIDEO}].live_chat.json`));
  const database = new DatabaseSync(path);
  database.exec("update room set ended_at = 0, checkpoint_at = 0");
  database.close();
  await using relay = await startRelay({
    settings: { RELAY_STORE: `sqlite:${path}`, RELAY_RETENTION_DAYS: "0" },
  });
  await using viewer = await Stream.open(relay.url, { videoId: VIDEO });
  assert.equal((await viewer.ended())?.event, "end");
  assert.equal(viewer.messages.length, read.length);
  type Listed = { videoId: string; kept?: boolean };
  const { body } = await ask<{ rooms: Listed[] }>(relay.url, "/v1/rooms");
  assert.partialDeepStrictEqual(body.rooms, [{ videoId: VIDEO, kept: true }]);
  assert.equal((await ask<Listed>(relay.url, `/v1/rooms/${VIDEO}`)).body.kept, true);
  assert.deepEqual(relay.upstream.requests, []);
});

it("a capture of any size is read as a stream, not into memory first", async (t) => {
  const fifo = join(dirname(await temporaryFile(t)), "fifo");
  execFileSync("mkfifo", [fifo]);
  const writer = createWriteStream(fifo);
  writer.write(`${lines.slice(0, 1100).join("\n")}\n`);
  const batches = capturedBatches(fifo, READING);
  const { value: first } = await batches.next();
  assert.equal(first?.progress.lines, 1000);
  writer.end(lines.slice(1100).join("\n"));
  const left = await Array.fromAsync(batches);
  assert.deepEqual(
    left.map(({ progress }) => progress.lines),
    [COUNT],
  );
});

describe("the video of a capture", () => {
  /** As the upstream encodes it: two protobuf messages in base64, one inside the other. */
  const menu = (videoId: string) => {
    const inner = Buffer.from(
      `\n\x1e\n\x1c\n\x1aCMLZ1_zl94ADFcHBwgQdOu0DgQ\x1a)*'\n\x18UC${"x".repeat(22)}\x12\x0b${videoId} \x02(\x01`,
      "latin1",
    );
    return Buffer.from(encodeURIComponent(inner.toString("base64"))).toString("base64");
  };

  it("is taken from the menu of its first item, whatever texts contain", () => {
    const item = {
      contextMenuEndpoint: { liveChatItemContextMenuEndpoint: { params: menu("-_aaaaaaaaa") } },
    };
    const text = {
      text: JSON.stringify({ liveChatItemContextMenuEndpoint: { params: menu("bbbbbbbbbbb") } }),
    };
    const line = { addChatItemAction: { item: { ...text, ...item } } };
    assert.equal(videoIdIn(JSON.stringify(line)), "-_aaaaaaaaa");
    assert.equal(videoIdIn(JSON.stringify(line, null, 1)), "-_aaaaaaaaa"); // with spaces, as yt-dlp writes
    assert.equal(videoIdIn(JSON.stringify(text)), undefined);
    assert.equal(videoIdIn(lines[0] ?? ""), undefined);
  });

  it("is the id in brackets in its file name, or the whole name", () => {
    for (const name of [
      `A [x] stream [${VIDEO}].live_chat.json`,
      `${VIDEO}.live_chat.json`,
      `/a/b/${VIDEO}.jsonl`,
    ])
      assert.equal(videoIdInName(name), VIDEO, name);
    for (const name of ["chat.jsonl", `${VIDEO}x.jsonl`, `my ${VIDEO}.jsonl`, "/dQw4w9WgXcQ/chat.json"])
      assert.equal(videoIdInName(name), undefined, name);
  });
});
