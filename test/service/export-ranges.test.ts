/** `export` of a part of a chat: by the chat's own time, by words and by author. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { chatKey } from "../../src/protocol/chat-key.ts";
import { outcome } from "../support/command.ts";
import { channel, said, serve } from "../support/history.ts";
import { own } from "../support/store-reading.ts";
import { BORN_MS, openFor, ROOM, wallAt } from "../support/store-subject.ts";

it("export selects by the chat's time, words or author; if none match, it names stored times", async (t) => {
  const store = await openFor(t, "memory:", wallAt(BORN_MS));
  const { url } = await serve(t, store);
  const hold = await own(store, chatKey(ROOM, "replay"));
  const messages = Array.from({ length: 6 }, (_, n) =>
    said(n, {
      author: n % 2 === 0 ? "@ines" : "@says",
      message: `says ${n}`,
      details: { authorId: channel(n % 2 === 0 ? "ines" : "says"), offsetMs: n * 60_000 },
    }),
  );
  await store.append(hold, hold.head, messages, "");
  await store.finish(hold, { state: "ended", reason: "no more continuations" });
  const exported = async (...flags: string[]) => {
    const { code, out, error } = await outcome(["export", ROOM, "--server", url, ...flags]);
    assert.equal(code, 0, error);
    const ids = out.split("\n").flatMap((line) => (line === "" ? [] : JSON.parse(line).id));
    return { ids, error };
  };
  const rows: [flags: string[], ids: string[]][] = [
    [
      ["--said-from", "2:00"],
      ["2", "3", "4", "5"],
    ],
    [
      ["--said-from", "PT1M", "--said-to", "0:03:00"],
      ["1", "2"],
    ],
    [
      ["--said-to", "1:30"],
      ["0", "1"],
    ],
    [
      ["--author", channel("says")],
      ["1", "3", "5"],
    ],
    [["--author", channel("says"), "--said-from", "2:00", "--said-to", "5:00"], ["3"]],
    [["--text", "SAYS 4"], ["4"]],
    [["--text", "@says"], []],
    [
      ["--q", "@says", "--chat", "replay"],
      ["1", "3", "5"],
    ],
  ];
  for (const [flags, ids] of rows) assert.deepEqual((await exported(...flags)).ids, ids, flags.join(" "));
  const refused: [flags: string[], words: string][] = [
    [
      ["--author", "bob"],
      "--author: must be a channel id (UC…), as in details.authorId; --q searches for names",
    ],
    [["--said-from", "soon"], "or, of a replay, a place in the video such as 1:02:03"],
  ];
  for (const [flags, words] of refused) {
    const { error } = await outcome(["export", ROOM, "--server", url, ...flags]);
    assert.ok(error.includes(words), error);
  }
  const { ids, error } = await exported("--said-from", "1:00:00");
  assert.deepEqual(ids, []);
  assert.match(error, /no message is within these times.*in the video are 0:00:00 to 0:05:00/);
  const followed = await outcome(["export", ROOM, "--server", url, "--follow", "--said-from", "1:00"]);
  assert.deepEqual(
    [followed.code, /--follow cannot be combined with --said-from/.test(followed.error)],
    [2, true],
  );
});
