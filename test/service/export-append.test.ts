/**
 * `export --append`: a file continues after its last message, wherever the room has it now; a file that the
 * room cannot continue is refused.
 */
import assert from "node:assert/strict";
import { copyFile, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { parse } from "csv-parse/sync";
import { CHAT_TABLE } from "../../src/serving/history/csv.ts";
import type { ReceivedMessage } from "../../src/serving/history/received-message.ts";
import {
  AnsweringServer,
  began,
  frame,
  holds,
  inChannel,
  refuses,
  streams,
} from "../support/answering-server.ts";
import { outcome } from "../support/command.ts";
import { B, said, serve, several, withRoom } from "../support/history.ts";
import { own } from "../support/store-reading.ts";
import { OTHER, openFor, ROOM, temporaryFile, temporaryFolder } from "../support/store-subject.ts";

const UNKNOWN = "unknown-vid";
const THIRD = "third-video";
/** More than one page of the history. */
const MANY = 1005;
/** In CSV, it is in quotes behind the sign in front of a formula. */
const ODD_ID = '-3,"x"';
const FORMATS = ["jsonl", "csv"] as const;

const idsIn = (text: string, path: string): string[] =>
  path.endsWith("csv")
    ? (parse(text, { columns: true }) as { id: string }[]).map(({ id }) => id.replace(/^'/, ""))
    : text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).id);

const appending = (url: string, path: string, ...names: string[]) =>
  outcome(["export", ...names, "--server", url, "--output", path, "--append"]);

/** A room of three messages, and a file with them. */
async function exported(t: TestContext, format: string) {
  const room = await withRoom(t, [...several(2), said(ODD_ID)]);
  const path = join(await temporaryFolder(t), `night.${format}`);
  assert.equal((await appending(room.url, path, ROOM)).code, 0);
  return { ...room, path };
}

for (const format of FORMATS)
  describe(`a file of ${format} continues after its last message`, () => {
    it("if the cursors have moved since", async (t) => {
      const { url, path, store, wall } = await exported(t, format);
      wall.nowMs += 60_000;
      await store.moveCursors();
      const again = await appending(url, path, ROOM);
      assert.deepEqual(again, {
        code: 0,
        out: "",
        error: `livechat-relay: 0 messages, up to cursor ${B + 60_003}\n`,
      });
      await store.append(await own(store, ROOM), B + 60_003, several(MANY, 3), "");
      const later = await appending(url, path, ROOM);
      assert.deepEqual([later.code, later.error.includes("missing")], [0, false], later.error);
      const expected = ["0", "1", ODD_ID, ...several(MANY, 3).map(({ id }) => id)];
      assert.deepEqual(idsIn(await readFile(path, "utf8"), path), expected);
    });

    it("if it is looked for in several pages", async (t) => {
      const { url, path, store, wall } = await exported(t, format);
      wall.nowMs += 60_000;
      await store.moveCursors();
      await store.append(await own(store, ROOM), B + 60_003, several(MANY, 3), "");
      assert.equal((await appending(url, path, ROOM)).code, 0);
      assert.equal(idsIn(await readFile(path, "utf8"), path).length, 3 + MANY);
    });

    it("if the room has deleted it, and says that messages may be missing", async (t) => {
      const { url, path, store, claim, wall } = await exported(t, format);
      await store.append(claim, B + 3, several(5, 3), "");
      wall.nowMs += 1;
      await store.prune(0, 5);
      const { code, error } = await appending(url, path, ROOM);
      assert.deepEqual(
        [code, error.includes(`messages may be missing between cursors ${B + 3} and ${B + 5}\n`)],
        [0, true],
        error,
      );
      assert.deepEqual(idsIn(await readFile(path, "utf8"), path), ["0", "1", ODD_ID, "5", "6", "7"]);
    });
  });

it("a file continues after its last message if the room was imported from it", async (t) => {
  const { path } = await exported(t, "jsonl");
  const store = `sqlite:${await temporaryFile(t)}`;
  const imported = await outcome(["import", path, "--video", ROOM, "--store", store]);
  assert.equal(imported.code, 0, imported.error);
  const { url } = await serve(t, await openFor(t, store));
  const { code, error } = await appending(url, path, ROOM);
  assert.deepEqual([code, /: 0 messages, up to cursor \d+\n$/.test(error)], [0, true], error);
  assert.deepEqual(idsIn(await readFile(path, "utf8"), path), ["0", "1", ODD_ID]);
});

for (const [format, rest] of [
  ["jsonl", '{"cursor":4,"ty'],
  ["csv", '4,chat,"half'],
] as const)
  describe(`a file of ${format} is refused, and stays as it is`, () => {
    const others: [what: string, name: string][] = [
      ["is of another video with the same cursors", OTHER],
      ["is of another video, and nothing is stored of this one", UNKNOWN],
    ];
    for (const [what, name] of others)
      it(`if it ${what}`, async (t) => {
        const { url, path, store } = await exported(t, format);
        await store.append(await own(store, OTHER), B, several(MANY, 3), "");
        await writeFile(path, rest, { flag: "a" });
        const before = await readFile(path, "utf8");
        const { code, error } = await appending(url, path, name);
        const reason = `night.${format} ends with message ${ODD_ID}, which the service does not have in room ${name}: `;
        assert.deepEqual([code, error.includes(reason)], [1, true], error);
        assert.equal(await readFile(path, "utf8"), before);
      });
  });

it("a file that is refused does not stop the others of --all", async (t) => {
  const { url, store } = await withRoom(t, several(3));
  for (const name of [OTHER, THIRD]) await store.append(await own(store, name), B, [said(name)], "");
  const folder = join(await temporaryFolder(t), "archive");
  assert.equal((await appending(url, folder, "--all")).code, 0);
  const fileOf = (name: string) => join(folder, `${name}.jsonl`);
  await copyFile(fileOf(ROOM), fileOf(OTHER));
  await writeFile(fileOf(ROOM), "no message\n", { flag: "a" });
  const { code, error } = await appending(url, folder, "--all");
  assert.equal(code, 1, error);
  const rows: Record<string, string>[] = parse(await readFile(join(folder, "index.csv"), "utf8"), {
    columns: true,
  });
  const told = new Map(rows.map(({ videoId, messages, error }) => [videoId, `${messages}${error}`]));
  assert.match(told.get(ROOM) ?? "", /: line 4 is damaged: /);
  assert.match(told.get(OTHER) ?? "", / ends with message 2, /);
  assert.equal(told.get(THIRD), "1");
});

describe("a file whose last line is damaged", () => {
  const start = '{"cursor":1,"type":"chat","id":"a","message":"b"}\n';
  const row = CHAT_TABLE.line(
    { cursor: 1, type: "chat", id: "a", message: "two\nlines" } as ReceivedMessage,
    true,
  );
  for (const [what, format, text, line] of [
    ["is no JSON", "jsonl", `${start}{"cursor":2,"type":"chat"\n`, 2],
    ["has no cursor", "jsonl", `${start}${start}{"type":"chat","id":"a"}\n`, 3],
    ["has no id", "jsonl", `${start}{"cursor":2,"type":"chat"}\n`, 2],
    ["has too few cells", "csv", `${CHAT_TABLE.header}${row}2,chat,b\r\n`, 4],
    ["has no cursor", "csv", `${CHAT_TABLE.header}${row.replace("1", "")}`, 2],
  ] as const)
    it(`is refused, and stays as it is, if the line ${what} (${format})`, async (t) => {
      const path = join(await temporaryFolder(t), `night.${format}`);
      await writeFile(path, text);
      const { code, error } = await appending("http://127.0.0.1:1", path, ROOM);
      assert.deepEqual([code, error.includes(`: line ${line} is damaged: `)], [2, true], error);
      assert.equal(await readFile(path, "utf8"), text);
    });
});

describe("a file of a channel", () => {
  const VIDEO = "-video-aaaa";
  const gone = frame("error", { code: "NO_LIVE_CHAT", message: "The channel is gone." });
  const begin = streams(began(VIDEO, 4), inChannel(VIDEO, 5), gone);
  for (const [what, answer, lastEventId] of [
    ["where its last message is now", holds(105, `said ${VIDEO}.5`), `${VIDEO}.105`],
    [
      "with the next stream if nothing is stored of the last one any more",
      refuses(404, { code: "NOT_STORED", message: "Nothing is stored." }),
      `${VIDEO}.5`,
    ],
  ] as const)
    it(`continues ${what}`, async (t) => {
      const path = await temporaryFile(t);
      await using server = await AnsweringServer.start(begin, answer, answer, streams(gone));
      const args = ["@somebody", "--follow", "--format", "jsonl"];
      for (let times = 0; times < 2; times++) await appending(server.url, path, ...args);
      assert.equal(server.calls.at(-1)?.lastEventId, lastEventId);
    });

  it("is refused if the service has lost its last message", async (t) => {
    const path = `${await temporaryFile(t)}.jsonl`;
    await using server = await AnsweringServer.start(begin, holds(105));
    await appending(server.url, path, "@somebody", "--follow");
    const before = await readFile(path, "utf8");
    const { code, error } = await appending(server.url, path, "@somebody", "--follow");
    assert.deepEqual([code, error.includes(`does not have in room ${VIDEO}`)], [1, true], error);
    assert.equal(await readFile(path, "utf8"), before);
  });
});
