/** Recordings in a store that comes from another one: they go on by themselves, with or without viewers. */
import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { systemClock } from "../../src/base/clock.ts";
import { migrateStore } from "../../src/store/open.ts";
import { ask } from "../support/api.ts";
import { texts } from "../support/chat-actions.ts";
import { outcome } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { startRelay, type TestRelay } from "../support/relay.ts";
import { temporaryFolder } from "../support/store-subject.ts";
import { assertConsecutive, Stream } from "../support/stream.ts";

const VIDEO = "recorded-ab";
const STREAM = "streamed-ab";
const CHANNEL = "@somebody";
const CHAT = { timeoutMs: 5 };
const ADMIN = { authorization: "Bearer an-admin-token-of-many-letters" };

const COPIES = {
  "a backup": {
    restored: "on",
    move: async (_: string, backup: string, to: string) => await copyFile(backup, to),
  },
  "a migrated store": {
    restored: "off",
    move: async (from: string, _: string, to: string) =>
      void (await migrateStore(`sqlite:${from}`, `sqlite:${to}`, systemClock, () => {})),
  },
} as const;

describe("recordings", () => {
  for (const [what, { restored, move }] of Object.entries(COPIES))
    it(`go on in ${what}: each message comes once, and is counted`, async (t) => {
      const folder = await temporaryFolder(t);
      const [first = "", backup = "", second = ""] = ["1.db", "backup.db", "2.db"].map((name) =>
        join(folder, name),
      );
      const settings = (path: string) => ({
        RELAY_STORE: `sqlite:${path}`,
        RELAY_ADMIN_TOKEN: ADMIN.authorization.slice("Bearer ".length),
        RELAY_CHANNEL_MS: "1000",
      });
      const before = await startRelay({ settings: settings(first) });
      t.after(() => before[Symbol.asyncDispose]());
      const { upstream } = before;
      const broadcast = upstream.channel(CHANNEL).broadcast(STREAM, { chat: CHAT });
      const chats = [upstream.chat(VIDEO, CHAT), broadcast.chat];
      const say = (prefix: string) => {
        for (const chat of chats) chat.say(texts(prefix, 10));
      };
      const messages = async ({ url }: TestRelay) => {
        const { rooms } = (await ask<{ rooms: { messages: number; gaps: number }[] }>(url, "/v1/rooms")).body;
        return rooms.map((room) => room.messages - room.gaps).join();
      };
      const recordings = async ({ url }: TestRelay) => {
        type Listed = { recordings: { name: string; state: string; videoId?: string }[] };
        const { body } = await ask<Listed>(url, "/v1/recordings", { headers: ADMIN });
        return body.recordings.map(({ name, state, videoId }) => `${name} ${state} ${videoId}`).join();
      };
      const all = `${VIDEO} recording ${VIDEO},${CHANNEL} recording ${STREAM}`;

      say("a");
      for (const name of [VIDEO, CHANNEL]) {
        const { ok } = await fetch(`${before.url}/v1/recordings/${name}`, { method: "PUT", headers: ADMIN });
        assert.ok(ok);
      }
      await eventually(all, () => recordings(before));
      await eventually("10,10", () => messages(before));
      assert.equal((await outcome(["backup", backup, "--store", `sqlite:${first}`])).code, 0);
      say("b");
      await eventually("20,20", () => messages(before));
      const heads = await Promise.all(
        chats.map(async ({ videoId }) => {
          const { body } = await ask<{ head: number }>(before.url, `/v1/messages?videoId=${videoId}`);
          return body.head;
        }),
      );
      await before.service.stop();

      await move(first, backup, second);
      await using after = await startRelay({
        upstream,
        settings: { ...settings(second), RELAY_RESTORED: restored },
      });
      await eventually(all, () => recordings(after));
      say("c");
      await eventually("30,30", () => messages(after));
      for (const [at, { videoId, ledger }] of chats.entries()) {
        const stream = await Stream.open(after.url, { videoId, lastEventId: 0 });
        t.after(() => stream.close());
        await stream.until(() => stream.ids.includes(ledger.at(-1)?.id ?? ""));
        assert.deepEqual(
          stream.ids.filter((id) => !id.startsWith("gap:")),
          ledger.map(({ id }) => id),
        );
        assertConsecutive(stream.cursors, stream.init.cursor);
        assert.equal((stream.cursors[0] ?? 0) > (heads[at] ?? 0), restored === "on");
        type Shown = { totals: { types: Record<string, number> } };
        const { totals } = (await ask<Shown>(after.url, `/v1/rooms/${videoId}`)).body;
        assert.equal(totals.types.chat, 30);
      }
      for (const chat of chats) chat.end("reload-only");
      await eventually(`${VIDEO} ended ${VIDEO},${CHANNEL} waiting ${STREAM}`, () => recordings(after));
    });
});
