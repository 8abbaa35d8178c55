/** The part of the stores' contract that is about the list of recordings. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_RECORDINGS, type RecordingReport } from "../../../src/store/recording-list.ts";
import { isUnavailable, type NewSubject, OTHER, ROOM } from "../../support/store-subject.ts";

const RUN_MS = 60_000;
const report = (name: string, rest: Partial<RecordingReport> = {}): RecordingReport => ({
  name,
  state: "recording",
  videoId: ROOM,
  error: null,
  ...rest,
});

export function recordingsContract(subject: NewSubject, persists: boolean): void {
  test("lists added recordings, the oldest first, until they are removed", async (t) => {
    const { store, wall } = await subject(t);
    const list = store.recordings;
    assert.deepEqual(await list.listRecordings(), []);
    assert.equal(await list.addRecording("@somebody"), "added");
    wall.nowMs += 1;
    assert.equal(await list.addRecording(ROOM), "added");
    assert.equal(await list.addRecording("@somebody"), "present");
    const [first, second, ...others] = await list.listRecordings();
    const fresh = { state: "waiting", videoId: null, error: null };
    assert.partialDeepStrictEqual(
      [first, second],
      [
        { name: "@somebody", ...fresh },
        { name: ROOM, ...fresh },
      ],
    );
    assert.ok(Number(first?.since) <= Number(second?.since) && others.length === 0);
    assert.deepEqual([await list.removeRecording(ROOM), await list.removeRecording(ROOM)], [true, false]);
    assert.deepEqual(
      (await list.listRecordings()).map(({ name }) => name),
      ["@somebody"],
    );
  });

  test("returns the recordings to run, and keeps the reports on them", async (t) => {
    const { store } = await subject(t);
    const list = store.recordings;
    for (const name of ["@a", "@b", "@c"]) await list.addRecording(name);
    assert.deepEqual((await list.runRecordings([], RUN_MS)).sort(), ["@a", "@b", "@c"]);
    await list.removeRecording("@c");
    const told = [
      report("@a"),
      report("@b", { state: "ended", videoId: OTHER }),
      report("@c", { state: "failed", error: "It\0 is \u0001 gone." }),
    ];
    assert.deepEqual(
      await list.runRecordings(told, RUN_MS),
      ["@a"],
      "not the removed one, nor the ended one",
    );
    const kept = (await list.listRecordings()).map(({ since: _, ...rest }) => rest);
    assert.deepEqual(kept, told.slice(0, 2));
    const failed = report("@a", { state: "failed", error: "It\0 is \u0001 gone.", videoId: null });
    await list.runRecordings([failed], RUN_MS);
    assert.partialDeepStrictEqual((await list.listRecordings())[0], failed);
    assert.deepEqual(await list.runRecordings([failed], RUN_MS), ["@a"], "a failed one is tried again");
  });

  test("accepts a limited number of them", async (t) => {
    const { store } = await subject(t);
    const names = Array.from({ length: MAX_RECORDINGS }, (_, i) => `@${i}`);
    await Promise.all(names.map((name) => store.recordings.addRecording(name)));
    assert.equal(await store.recordings.addRecording("@late"), "full");
    assert.equal(await store.recordings.addRecording("@0"), "present");
    assert.equal((await store.recordings.listRecordings()).length, MAX_RECORDINGS);
  });

  test("is unavailable once the store is closed, which begins no outage", async (t) => {
    const { store } = await subject(t);
    await store.close();
    await assert.rejects(store.recordings.listRecordings(), isUnavailable);
    await assert.rejects(store.recordings.runRecordings([], RUN_MS), isUnavailable);
    assert.equal(store.health.isAvailable, true);
  });

  if (!persists) return;
  test("survives a restart, and is run by the next process at once", async (t) => {
    const { store, reopen } = await subject(t);
    await store.recordings.addRecording("@a");
    await store.recordings.runRecordings([], RUN_MS);
    await store.recordings.runRecordings([report("@a")], RUN_MS);
    await store.close();
    const next = await reopen();
    assert.partialDeepStrictEqual(await next.recordings.listRecordings(), [report("@a")]);
    assert.deepEqual(await next.recordings.runRecordings([], RUN_MS), ["@a"]);
  });
}
