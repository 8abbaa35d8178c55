/**
 * What a room remembers of its chat, with PostgreSQL: the next instance goes on from it, whatever became of
 * the one before.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { systemClock } from "../../src/base/clock.ts";
import { adding } from "../support/chat-items.ts";
import { ownSchema, type PostgresServer, testPostgres } from "../support/postgres-server.ts";
import { roomLog } from "../support/room-log.ts";
import { openFor } from "../support/store-subject.ts";

const { skip, server } = await testPostgres();
const notice = (id: string) =>
  adding({ liveChatViewerEngagementMessageRenderer: { id, message: { simpleText: "Slow mode is on" } } });

describe("a room in PostgreSQL", { skip }, () => {
  it("counts the notices of one text once, by whichever instance they are read", async (t) => {
    const url = await ownSchema(t, server as PostgresServer);
    const sent: string[] = [];
    for (const ids of [["a", "b"], ["b", "c"], ["c"], ["a", "d"]]) {
      const store = await openFor(t, url);
      const take = await roomLog(store, systemClock);
      sent.push(...(await take(...ids.map(notice))));
      await store.close();
    }
    const numbers = sent.map((line) => /^notice notice:[\w-]{12}(\S*)/.exec(line)?.[1]);
    assert.deepEqual(numbers, ["", ":2", ":3", ":4"]);
  });
});
