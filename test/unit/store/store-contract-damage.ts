/**
 * The promise of every store with a disk about rows that it cannot read: a damaged row costs itself only. The
 * tests append damaged text, which no part of the service does.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../../src/base/clock.ts";
import { ENDED, type RoomEnd } from "../../../src/protocol/chat.ts";
import type { Message } from "../../../src/protocol/message.ts";
import { blankDeleted } from "../../../src/store/blanking.ts";
import type { MessageSearch } from "../../../src/store/port.ts";
import { decodeMessage, type EncodedMessage } from "../../../src/store/stored-message.ts";
import { followed, message, messages, own, readAll, stored } from "../../support/store-reading.ts";
import { BORN_MS, type NewSubject, OTHER, ownedRoom, ROOM } from "../../support/store-subject.ts";

const whole = message("b");
const text = (body: object) => JSON.stringify(body);
/** The changed parts of the stored message. */
const DAMAGES: Record<string, Partial<EncodedMessage>> = {
  "whose fields are cut off": { body: whole.body.slice(0, -7) },
  "whose fields are empty": { body: "" },
  "whose fields are a list": { body: "[]" },
  "that lacks its parts": { body: whole.body.replace('"parts"', '"p@rts"') },
  "that has no id": { body: text({ ...JSON.parse(whole.body), id: null }) },
  "whose fields are on several lines": { body: JSON.stringify(JSON.parse(whole.body), null, 2) },
  "whose fields end in a blank": { body: `${whole.body} ` },
  "whose details are cut off": { details: whole.details.slice(0, -3) },
  "whose details are null": { details: "null" },
  "whose details are on several lines": { details: '{\n"authorId": "UCb"}' },
};

export function damageContract(subject: NewSubject): void {
  for (const [damage, part] of Object.entries(DAMAGES)) {
    test(`a message ${damage} costs itself only: a gap takes its place`, async (t) => {
      const { store, wall, claim } = await ownedRoom(subject, t);
      const batch = [message("a"), { ...whole, ...part }, message("c")];
      await store.append(claim, BORN_MS, batch, "one");
      const [a, gap, c] = await readAll(store, ROOM);
      const [before, , after] = stored(BORN_MS, ["a", "b", "c"]);
      assert.deepEqual([a, c], [before, after]);
      assert.ok(gap);
      assert.deepEqual([gap.cursor, gap.id], [BORN_MS + 2, "b"]);
      assert.equal(gap.storedAt, wall.nowMs);
      const { parts, ...fields } = decodeMessage(gap);
      const now = new Date(wall.nowMs).toISOString();
      const sentence = "A message is missing here: the stored one is damaged.";
      assert.deepEqual(fields, {
        type: "gap",
        id: `gap:${BORN_MS + 1}`,
        timestamp: "",
        author: "",
        message: sentence,
        amount: "",
        color: "",
        details: { gap: { since: now, until: now, reason: "down" } },
      });
      assert.deepEqual(parts, [{ kind: "text", text: sentence }]);
      assert.deepEqual(await store.messagesById(ROOM, ["b"]), [gap]);
      assert.deepEqual(await store.find(ROOM, { idPrefix: "b" }), [gap]);
      assert.deepEqual((await followed(store, ROOM, BORN_MS, { count: 3 })).messages, [before, gap, after]);

      await store.append(claim, BORN_MS + 3, messages(["b", "d"]), "two");
      assert.equal((await store.getAccount(ROOM))?.head, BORN_MS + 4, "the room still holds its id");
      await store.append(claim, BORN_MS + 4, [], "three", [whole]);
      assert.deepEqual(await readAll(store, ROOM), stored(BORN_MS, ["a", "b", "c", "d"]));
    });
  }

  for (const [damage, part] of Object.entries(DAMAGES))
    for (const target of [{ messageId: "b" }, { authorId: "UCb" }])
      test(`a deletion of ${Object.keys(target)} overwrites a message ${damage}`, async (t) => {
        const { store, claim } = await ownedRoom(subject, t);
        const ofAuthor = text({ authorId: "UCb", of: "b" });
        const details = part.details === undefined ? ofAuthor : ofAuthor.slice(0, -3);
        await store.append(
          claim,
          BORN_MS,
          [message("a"), { ...whole, ...part, details }, message("c")],
          "one",
        );
        const gaps = { types: ["gap"], after: BORN_MS, to: BORN_MS + 3, limit: 9, isNewest: false };
        const isById = "messageId" in target;
        const id = isById ? "deleted:b" : "author_deleted:UCb";
        const fields = { ...decodeMessage(message("x")), id, type: isById ? "deleted" : "author_deleted" };
        const deletion = { ...fields, details: { target } } as unknown as Message;
        const find = (by: MessageSearch) => store.find(ROOM, by);
        const { overwriting } = await blankDeleted([deletion], new Set(), find, systemClock);
        assert.deepEqual(
          overwriting.map((over) => over.id),
          ["b"],
        );
        await store.append(claim, BORN_MS + 3, [], "two", overwriting);
        // By its text in the row, and not only as it is read.
        const [gap, ...others] = await store.readTypes(ROOM, gaps);
        assert.deepEqual([gap?.id, others], ["b", []]);
        assert.deepEqual((await readAll(store, ROOM))[1], gap);
      });

  test("a damaged message of an author does not disturb searches, and is pruned like any other", async (t) => {
    const { store, wall, claim } = await ownedRoom(subject, t);
    const [a, c] = ["a", "c"].map((id) => ({ ...message(id), details: text({ authorId: "UC1" }) }));
    assert.ok(a && c);
    await store.append(claim, BORN_MS, [a, { ...whole, details: '{"authorId":"UC1"' }, c], "");
    const found = await store.find(ROOM, { authorId: "UC1" });
    assert.deepEqual(new Set(found.map(({ id }) => id)), new Set(["a", "b", "c"]));
    await store.finish(claim, ENDED);
    wall.nowMs += 1000;
    assert.equal(await store.prune(0, 9), 3);
    assert.equal(await store.getRoom(ROOM), undefined);
  });

  test("a room whose end cannot be read has failed, and can be read again; other rooms keep theirs", async (t) => {
    const { store, claim } = await ownedRoom(subject, t);
    await store.append(claim, BORN_MS, messages(["a"]), "one");
    await store.finish(claim, { state: "ended" } as RoomEnd);
    const other = await own(store, OTHER);
    await store.append(other, other.head, [], "two");
    await store.finish(other, ENDED);
    const message = "How this chat ended cannot be read from the store.";
    const end = { state: "failed", error: { code: "INTERNAL", message } };
    assert.deepEqual((await store.getRoom(ROOM))?.end, end);
    assert.deepEqual((await store.getAccount(ROOM))?.end, end);
    const ends = (await store.listRooms(9)).map((room) => [room.key, room.end]);
    assert.deepEqual(Object.fromEntries(ends), { [ROOM]: end, [OTHER]: ENDED });
    const again = await own(store, ROOM);
    assert.deepEqual(again.room?.end, end);
    await store.append(again, BORN_MS + 1, messages(["b"]), "three");
    assert.equal((await store.getRoom(ROOM))?.end, null);
  });
}
