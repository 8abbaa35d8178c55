/** `export` of parts of a chat, and of several chats into a folder. */
import assert from "node:assert/strict";
import { mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { parse } from "csv-parse/sync";
import { plural } from "../../src/cli/plural.ts";
import { AnsweringServer } from "../support/answering-server.ts";
import { outcome } from "../support/command.ts";
import { B, several, withRoom } from "../support/history.ts";
import { own } from "../support/store-reading.ts";
import { OTHER, ROOM, temporaryFolder } from "../support/store-subject.ts";

const UNKNOWN = "unknown-vid";
/** A room whose messages have all been deleted. */
const EMPTY = { videoId: ROOM, state: "ended", messages: 0, firstAt: null, lastAt: null, lateMs: null };

const placesIn = (text: string) =>
  text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line).cursor - B);
const range = (first: number, last: number) => Array.from({ length: last - first + 1 }, (_, n) => first + n);

/** Two messages at `B`, and two more at each of the next three seconds. */
async function timed(t: TestContext) {
  const room = await withRoom(t, several(2));
  for (const n of [1, 2, 3]) {
    room.wall.nowMs = B + 1000 * n;
    await room.store.append(room.claim, B + 2 * n, several(2, 2 * n), "");
  }
  return room;
}

/** The files of an export into a folder. */
const withMeta = (...files: string[]) =>
  [...files, ...files.map((file) => `${file}.meta.json`), "index.csv"].sort();

describe("an export of a part", () => {
  it("is bounded by times, and says where it ends", async (t) => {
    const { url } = await timed(t);
    const iso = (ms: number) => new Date(B + ms).toISOString();
    const rows: [string[], number[]][] = [
      [["--from", iso(1000)], range(3, 8)],
      [["--from", iso(1000), "--to", iso(3000)], range(3, 6)],
      [
        ["--to", iso(1)],
        [1, 2],
      ],
      [["--from", iso(1001), "--to", iso(1500)], []],
      [["--since", `${B + 5}`, "--to", `${B + 3000}`], [6]],
      [["--from", "9999d", "--to", "2h"], range(1, 8)],
      [["--from", "2h"], []],
    ];
    for (const [options, places] of rows) {
      const { code, out, error } = await outcome(["export", ROOM, "--server", url, ...options]);
      assert.equal(code, 0, error);
      assert.deepEqual(placesIn(out), places, options.join(" "));
      const end = places.at(-1);
      const many = plural(places.length, "message");
      const told = end === undefined ? many : `${many}, up to cursor ${B + end}`;
      const outside = `no message is within these times. Those that are stored were stored from ${iso(0)} to ${iso(3000)}`;
      const lines = [...(end === undefined ? [outside] : []), told];
      assert.equal(error, lines.map((line) => `livechat-relay: ${line}\n`).join(""));
    }
  });

  it("continues a file by its cursor, whatever time it begins at", async (t) => {
    const { url } = await timed(t);
    const path = join(await temporaryFolder(t), "part.jsonl");
    const args = ["export", ROOM, "--server", url, "--output", path, "--append", "--from", `${B + 1000}`];
    for (const options of [["--to", `${B + 2000}`], []])
      assert.equal((await outcome([...args, ...options])).code, 0);
    assert.deepEqual(placesIn(await readFile(path, "utf8")), range(3, 8));
  });

  it("is refused if its bounds make no sense", async () => {
    for (const [options, words] of [
      [["--from", "yesterday"], "--from: must be a time with a zone"],
      [["--from", "2h", "--since", "4"], "--from cannot be combined with --since"],
      [["--to", "2h", "--follow"], "--follow cannot be combined"],
      [["--from", "2h", "--to", "3h"], "--from must be before --to"],
      [[OTHER, "--output", "two.csv"], "several videos need --output with a folder"],
    ] as const) {
      const { code, error } = await outcome(["export", ROOM, ...options]);
      assert.deepEqual([code, error.includes(words)], [2, true], error);
    }
  });
});

describe("an export of several chats", () => {
  async function two(t: TestContext) {
    const room = await withRoom(t, several(3));
    await room.store.append(await own(room.store, OTHER), B, several(5), "");
    return { ...room, folder: join(await temporaryFolder(t), "archive") };
  }
  const indexIn = async (folder: string): Promise<Record<string, string>[]> =>
    parse(await readFile(join(folder, "index.csv"), "utf8"), { columns: true });

  it("writes one file each and an index, even if one is refused", async (t) => {
    const { url, folder } = await two(t);
    const args = ["export", "--server", url, "--output", folder, "--format", "csv"];
    const { code, error } = await outcome([...args, ROOM, UNKNOWN, `https://youtu.be/${OTHER}`, ROOM]);
    assert.equal(code, 1);
    const reason = `NOT_STORED: nothing is stored of ${UNKNOWN}; add --follow to read its chat`;
    assert.deepEqual(error.split("\n"), [
      `livechat-relay: 1 of 3, ${ROOM}: 3 messages, up to cursor ${B + 3}`,
      `livechat-relay: 2 of 3, ${UNKNOWN}: ${reason}`,
      `livechat-relay: 3 of 3, ${OTHER}: 5 messages, up to cursor ${B + 5}`,
      "",
    ]);
    assert.deepEqual((await readdir(folder)).sort(), withMeta(`${OTHER}.csv`, `${ROOM}.csv`));
    assert.deepEqual(await indexIn(folder), [
      { videoId: ROOM, file: `${ROOM}.csv`, messages: "3", cursor: `${B + 3}`, error: "" },
      { videoId: UNKNOWN, file: "", messages: "", cursor: "", error: reason },
      { videoId: OTHER, file: `${OTHER}.csv`, messages: "5", cursor: `${B + 5}`, error: "" },
    ]);
    const rows = parse(await readFile(join(folder, `${OTHER}.csv`), "utf8"), { columns: true });
    assert.equal(rows.length, 5);
  });

  it("with --all says that there may be more rooms if the list is full, as the list itself does", async (t) => {
    const output = await temporaryFolder(t);
    for (const [length, words, failed] of [
      [999, /^(?!.*more)/s, 0],
      [1000, /only the 1000 rooms that were read last; there may be more/, 1],
    ] as const) {
      const rooms = Array(length).fill(EMPTY);
      const list = JSON.stringify({ retentionDays: 0, rooms });
      await using server = await AnsweringServer.start((response) => response.end(list));
      for (const [args, expected] of [
        [["export", "--all", "--output", join(output, `${length}`)], failed],
        [["rooms"], 0],
      ] as const) {
        const { code, error } = await outcome([...args, "--server", server.url]);
        assert.equal(code, expected, error);
        assert.match(error, words);
      }
    }
  });

  it("with --all writes no file that a service names outside the folder", async (t) => {
    const folder = await temporaryFolder(t);
    await writeFile(join(folder, "important.csv"), "important");
    const strange = ["../pwned", "../important", join(folder, "absolute"), "a\u001b]0;title\u0007b", "index"];
    const rooms = strange.map((videoId) => ({ ...EMPTY, videoId, messages: 1 }));
    const list = JSON.stringify({ retentionDays: 0, rooms });
    await using server = await AnsweringServer.start((response) => response.end(list));
    const args = ["export", "--all", "--server", server.url, "--output", join(folder, "backup")];
    for (const more of [[], ["--format", "csv", "--force"], ["--append"]]) {
      const { code, error } = await outcome([...args, ...more]);
      assert.equal(code, 1, error);
      assert.equal(error.match(/lists a room that is of no video: "/g)?.length, strange.length, error);
      assert.ok(!error.includes("\u001b"));
      assert.deepEqual((await readdir(folder, { recursive: true })).sort(), [
        "backup",
        "backup/index.csv",
        "important.csv",
      ]);
      assert.equal(await readFile(join(folder, "important.csv"), "utf8"), "important");
    }
    assert.ok(server.calls.every(({ path }) => path.startsWith("/v1/rooms")));
  });

  it("includes all rooms with --all, and can be continued", async (t) => {
    const { url, folder, store, claim } = await two(t);
    const args = ["export", "--all", "--server", url, "--output", folder];
    assert.equal((await outcome(args)).code, 0);
    await store.append(claim, B + 3, several(2, 3), "");
    const again = await outcome(args);
    assert.deepEqual([again.code, again.error.includes("already exists")], [2, true]);
    const { code, error } = await outcome([...args, "--append"]);
    assert.equal(code, 0, error);
    const files = (await readdir(folder)).filter((name) => name.endsWith(".jsonl"));
    const places = files.map(async (name) => placesIn(await readFile(join(folder, name), "utf8")));
    assert.deepEqual(await Promise.all(places), [range(1, 5), range(1, 5)]);
    const written = (await indexIn(folder)).map(({ videoId, messages }) => [videoId, messages]);
    assert.deepEqual(
      new Map(written as [string, string][]),
      new Map([
        [ROOM, "5"],
        [OTHER, "5"],
      ]),
    );
  });

  it("replaces the index as it does the other files: its permissions stay, and a link leads to it", {
    skip: process.platform === "win32",
  }, async (t) => {
    const { url, folder } = await two(t);
    const index = join(folder, "..", "the index.csv");
    await writeFile(index, "old", { mode: 0o600 });
    await mkdir(folder);
    await symlink(index, join(folder, "index.csv"));
    const args = ["export", "--server", url, "--output", folder, "--force"];
    assert.equal((await outcome([...args, ROOM, OTHER])).code, 0);
    assert.match(await readFile(index, "utf8"), /^videoId,/);
    assert.equal((await stat(index)).mode & 0o777, 0o600);
    assert.deepEqual((await readdir(folder)).sort(), withMeta(`${OTHER}.jsonl`, `${ROOM}.jsonl`));
  });

  it("writes nothing if a file exists already", async (t) => {
    const { url, folder } = await two(t);
    const args = ["export", "--server", url, "--output", folder, OTHER];
    assert.equal((await outcome([...args, ROOM])).code, 0);
    await writeFile(join(folder, `${ROOM}.jsonl`), "mine");
    const { code, error } = await outcome([...args, UNKNOWN, ROOM]);
    assert.deepEqual([code, error.includes("index.csv already exists")], [2, true], error);
    assert.equal(await readFile(join(folder, `${ROOM}.jsonl`), "utf8"), "mine");
    assert.equal((await outcome([...args, "--force"])).code, 0); // one video, into a folder that is there
  });

  it("ends if there is no service, and is refused if its arguments make no sense", async (t) => {
    const folder = await temporaryFolder(t);
    const absent = ["--server", "http://127.0.0.1:1"];
    assert.equal((await outcome(["export", ROOM, OTHER, "--output", folder, ...absent])).code, 3);
    const file = join(folder, "file");
    await writeFile(file, "");
    for (const [options, words] of [
      [[], "name the videos, or add --all"],
      [["--all", ROOM], "--all exports all rooms: leave out the videos, or --all"],
      [[ROOM, OTHER], "need --output with a folder"],
      [[ROOM, OTHER, "--output", file], "need --output with a folder"],
      [["--all", "--output", folder, "--follow"], "are for one video"],
      [["--all", "--output", folder, "--since", "4"], "are for one video"],
    ] as const) {
      const { code, error } = await outcome(["export", ...options]);
      assert.deepEqual([code, error.includes(words)], [2, true], error);
    }
  });
});
